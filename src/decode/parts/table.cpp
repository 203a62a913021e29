// SPDX-License-Identifier: Apache-2.0
#include "decode/parts/table.h"

#include <algorithm>

#include "base/format.h"
#include "tensor/half.h"

namespace dvnn::decode {
namespace {

constexpr size_t kMaxValues = 1 << 16;

struct Axes {
  std::vector<size_t> dims;  // without leading ones
};

Axes axes_of(const Shape& shape) {
  Axes axes;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] != 1 || !axes.dims.empty()) axes.dims.push_back(shape.extent(i));
  }
  return axes;
}

// Whether the product of some last axes is `wanted`.
bool has_trailing(const std::vector<size_t>& dims, size_t wanted) {
  size_t product = 1;
  for (size_t k = dims.size(); k > 0; --k) {
    product *= dims[k - 1];
    if (product == wanted) return true;
  }
  return false;
}

// Returns how many first axes have the product `wanted`, or 0.
size_t leading(const std::vector<size_t>& dims, size_t wanted) {
  size_t product = 1;
  for (size_t k = 0; k < dims.size(); ++k) {
    product *= dims[k];
    if (product == wanted) return k + 1;
  }
  return 0;
}

}  // namespace

Result<Table> Table::make(const NamedOutput& output, size_t index, size_t cells, size_t anchors) {
  const TensorDesc& desc = output.desc;
  const Shape& shape = desc.shape;
  const auto elements = static_cast<size_t>(std::max<int64_t>(0, shape.elements()));
  const size_t values = cells > 0 ? elements / cells : 0;
  if (values == 0 || values * cells != elements || values > kMaxValues) {
    return malformed(format("output '%s' of %s cannot be split into %zu cells", output.name.c_str(),
                            shape.to_string().c_str(), cells));
  }
  Table table;
  table.output_ = index;
  table.cells_ = cells;
  table.half_ = desc.type == ElementType::kFloat16;
  table.base_.resize(values);
  table.step_.resize(values);
  const Axes axes = axes_of(shape);
  const bool picture = shape.rank == 4 && shape.n() == 1 && shape.pixels() == cells;
  const bool row_major = desc.layout == Layout::kNchw;
  // In a square table, rows are the cells.
  const bool anchors_first =
      axes.dims.size() > 2 && axes.dims[0] == anchors && axes.dims.back() * anchors == values;
  const bool rows_first = axes.dims.size() <= 2 && leading(axes.dims, cells) > 0;
  table.copied_ = !is_float(desc.type) || (!row_major && !picture);
  if (table.copied_) {
    table.half_ = false;
    table.copy_.resize(elements);
  }
  if (!row_major && !table.copied_) {
    const bool columns = desc.layout == Layout::kNwhc || desc.layout == Layout::kWhc8;
    for (size_t v = 0; v < values; ++v) {
      const int c = static_cast<int>(v);
      table.base_[v] = element_offset(desc.layout, shape, 0, c, 0, 0);
      table.step_[v] = lies_in_chunks(desc.layout) ? std::min(8, shape.c() - (c & ~7)) : shape.c();
    }
    table.by_columns_ = columns;
    table.width_ = shape.extent(3);
    table.height_ = shape.extent(2);
  } else if (!rows_first && has_trailing(axes.dims, cells)) {
    for (size_t v = 0; v < values; ++v) {
      table.base_[v] = static_cast<int64_t>(v * cells);
      table.step_[v] = 1;
    }
    if (picture) {
      table.height_ = shape.extent(2);
      table.width_ = shape.extent(3);
    }
  } else if (cells == 1 || leading(axes.dims, cells) ||
             (!anchors_first && leading(axes.dims, cells * anchors))) {
    for (size_t v = 0; v < values; ++v) {
      table.base_[v] = static_cast<int64_t>(v);
      table.step_[v] = static_cast<int64_t>(values);
    }
    if (leading(axes.dims, cells) == 2) {
      table.height_ = axes.dims[0];
      table.width_ = axes.dims[1];
    }
  } else if (anchors_first) {
    const size_t row = axes.dims.back();
    for (size_t v = 0; v < values; ++v) {
      table.base_[v] = static_cast<int64_t>(v / row * cells * row + v % row);
      table.step_[v] = static_cast<int64_t>(row);
    }
  } else {
    return malformed(format("output '%s' of %s has no axes that are %zu cells", output.name.c_str(),
                            shape.to_string().c_str(), cells));
  }
  table.find_runs();
  return table;
}

