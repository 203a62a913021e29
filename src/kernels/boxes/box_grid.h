// SPDX-License-Identifier: Apache-2.0
// Finds the boxes that may overlap a box: a grid over all boxes, whose cells list the boxes that
// reach into them. Two boxes that share a point share a cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/grid.h"
#include "base/nth.h"
#include "base/span.h"
#include "kernels/boxes/box.h"

namespace dvnn::kernels {

/// For one thread at a time. Memory is kept from one use to the next.
class BoxGrid {
 public:
  /// Empties the grid and lays it over these boxes. False if a grid would not pay: too few boxes,
  /// coordinates that are huge or not finite.
  bool lay(Span<const Box> boxes, const std::vector<Candidate>& candidates) {
    constexpr size_t kFewest = 64;
    if (candidates.size() < kFewest) return false;
    Box all = {kHuge, kHuge, -kHuge, -kHuge};
    double widths = 0, heights = 0;
    for (const Candidate& candidate : candidates) {
      const Box& b = nth(boxes, candidate.index);
      // Comparisons with NaN are false.
      const bool finite = std::abs(b.x0) < kHuge && std::abs(b.y0) < kHuge &&
                          std::abs(b.x1) < kHuge && std::abs(b.y1) < kHuge;
      if (!finite) return false;
      all = {std::min(all.x0, b.x0), std::min(all.y0, b.y0), std::max(all.x1, b.x1),
             std::max(all.y1, b.y1)};
      widths += std::max(0.0, double{b.x1} - double{b.x0});
      heights += std::max(0.0, double{b.y1} - double{b.y0});
    }
    const auto count = static_cast<double>(candidates.size());
    left_ = all.x0;
    top_ = all.y0;
    columns_ = lines(double{all.x1} - double{all.x0}, widths / count, count, &x_scale_);
    rows_ = lines(double{all.y1} - double{all.y0}, heights / count, count, &y_scale_);
    heads_.assign(grid_size(columns_, rows_), Head());
    entries_.clear();
    large_.clear();
    return true;
  }

  /// Adds a box; visit() passes `number` on.
  void add(const Box& box, int number) {
    if (!(box.x1 > box.x0 && box.y1 > box.y0)) return;  // overlaps no other box
    const Range range = range_of(box);
    if (range.cells() > kManyCells) return large_.push_back(number);
    for (int y = range.y0; y <= range.y1; ++y) {
      for (int x = range.x0; x <= range.x1; ++x) {
        Head& head = nth(heads_, y * columns_ + x);
        entries_.push_back({number, head.first});
        head.first = static_cast<int>(entries_.size()) - 1;
        ++head.count;
      }
    }
  }

  /// Calls `overlaps` for each box that may overlap this one until it returns true, and returns
  /// whether it did. A box may come twice. If there are more than `most`, or if the box covers many
  /// cells, it sets `*many` instead, because to compare all boxes in order takes less time.
  template <typename Overlaps>
  bool visit(const Box& box, size_t most, Overlaps overlaps, bool* many) const {
    *many = false;
    if (!(box.x1 > box.x0 && box.y1 > box.y0)) return false;
    const Range range = range_of(box);
    size_t count = large_.size();
    *many = range.cells() > kManyCells;
    for (int y = range.y0; y <= range.y1 && !*many; ++y) {
      for (int x = range.x0; x <= range.x1; ++x) {
        count += nth(heads_, y * columns_ + x).count;
      }
    }
    *many = *many || count > most;
    if (*many) return false;
    for (int number : large_) {
      if (overlaps(number)) return true;
    }
    for (int y = range.y0; y <= range.y1; ++y) {
      for (int x = range.x0; x <= range.x1; ++x) {
        int at = nth(heads_, y * columns_ + x).first;
        for (; at >= 0; at = nth(entries_, at).next) {
          if (overlaps(nth(entries_, at).number)) return true;
        }
      }
    }
    return false;
  }

 private:
  static constexpr float kHuge = 1e18f;  // products of such numbers are finite
  static constexpr int kManyCells = 16;  // a box over more cells is listed apart
  struct Head {
    int first = -1;
    uint32_t count = 0;
  };
  struct Entry {
    int number, next;
  };
  struct Range {
    int x0, y0, x1, y1;
    int cells() const { return (x1 - x0 + 1) * (y1 - y0 + 1); }
  };

  // Returns the number of columns (or rows) of the grid: cells as large as an average box, but no
  // more lines than the square root of the number of boxes.
  static int lines(double length, double average, double count, float* scale) {
    constexpr double kMost = 128;
    const double most = std::min(kMost, std::ceil(std::sqrt(count)));
    double lines = average > 0 ? std::floor(length / average) : most;
    lines = std::clamp(lines, 1.0, most);
    *scale = length > 0 ? static_cast<float>(lines / length) : 0;
    // A length near zero would make the scale infinite.
    if (!(*scale < kHuge)) *scale = 0;
    return static_cast<int>(lines);
  }

  // Monotonic: each rounded step from a coordinate to its cell keeps the order of coordinates.
  static int cell_of(float at, float first, float scale, int lines) {
    return std::clamp(static_cast<int>(std::min((at - first) * scale, 1e6f)), 0, lines - 1);
  }
  Range range_of(const Box& box) const {
    return {cell_of(box.x0, left_, x_scale_, columns_), cell_of(box.y0, top_, y_scale_, rows_),
            cell_of(box.x1, left_, x_scale_, columns_), cell_of(box.y1, top_, y_scale_, rows_)};
  }

  float left_ = 0, top_ = 0, x_scale_ = 0, y_scale_ = 0;
  int columns_ = 1, rows_ = 1;
  std::vector<Head> heads_;
  std::vector<Entry> entries_;
  std::vector<int> large_;
};

}  // namespace dvnn::kernels
