// SPDX-License-Identifier: Apache-2.0
// Reduces each group of elements to one number: reductions, and the places of extremes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "base/nth.h"
#include "base/numbers.h"
#include "base/share.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/movement/movement.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/blocks.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

using kernels::Fold;

// A reduction: folds a group's elements from `start` on; finish() makes the result.
struct NamedReduction {
  const char* name;
  double start;
  Fold fold;
  double (*finish)(double sum, double count);
};

double as_is(double sum, double) {
  return sum;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// In the order of Reduction. LogSumExp adds up exponentials once it knows the largest element.
constexpr NamedReduction kReductions[] = {
    {"l1", 0, Fold::kSizes, as_is},
    {"l2", 0, Fold::kSquares, [](double sum, double) { return std::sqrt(sum); }},
    {"logsum", 0, Fold::kSum, [](double sum, double) { return std::log(sum); }},
    {"logsumexp", -kInfinity, Fold::kLargest, as_is},
    {"max", -kInfinity, Fold::kLargest, as_is},
    {"mean", 0, Fold::kSum, [](double sum, double count) { return sum / count; }},
    {"min", kInfinity, Fold::kSmallest, as_is},
    {"prod", 1, Fold::kProduct, as_is},
    {"sum", 0, Fold::kSum, as_is},
    {"sumsquare", 0, Fold::kSquares, as_is},
};
static_assert(std::size(kReductions) == static_cast<size_t>(Reduction::kSumSquare) + 1);

const NamedReduction& row_of(Reduction reduction) {
  return nth(kReductions, reduction);
}

double log_sum_exp(const float* group, const std::vector<uint32_t>& inner, double most) {
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (uint32_t at : inner) sum += std::exp(static_cast<double>(group[at]) - most);
  return most + std::log(sum);
}

// Groups along adjacent axes: the elements of a group are `inner` apart, and groups that follow one
// another are folded together.
constexpr size_t kFoldedGroups = 256, kTurnedGroups = 32;

std::optional<AxisSplit> split_along(const Shape& shape, std::vector<int> axes) {
  std::sort(axes.begin(), axes.end());
  for (size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return std::nullopt;
  }
  const AxisSplit first = split_at(shape, axes[0]), last = split_at(shape, axes.back());
  return AxisSplit{first.outer, first.count * first.inner / last.inner, last.inner};
}

// Folds `count` groups from `first` on, whose elements are adjacent, by transposing parts of them.
void fold_rows(Fold fold, const float* first, size_t length, size_t count, double* to) {
  constexpr size_t kPiece = 64;
  alignas(64) float turned[kPiece * kTurnedGroups];
  for (size_t at = 0; at < length; at += kPiece) {
    const size_t some = std::min(kPiece, length - at);
    kernels::transpose(first + at, static_cast<ptrdiff_t>(length), turned, kTurnedGroups, some,
                       count);
    kernels::fold_lines(fold, turned, kTurnedGroups, some, to, count);
  }
}

// Calls f(o, begin, count) for blocks of at most `most` groups of each of `outer`; threads share
// them.
template <typename F>
void share_blocks(size_t outer, size_t groups, size_t most, F f) {
  const size_t blocks = (groups + most - 1) / most;
  share(static_cast<int>(outer * blocks), [&](int task) {
    const size_t begin = static_cast<size_t>(task) % blocks * most;
    f(static_cast<size_t>(task) / blocks, begin, std::min(most, groups - begin));
  });
}

void reduce_split(const NamedReduction& row, const AxisSplit& split, const float* in,
                  float* result) {
  const bool rows = split.inner == 1;
  const size_t outer = rows ? 1 : split.outer, groups = rows ? split.outer : split.inner;
  const size_t most = rows ? kTurnedGroups : kFoldedGroups;
  share_blocks(outer, groups, most, [&](size_t o, size_t begin, size_t count) {
    double folded[kFoldedGroups];
    std::fill_n(folded, count, row.start);
    if (rows) {
      fold_rows(row.fold, in + begin * split.count, split.count, count, folded);
    } else {
      kernels::fold_lines(row.fold, in + o * split.count * groups + begin, groups, split.count,
                          folded, count);
    }
    for (size_t i = 0; i < count; ++i) {
      result[o * groups + begin + i] =
          static_cast<float>(row.finish(folded[i], static_cast<double>(split.count)));
    }
  });
}

// Reduces each pixel's channels directly from the device's chunks.
class ReducePixels final : public CpuLayer {
 public:
  ReducePixels(const NamedReduction& row, size_t channels, const PixelBlocks& blocks)
      : row_(row), channels_(channels), blocks_(blocks) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    blocks_.run(inputs[0], outputs[0], [this](const PixelBlocks::Lines& lines) {
      double folded[PixelBlocks::kMostCount];
      std::fill_n(folded, lines.count, row_.start);
      kernels::fold_lines(row_.fold, lines.first, lines.count, channels_, folded, lines.count);
      for (size_t i = 0; i < lines.count; ++i) {
        lines.first[i] = static_cast<float>(row_.finish(folded[i], static_cast<double>(channels_)));
      }
    });
    return {};
  }

 private:
  NamedReduction row_;
  size_t channels_;
  PixelBlocks blocks_;
};

