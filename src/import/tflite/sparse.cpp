// SPDX-License-Identifier: Apache-2.0
// Sparse tensors: their dimensions are traversed in an order of their own, followed by those of
// blocks. A dense dimension has all its indices, a sparse one those listed (compressed rows).
#include <algorithm>
#include <numeric>

#include "base/nth.h"
#include "import/tflite/model.h"

namespace dvnn::import {
namespace {

constexpr size_t kMostLevels = 16;

// Returns the numbers of a list, which has one of three types.
std::vector<int64_t> indices(tfl::IndexVector type, const void* table) {
  std::vector<int64_t> list;
  const auto take = [&list](const auto* values) {
    if (values) list.assign(values->begin(), values->end());
  };
  if (!table) return list;
  if (type == tfl::IndexVector::Int32Vector) {
    take(static_cast<const tfl::Int32Vector*>(table)->values());
  } else if (type == tfl::IndexVector::Uint16Vector) {
    take(static_cast<const tfl::Uint16Vector*>(table)->values());
  } else if (type == tfl::IndexVector::Uint8Vector) {
    take(static_cast<const tfl::Uint8Vector*>(table)->values());
  }
  return list;
}

struct Level {
  size_t dim = 0;    // index of the tensor's dimension
  int64_t step = 1;  // number of elements from one index to the next
  int64_t size = 0;
  bool dense = true;
  std::vector<int64_t> segments, indices;  // of a sparse dimension
};

class Spread {
 public:
  Spread(const tfl::Tensor& tensor, const std::vector<double>& present)
      : dims_(tflite_list(tensor.shape())), present_(present) {}

  Result<std::vector<double>> run(const tfl::Sparsity& sparsity) {
    if (!read_levels(sparsity)) return damaged();
    int64_t count = 1;
    strides_.assign(dims_.size(), 1);
    for (size_t d = dims_.size(); d-- > 0; count *= dims_[d]) strides_[d] = count;
    values_.assign(static_cast<size_t>(count), 0);
    if (!visit(0, 0, 0)) return damaged();
    return std::move(values_);
  }

 private:
  static Error damaged() {
    return {ErrorCode::kMalformed, "is sparse, and its indices do not fit its dimensions"};
  }

  bool read_levels(const tfl::Sparsity& sparsity) {
    const std::vector<int64_t> order = tflite_list(sparsity.traversal_order());
    const std::vector<int64_t> blocks = tflite_list(sparsity.block_map());
    const auto* metadata = sparsity.dim_metadata();
    const size_t rank = dims_.size(), count = order.size();
    if (!metadata || metadata->size() != count || count != rank + blocks.size() ||
        count > kMostLevels) {
      return false;
    }
    std::vector<int64_t> sorted = order, all(count);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) return false;
    levels_.resize(count);
    std::vector<int64_t> block(rank, 1);  // size of a block along each dimension
    for (size_t i = count; i-- > 0;) {
      const auto own = static_cast<size_t>(order[i]);
      Level& level = levels_[i];
      const tfl::DimensionMetadata& entry = *metadata->Get(static_cast<unsigned>(i));
      level.dense = entry.format() == tfl::DimensionType::DENSE;
      const bool inner = own >= rank;
      if (inner != (i >= rank)) return false;
      const int64_t of = inner ? blocks[own - rank] : order[i];
      if (of < 0 || of >= static_cast<int64_t>(rank)) return false;
      level.dim = static_cast<size_t>(of);
      if (!set_size(entry, inner, &block[level.dim], &level)) return false;
      if (level.dense) continue;
      level.segments = indices(entry.array_segments_type(), entry.array_segments());
      level.indices = indices(entry.array_indices_type(), entry.array_indices());
    }
    return true;
  }

  // Sets the size of a level. Blocks' dimensions come last, so that the others count blocks.
  bool set_size(const tfl::DimensionMetadata& entry, bool inner, int64_t* block, Level* level) {
    level->size = inner ? entry.dense_size() : dims_[level->dim] / *block;
    level->step = inner ? 1 : *block;
    if (level->size < 1 || dims_[level->dim] % (inner ? level->size : *block) != 0) return false;
    if (level->dense && !inner && entry.dense_size() != level->size) return false;
    if (!inner) return true;
    if (*block != 1 || !level->dense) return false;
    *block = level->size;
    return true;
  }

  bool visit(size_t at, int64_t parent, int64_t offset) {
    if (at == levels_.size()) {
      if (parent >= static_cast<int64_t>(present_.size())) return false;
      nth(values_, offset) = nth(present_, parent);
      return true;
    }
    const Level& level = levels_[at];
    const int64_t stride = strides_[level.dim] * level.step;
    if (level.dense) {
      for (int64_t i = 0; i < level.size; ++i) {
        if (!visit(at + 1, parent * level.size + i, offset + i * stride)) return false;
      }
      return true;
    }
    if (parent + 1 >= static_cast<int64_t>(level.segments.size())) return false;
    const int64_t begin = nth(level.segments, parent), end = nth(level.segments, parent + 1);
    if (begin < 0 || begin > end || end > static_cast<int64_t>(level.indices.size())) return false;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = nth(level.indices, i);
      if (index < 0 || index >= level.size) return false;
      if (!visit(at + 1, i, offset + index * stride)) return false;
    }
    return true;
  }

  std::vector<int64_t> dims_, strides_;
  const std::vector<double>& present_;
  std::vector<Level> levels_;
  std::vector<double> values_;
};

}  // namespace

Result<std::vector<double>> spread_tflite(const tfl::Tensor& tensor,
                                          const std::vector<double>& present) {
  return Spread(tensor, present).run(*tensor.sparsity());
}

}  // namespace dvnn::import
