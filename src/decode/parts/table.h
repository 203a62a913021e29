// SPDX-License-Identifier: Apache-2.0
// An output as a table of cells (places in the picture) with values. Floating point
// numbers are read in place in all usual layouts, without a copy or transposition.
#pragma once

#include <vector>

#include "decode/decoder.h"

namespace dvnn::decode {

class Table {
 public:
  /// Describes `output` as `cells` cells of a grid, row by row, or of a list. The other axes are a
  /// cell's values: before the cells (CxN, CxHxW), after them (NxC, HxWxC), or on both sides
  /// (AxHxWxC). In front of the last axis, each cell may have `anchors` rows. Returns an error if
  /// the shape does not allow this.
  static Result<Table> make(const NamedOutput& output, size_t index, size_t cells,
                            size_t anchors = 1);

  size_t output() const { return output_; }
  size_t cells() const { return cells_; }
  size_t values() const { return base_.size(); }
  /// Returns the grid's size if the output's shape has one, or 0 for a list of cells.
  int width() const { return static_cast<int>(width_); }
  int height() const { return static_cast<int>(height_); }

  /// Returns the part with `count` cells from `first` on, for the cells of one grid in an output
  /// with all grids.
  Result<Table> slice(size_t first, size_t count) const;

  /// Sets the memory: reads from `views[output()]` from now on.
  void bind(Span<const ConstTensorView> views);

  float at(size_t cell, size_t value) const {
    return load(base_[value] + static_cast<int64_t>(place_of(cell)) * step_[value]);
  }
  /// Copies `count` values of a cell from `first` on.
  void read(size_t cell, size_t first, size_t count, float* to) const;

  // For scanning, the functions below number cells by their order in memory.

  /// Returns the cell at position `place` in memory.
  size_t cell_of(size_t place) const;
  /// Returns how many values from `value` on are consecutive in memory.
  size_t run_of(size_t value) const { return run_[value]; }
  /// Returns how many cells a strip() may have, at most kMaxStripCells.
  size_t strip_cells() const { return strip_cells_; }
  /// Values of consecutive cells, which are `stride` floats apart.
  struct Strip {
    const float* values;
    size_t stride;
  };
  static constexpr size_t kMaxRun = 2048, kStripFloats = 8192, kMaxStripCells = 128;
  /// Reads `length` values (at most run_of(value)) of `count` cells. `buffer` has kStripFloats.
  Strip strip(size_t value, size_t length, size_t place, size_t count, float* buffer) const;

 private:
  size_t place_of(size_t cell) const;
  float load(int64_t offset) const;
  void find_runs();

  size_t output_ = 0, cells_ = 0, strip_cells_ = 1;
  size_t width_ = 0, height_ = 0;
  bool by_columns_ = false;           // cells are stored column by column
  std::vector<int64_t> base_, step_;  // by value: its offset in cell 0, and the step between cells
  std::vector<uint32_t> run_;
  bool copied_ = false, half_ = false;  // copied_: converted first, as type or layout is another
  std::vector<float> copy_;
  const uint8_t* data_ = nullptr;
};

}  // namespace dvnn::decode