// Finds the place of the largest channel of each pixel.
class LargestOfPixels final : public CpuLayer {
 public:
  LargestOfPixels(size_t channels, const PixelBlocks& blocks)
      : channels_(channels), blocks_(blocks) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    blocks_.run(inputs[0], outputs[0], [this](const PixelBlocks::Lines& lines) {
      const size_t count = lines.count;
      int32_t which[PixelBlocks::kMostCount];
      std::fill_n(which, count, 0);
      for (size_t k = 1; k < channels_; ++k) {
        kernels::raise(lines.first + k * count, static_cast<int32_t>(k), lines.first, which, count);
      }
      for (size_t i = 0; i < count; ++i) lines.first[i] = static_cast<float>(which[i]);
    });
    return {};
  }

 private:
  size_t channels_;
  PixelBlocks blocks_;
};

// Returns the blocks for a tensor in chunks that is reduced along its channels; none for row-major
// tensors, which are read in place.
std::optional<PixelBlocks> blocks_in_chunks(const TensorDesc& input, const TensorDesc& output,
                                            int axis) {
  if (input.layout == Layout::kNchw || split_at(input.shape, axis).inner == 1) return std::nullopt;
  return PixelBlocks::make(input, output, axis, 1);
}

// Calls f(i) for each group; threads share them.
template <typename F>
void share_groups(size_t groups, size_t length, F f) {
  constexpr size_t kGroupTask = 1 << 14;
  const size_t some = std::max<size_t>(1, kGroupTask / std::max<size_t>(1, length));
  share(static_cast<int>((groups + some - 1) / some), [&](int task) {
    const size_t begin = static_cast<size_t>(task) * some;
    for (size_t i = begin; i < std::min(groups, begin + some); ++i) f(i);
  });
}

// Finds the places of the largest elements of adjacent groups.
void largest_of_columns(const AxisSplit& split, const float* in, float* result) {
  share_blocks(split.outer, split.inner, kFoldedGroups, [&](size_t o, size_t begin, size_t count) {
    const float* const first = in + o * split.count * split.inner + begin;
    float best[kFoldedGroups];
    int32_t which[kFoldedGroups] = {};
    std::copy_n(first, count, best);
    for (size_t k = 1; k < split.count; ++k) {
      kernels::raise(first + k * split.inner, static_cast<int32_t>(k), best, which, count);
    }
    for (size_t i = 0; i < count; ++i) {
      result[o * split.inner + begin + i] = static_cast<float>(which[i]);
    }
  });
}

DimsResult reduced(const Shape& shape, const std::vector<int>& axes, bool keep) {
  DVNN_ASSIGN(const auto along, axes_or_all(axes, shape.rank));
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank; ++i) {
    const bool goes = std::count(along.begin(), along.end(), i) > 0;
    if (!goes) dims.push_back(shape[i]);
    if (goes && keep) dims.push_back(1);
  }
  if (dims.empty()) dims.push_back(1);  // a scalar
  return dims;
}

Status expect_groups(const TensorDesc& output, const Groups& groups) {
  if (output.shape.elements() == static_cast<int64_t>(groups.outer.size())) return {};
  return malformed("the output " + output.shape.to_string() +
                   " does not have one element per group");
}

}  // namespace

Result<Reduction> parse_reduction(const std::string& name) {
  return parse_name<Reduction>(name, kReductions, "operation");
}

void ReduceAttributes::fields(Fields* f) {
  f->require("operation");
  f->choice("operation", &operation, kReductions);
  f->integers("axes", &axes, 0, Shape::kMaxRank - 1);
  f->boolean("keep", &keep);
}

