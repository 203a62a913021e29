// SPDX-License-Identifier: Apache-2.0
// Standardises groups of elements: brings them to one mean and variance.
#include <algorithm>
#include <cmath>
#include <iterator>

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

// Turns sums of groups into means, or 0, and sums of squares into factors.
struct Statistics {
  double length, epsilon;
  bool centre;

  Statistics(const StandardizeAttributes& layer, size_t count)
      : length(static_cast<double>(count)),
        epsilon(static_cast<double>(layer.epsilon)),
        centre(layer.centre) {}
  void make_means(double* sums, size_t count) const {
    for (size_t i = 0; i < count; ++i) sums[i] = centre ? sums[i] / length : 0;
  }
  void make_factors(double* squares, size_t count) const {
    for (size_t i = 0; i < count; ++i) squares[i] = 1 / std::sqrt(squares[i] / length + epsilon);
  }
};

// Standardises each pixel by the statistics of its channels.
class StandardizePixels final : public CpuLayer {
 public:
  StandardizePixels(const StandardizeAttributes& layer, size_t channels, const PixelBlocks& blocks)
      : statistics_(layer, channels), channels_(channels), blocks_(blocks) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    if (blocks_.in_chunks()) {
      blocks_.run_chunks(inputs[0], outputs[0],
                         [this](const PixelBlocks::Chunks& chunks) { standardise(chunks); });
      return {};
    }
    blocks_.run(inputs[0], outputs[0], [this](const PixelBlocks::Lines& lines) {
      double means[PixelBlocks::kMostCount], factors[PixelBlocks::kMostCount];
      const size_t count = lines.count;
      std::fill_n(means, count, 0);
      std::fill_n(factors, count, 0);
      kernels::fold_lines(Fold::kSum, lines.first, count, channels_, means, count);
      statistics_.make_means(means, count);
      kernels::add_deviations(lines.first, count, channels_, means, factors, count);
      statistics_.make_factors(factors, count);
      kernels::standardise_lines(lines.first, count, channels_, means, factors, lines.first, count);
    });
    return {};
  }

 private:
  // Sums the chunks, then the channels of what is one chunk of each pixel.
  void standardise(const PixelBlocks::Chunks& chunks) const {
    double means[kMostSums] = {}, factors[kMostSums] = {};
    const size_t count = chunks.count * PixelBlocks::kChunk,
                 lines = channels_ / PixelBlocks::kChunk;
    kernels::fold_lines(Fold::kSum, chunks.first, count, lines, means, count);
    replace_sums(means, chunks.count, &Statistics::make_means);
    kernels::add_deviations(chunks.first, count, lines, means, factors, count);
    replace_sums(factors, chunks.count, &Statistics::make_factors);
    kernels::standardise_lines(chunks.first, count, lines, means, factors, chunks.first, count);
  }

  // Replaces the numbers of each pixel by what `make` makes of their sum.
  void replace_sums(double* numbers, size_t pixels,
                    void (Statistics::*make)(double*, size_t) const) const {
    constexpr size_t kChunk = PixelBlocks::kChunk;
    double sums[PixelBlocks::kMostChunkPixels];
    for (size_t i = 0; i < pixels; ++i) {
      const double* const at = numbers + i * kChunk;
      sums[i] = ((at[0] + at[4]) + (at[1] + at[5])) + ((at[2] + at[6]) + (at[3] + at[7]));
    }
    (statistics_.*make)(sums, pixels);
    for (size_t i = 0; i < pixels; ++i) std::fill_n(numbers + i * kChunk, kChunk, sums[i]);
  }

  static constexpr size_t kMostSums = PixelBlocks::kMostChunkPixels * PixelBlocks::kChunk;

  Statistics statistics_;
  size_t channels_;
  PixelBlocks blocks_;
};

// Standardises groups of elements anywhere. Some are transposed, so that several are summed at
// once.
class StandardizeGroups {
 public:
  StandardizeGroups(const StandardizeAttributes& layer, Groups groups)
      : statistics_(layer, groups.inner.size()),
        groups_(std::move(groups)),
        rows_(groups_.inner.back() + 1 == groups_.inner.size()) {}

  void operator()(const float* const* in, float* result) const {
    constexpr size_t kTaskElements = 1 << 14;
    const size_t all = groups_.outer.size(), length = groups_.inner.size();
    const size_t some = std::max<size_t>(1, kTaskElements / (length * kGroups)) * kGroups;
    share(static_cast<int>((all + some - 1) / some), [&](int task) {
      const size_t begin = static_cast<size_t>(task) * some, end = std::min(all, begin + some);
      for (size_t g = begin; g < end; g += kGroups) {
        make(in[0], g, std::min(kGroups, end - g), result);
      }
    });
  }

 private:
  static constexpr size_t kGroups = 32, kPiece = 64;

