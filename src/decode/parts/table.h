// SPDX-License-Identifier: Apache-2.0
// An output as a table: places in the picture (cells) that have values each. It is read where it
// lies, whatever its type and its order, without a copy and without a transposition.
#pragma once

#include <vector>

#include "decode/decoder.h"

namespace dvnn::decode {

class Table {
 public:
  /// `output` as `cells` cells, which are a grid's, row by row, or a list. Values of a cell are the
  /// rest of its axes, which may come before the cells (CxN, CxHxW), after them (NxC, HxWxC), or
  /// on both sides (AxHxWxC); in front of the last axis each cell may have `anchors` rows. An error
  /// says that the shape cannot be split so.
  static Result<Table> make(const NamedOutput& output, size_t index, size_t cells,
                            size_t anchors = 1);

  size_t output() const { return output_; }
  size_t cells() const { return cells_; }
  size_t values() const { return base_.size(); }
  /// The grid's size where the output's shape tells it; 0 where it is a list of cells.
  int width() const { return static_cast<int>(width_); }
  int height() const { return static_cast<int>(height_); }

  /// The part of the table that consists of `count` cells from `first` on: the cells of one grid
  /// where those of all grids lie in one output.
  Result<Table> slice(size_t first, size_t count) const;

  /// Reads from `views[output()]` from now on.
  void bind(Span<const ConstTensorView> views);

  float at(size_t cell, size_t value) const {
    return load(base_[value] + static_cast<int64_t>(place_of(cell)) * step_[value]);
  }
  /// Copies values of a cell.
  void read(size_t cell, size_t first, size_t count, float* to) const;

  // The members below serve scanning: cells are numbered in the order of the memory there.

  /// The cell that is the `place`-th in memory.
  size_t cell_of(size_t place) const;
  /// Returns how many values from `value` on lie side by side, so that one span holds them all.
  size_t run_of(size_t value) const { return run_[value]; }
  /// Cells that one strip() may have, kMaxStripCells at the most.
  size_t strip_cells() const { return strip_cells_; }
  /// A cell's values, from cell to cell `stride` floats on.
  struct Strip {
    const float* values;
    size_t stride;
  };
  static constexpr size_t kMaxRun = 2048, kStripFloats = 8192, kMaxStripCells = 128;
  /// `length` values, at the most run_of(value), of `count` cells. `buffer` has kStripFloats.
  Strip strip(size_t value, size_t length, size_t place, size_t count, float* buffer) const;

 private:
  size_t place_of(size_t cell) const;
  float load(int64_t offset) const;
  void find_runs();

  size_t output_ = 0, cells_ = 0, strip_cells_ = 1;
  size_t width_ = 0, height_ = 0;
  bool by_columns_ = false;           // cells lie column by column
  std::vector<int64_t> base_, step_;  // of each value: its place in cell 0, and from cell to cell
  std::vector<uint32_t> run_;
  bool copied_ = false, half_ = false;  // copied: orders that are none of the above
  std::vector<float> copy_;
  const uint8_t* data_ = nullptr;
};

}  // namespace dvnn::decode
