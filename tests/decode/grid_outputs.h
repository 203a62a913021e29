// SPDX-License-Identifier: Apache-2.0
// Outputs over a small grid, for tests of detectors.
#pragma once

#include <algorithm>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test {

// A picture of 32x16 at stride 8: 4 x 2 cells. Cell 5 is in column 1, row 1.
inline constexpr size_t kCells = 8, kCell = 5;

// Returns one row per cell: `row` for kCell, `others` elsewhere.
inline std::vector<float> one_row(const std::vector<float>& row, float others = 0) {
  std::vector<float> rows(kCells * row.size(), others);
  std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(kCell * row.size()));
  return rows;
}

inline std::vector<float> transposed(const std::vector<float>& rows, size_t columns) {
  std::vector<float> turned(rows.size());
  const size_t count = rows.size() / columns;
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < columns; ++c) turned[c * count + i] = rows[i * columns + c];
  }
  return turned;
}

inline const Json kGrid = {{"image", {32, 16}}, {"strides", {8}}};

inline Json with(Json params, const Json& more) {
  params.update(more);
  return params;
}

}  // namespace dvnn::test