// Also limits strips to a number of cells that fits the buffer for every value.
void Table::find_runs() {
  run_.assign(values(), 1);
  int64_t longest = 1;
  for (size_t v = values(); v-- > 0;) {
    longest = std::max(longest, step_[v]);
    if (v + 1 < values() && base_[v + 1] == base_[v] + 1 && step_[v + 1] == step_[v]) {
      run_[v] = static_cast<uint32_t>(std::min<size_t>(kMaxRun, run_[v + 1] + size_t{1}));
    }
  }
  const size_t fitting = kStripFloats / static_cast<size_t>(longest);
  strip_cells_ = std::clamp<size_t>(fitting, 1, kMaxStripCells);
}

Result<Table> Table::slice(size_t first, size_t count) const {
  if (first == 0 && count == cells_) return *this;
  if (by_columns_ || first + count > cells_) {
    return malformed("a grid's cells cannot be a part of an output in columns");
  }
  Table part = *this;
  part.cells_ = count;
  part.width_ = part.height_ = 0;
  for (size_t v = 0; v < values(); ++v) part.base_[v] += static_cast<int64_t>(first) * step_[v];
  return part;
}

void Table::bind(Span<const ConstTensorView> views) {
  data_ = views[output_].data;
  if (!copied_) return;
  read_nchw(views[output_], copy_.data());
  data_ = reinterpret_cast<const uint8_t*>(copy_.data());
}

size_t Table::place_of(size_t cell) const {
  if (!by_columns_) return cell;
  return cell % width_ * height_ + cell / width_;
}

size_t Table::cell_of(size_t place) const {
  if (!by_columns_) return place;
  return place % height_ * width_ + place / height_;
}

float Table::load(int64_t offset) const {
  if (half_) return half_to_float(reinterpret_cast<const half_t*>(data_)[offset]);
  return reinterpret_cast<const float*>(data_)[offset];
}

void Table::read(size_t cell, size_t first, size_t count, float* to) const {
  const auto place = static_cast<int64_t>(place_of(cell));
  for (size_t v = first; v < first + count;) {
    const size_t length = std::min<size_t>(run_[v], first + count - v);
    const int64_t at = base_[v] + place * step_[v];
    if (length == 1) {
      *to = load(at);
    } else if (half_) {
      half_to_float(reinterpret_cast<const half_t*>(data_) + at, to, length);
    } else {
      const auto* from = reinterpret_cast<const float*>(data_) + at;
      std::copy(from, from + length, to);
    }
    to += length;
    v += length;
  }
}

Table::Strip Table::strip(size_t value, size_t length, size_t place, size_t count,
                          float* buffer) const {
  const auto step = static_cast<size_t>(step_[value]);
  const int64_t at = base_[value] + static_cast<int64_t>(place) * step_[value];
  if (!half_) return {reinterpret_cast<const float*>(data_) + at, step};
  const half_t* from = reinterpret_cast<const half_t*>(data_) + at;
  // Up to this ratio of elements between cells to values, all elements are converted at once.
  constexpr size_t kDense = 4;
  if (step <= kDense * length) {
    half_to_float(from, buffer, (count - 1) * step + length);
    return {buffer, step};
  }
  for (size_t i = 0; i < count; ++i) half_to_float(from + i * step, buffer + i * length, length);
  return {buffer, length};
}

}  // namespace dvnn::decode
