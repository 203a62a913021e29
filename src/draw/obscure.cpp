// SPDX-License-Identifier: Apache-2.0
#include "draw/obscure.h"

#include <algorithm>
#include <vector>

#include "base/grid.h"

namespace dvnn::draw {
namespace {

uint32_t bytes_at(const Samples& s, const uint8_t* at) {
  return s.bytes == 1 ? *at : at[0] | uint32_t{at[1]} << 8;
}

uint32_t get(const Samples& s, const uint8_t* at) {
  return (bytes_at(s, at) & ~s.others) >> s.shift;
}

void put(const Samples& s, uint32_t value, uint8_t* at) {
  value = value << s.shift | (bytes_at(s, at) & s.others);
  at[0] = static_cast<uint8_t>(value);
  if (s.bytes > 1) at[1] = static_cast<uint8_t>(value >> 8);
}

uint8_t* sample_at(const Samples& s, int x, int y) {
  return s.data + y * s.stride + static_cast<ptrdiff_t>(x) * s.step;
}

// Averages of a rectangle's cells, row by row.
struct Averages {
  int columns = 0, rows = 0;
  std::vector<uint32_t> values;

  uint32_t at(int column, int row) const {
    return values[grid_index(std::clamp(column, 0, columns - 1), std::clamp(row, 0, rows - 1),
                             columns)];
  }
};

Averages average(const Samples& s, const SampleRect& r, int cell_width, int cell_height) {
  Averages result;
  result.columns = (r.x1 - r.x0 + cell_width - 1) / cell_width;
  result.rows = (r.y1 - r.y0 + cell_height - 1) / cell_height;
  for (int y = r.y0; y < r.y1; y += cell_height) {
    for (int x = r.x0; x < r.x1; x += cell_width) {
      const int right = std::min(x + cell_width, r.x1), bottom = std::min(y + cell_height, r.y1);
      uint64_t sum = 0;
      for (int v = y; v < bottom; ++v) {
        for (int u = x; u < right; ++u) sum += get(s, sample_at(s, u, v));
      }
      const auto count = static_cast<uint64_t>(right - x) * static_cast<uint64_t>(bottom - y);
      result.values.push_back(static_cast<uint32_t>((sum + count / 2) / count));
    }
  }
  return result;
}

// The last cell whose middle is at or before a sample, and the distance from that middle, 0..256.
struct Way {
  int cell, weight;
};

Way way_of(int at, int cell) {
  const int doubled = 2 * at + 1 - cell;  // twice the distance from the first cell's middle
  const int before = doubled >= 0 ? doubled / (2 * cell) : -1;
  return {before, (doubled - before * 2 * cell) * 256 / (2 * cell)};
}

uint32_t between(uint32_t a, uint32_t b, int weight) {
  return (a * static_cast<uint32_t>(256 - weight) + b * static_cast<uint32_t>(weight) + 128) >> 8;
}

}  // namespace

void obscure(const Samples& s, SampleRect r, int cell_width, int cell_height, Obscure how) {
  r.x0 = std::max(r.x0, 0), r.y0 = std::max(r.y0, 0);
  r.x1 = std::min(r.x1, s.width), r.y1 = std::min(r.y1, s.height);
  if (how == Obscure::kNo || r.x1 <= r.x0 || r.y1 <= r.y0) return;
  cell_width = std::max(1, cell_width), cell_height = std::max(1, cell_height);
  const Averages averages = average(s, r, cell_width, cell_height);
  for (int y = r.y0; y < r.y1; ++y) {
    const Way v = way_of(y - r.y0, cell_height);
    for (int x = r.x0; x < r.x1; ++x) {
      uint32_t value = 0;
      if (how == Obscure::kPixelate) {
        value = averages.at((x - r.x0) / cell_width, (y - r.y0) / cell_height);
      } else {
        const Way u = way_of(x - r.x0, cell_width);
        const uint32_t above =
            between(averages.at(u.cell, v.cell), averages.at(u.cell + 1, v.cell), u.weight);
        const uint32_t below =
            between(averages.at(u.cell, v.cell + 1), averages.at(u.cell + 1, v.cell + 1), u.weight);
        value = between(above, below, v.weight);
      }
      put(s, value, sample_at(s, x, y));
    }
  }
}

}  // namespace dvnn::draw