  // Calls f(lines, stride, some) for pieces of `count` groups, whose lines have room for `width`
  // floats.
  template <typename F>
  void turn(const float* in, size_t first, size_t count, size_t width, F f) const {
    const size_t length = groups_.inner.size();
    if (rows_ && count == 1) return f(in + groups_.outer[first], 1, length);
    alignas(64) float lines[kPiece * kGroups];
    if (count < width) std::fill(std::begin(lines), std::end(lines), 0.0f);
    for (size_t at = 0; at < length; at += kPiece) {
      const size_t some = std::min(kPiece, length - at);
      if (rows_) {
        kernels::transpose(in + groups_.outer[first] + at, static_cast<ptrdiff_t>(length), lines,
                           kGroups, some, count);
      } else {
        gather(in, first, count, at, some, lines);
      }
      f(lines, kGroups, some);
    }
  }

  void gather(const float* in, size_t first, size_t count, size_t at, size_t some,
              float* lines) const {
    for (size_t k = 0; k < some; ++k) {
      for (size_t g = 0; g < count; ++g) {
        lines[k * kGroups + g] = in[groups_.outer[first + g] + groups_.inner[at + k]];
      }
    }
  }

  void make(const float* in, size_t first, size_t count, float* result) const {
    double means[kGroups] = {}, factors[kGroups] = {};
    // Whole vectors: a few groups would be summed one after the other.
    constexpr size_t kVector = 8;
    const size_t width = count == 1 ? 1 : (count + kVector - 1) / kVector * kVector;
    turn(in, first, count, width, [&](const float* lines, size_t stride, size_t some) {
      kernels::fold_lines(Fold::kSum, lines, stride, some, means, width);
    });
    statistics_.make_means(means, width);
    turn(in, first, count, width, [&](const float* lines, size_t stride, size_t some) {
      kernels::add_deviations(lines, stride, some, means, factors, width);
    });
    statistics_.make_factors(factors, count);
    for (size_t g = 0; g < count; ++g) {
      finish(in + groups_.outer[first + g], means[g], factors[g],
             result + groups_.outer[first + g]);
    }
  }

  void finish(const float* group, double mean, double factor, float* result) const {
    const size_t length = groups_.inner.size();
    if (rows_) return kernels::standardise_row(group, mean, factor, result, length);
    alignas(64) float row[kPiece];
    for (size_t at = 0; at < length; at += kPiece) {
      const size_t some = std::min(kPiece, length - at);
      for (size_t k = 0; k < some; ++k) row[k] = group[groups_.inner[at + k]];
      kernels::standardise_row(row, mean, factor, row, some);
      for (size_t k = 0; k < some; ++k) result[groups_.inner[at + k]] = row[k];
    }
  }

  Statistics statistics_;
  Groups groups_;
  bool rows_;  // a group's elements are adjacent, and so are the groups
};

}  // namespace

void StandardizeAttributes::fields(Fields* f) {
  f->integers("axes", &axes, 0, Shape::kMaxRank - 1);
  f->number("epsilon", &epsilon);
  f->boolean("centre", &centre);
}

DimsResult StandardizeAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  DVNN_TRY(axes_or_all(axes, inputs[0].rank));
  return same_dims(inputs);
}

Cost StandardizeAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  if (in.size() == 1 && out.size() == 1 && axes.size() == 1 && axes[0] < in[0].shape.rank) {
    // Works pixel by pixel, without lists of elements.
    const AxisSplit split = split_at(in[0].shape, axes[0]);
    if (split.inner > 1 && PixelBlocks::make(in[0], out[0], axes[0], split.count)) {
      return one_look(in, out).borrow_floats(PixelBlocks::borrowed(in, out, axes[0], false));
    }
  }
  // Finds the places of groups and their elements.
  const uint64_t blocks = axes.size() == 1 ? PixelBlocks::borrowed(in, out, axes[0], false) : 0;
  return float_layer_cost(in, out)
      .keep_floats(saturating_sum(elements_of(in), elements_of(out)))
      .borrow_floats(blocks);
}

LayerResult StandardizeAttributes::create(Span<const TensorDesc> inputs,
                                          Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  DVNN_ASSIGN(const auto along, axes_or_all(axes, inputs[0].shape.rank));
  const AxisSplit split = split_at(inputs[0].shape, along[0]);
  const auto blocks = PixelBlocks::make(inputs[0], outputs[0], along[0], split.count);
  if (along.size() == 1 && blocks && split.inner > 1) {
    return std::unique_ptr<CpuLayer>(new StandardizePixels(*this, split.count, *blocks));
  }
  return make_float_layer(inputs, outputs,
                          StandardizeGroups(*this, group_along(inputs[0].shape, along)));
}

}  // namespace dvnn::layers