DimsResult ReduceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  return reduced(inputs[0], axes, keep);
}

Cost ReduceAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  // Offsets of groups and their elements.
  const uint64_t blocks = axes.size() == 1 ? PixelBlocks::borrowed(in, out, axes[0], true) : 0;
  return float_layer_cost(in, out)
      .keep_floats(saturating_sum(elements_of(in), elements_of(out)))
      .borrow_floats(blocks);
}

LayerResult ReduceAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_ASSIGN(const auto along, axes_or_all(axes, inputs[0].shape.rank));
  Groups groups = group_along(inputs[0].shape, along);
  DVNN_TRY(expect_groups(outputs[0], groups));
  const bool exponentials = operation == Reduction::kLogSumExp;
  const auto split = split_along(inputs[0].shape, along);
  const auto blocks = blocks_in_chunks(inputs[0], outputs[0], along[0]);
  if (blocks && along.size() == 1 && !exponentials) {
    return std::unique_ptr<CpuLayer>(new ReducePixels(row_of(operation), split->count, *blocks));
  }
  if (split && !exponentials) {
    return make_float_layer(
        inputs, outputs,
        [split = *split, row = row_of(operation)](const float* const* in, float* result) {
          reduce_split(row, split, in[0], result);
        });
  }
  return make_float_layer(
      inputs, outputs,
      [groups = std::move(groups), row = row_of(operation), exponentials](const float* const* in,
                                                                          float* result) {
        share_groups(groups.outer.size(), groups.inner.size(), [&](size_t i) {
          const float* group = in[0] + groups.outer[i];
          double sum = row.start;
          float together[kFoldedGroups];
          for (size_t at = 0; at < groups.inner.size(); at += kFoldedGroups) {
            const size_t some = std::min(kFoldedGroups, groups.inner.size() - at);
            for (size_t k = 0; k < some; ++k) together[k] = group[groups.inner[at + k]];
            kernels::fold_lines(row.fold, together, 1, some, &sum, 1);
          }
          sum = exponentials ? log_sum_exp(group, groups.inner, sum)
                             : row.finish(sum, static_cast<double>(groups.inner.size()));
          result[i] = static_cast<float>(sum);
        });
      });
}

void ArgReduceAttributes::fields(Fields* f) {
  constexpr const char* kEnds[] = {"max", "min"};
  f->require("operation");
  f->choice("operation", &smallest, kEnds);
  f->integer("axis", &axis, 0, Shape::kMaxRank - 1);
  f->boolean("keep", &keep);
  f->boolean("last", &last);
}

DimsResult ArgReduceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  return reduced(inputs[0], {axis}, keep);
}

Cost ArgReduceAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  // Offsets of groups and their elements.
  const uint64_t blocks = PixelBlocks::borrowed(in, out, axis, true);
  return float_layer_cost(in, out)
      .keep_floats(saturating_sum(elements_of(in), elements_of(out)))
      .borrow_floats(blocks);
}

LayerResult ArgReduceAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_ASSIGN(const auto along, axes_or_all({axis}, inputs[0].shape.rank));
  Groups groups = group_along(inputs[0].shape, along);
  DVNN_TRY(expect_groups(outputs[0], groups));
  const AxisSplit split = split_at(inputs[0].shape, axis);
  if (split.inner > 1 && !smallest && !last) {
    if (const auto blocks = blocks_in_chunks(inputs[0], outputs[0], axis)) {
      return std::unique_ptr<CpuLayer>(new LargestOfPixels(split.count, *blocks));
    }
    return make_float_layer(inputs, outputs, [split](const float* const* in, float* result) {
      largest_of_columns(split, in[0], result);
    });
  }
  return make_float_layer(inputs, outputs,
                          [groups = std::move(groups), sign = smallest ? -1.0f : 1.0f, last = last](
                              const float* const* in, float* result) {
                            share_groups(groups.outer.size(), groups.inner.size(), [&](size_t g) {
                              const float* group = in[0] + groups.outer[g];
                              size_t best = 0;
                              for (size_t i = 1; i < groups.inner.size(); ++i) {
                                const float x = sign * group[groups.inner[i]];
                                const float most = sign * group[groups.inner[best]];
                                if (x > most || (last && x == most)) best = i;
                              }
                              result[g] = static_cast<float>(best);
                            });
                          });
}

}  // namespace dvnn::layers
