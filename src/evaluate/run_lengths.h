// SPDX-License-Identifier: Apache-2.0
// Masks of objects as COCO stores them: the lengths of runs of pixels that are not, and are, the
// object's, column by column (https://cocodataset.org/#format-data).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "evaluate/data_set.h"

namespace dvnn::evaluate {

struct RunLengths {
  int width = 0, height = 0;     // pixels of the picture
  std::vector<uint32_t> counts;  // by turns of pixels outside and inside; their sum is all pixels

  uint64_t area() const;
  /// Returns the box around the pixels inside.
  Box box() const;
};

/// Creates a mask of its columns: `inside(x, y)` is asked for the pixels of a box within the
/// picture, column by column.
template <typename Inside>
RunLengths run_lengths_of(int width, int height, int x0, int y0, int x1, int y1, Inside inside) {
  RunLengths runs;
  runs.width = width;
  runs.height = height;
  bool state = false;
  uint64_t begin = 0;
  const auto turn = [&](uint64_t at) {
    runs.counts.push_back(static_cast<uint32_t>(at - begin));
    begin = at;
    state = !state;
  };
  const auto column = [&](int x) {
    return static_cast<uint64_t>(x) * static_cast<uint64_t>(height);
  };
  for (int x = x0; x < x1; ++x) {
    for (int y = y0; y < y1; ++y) {
      if (inside(x, y) != state) turn(column(x) + static_cast<uint64_t>(y));
    }
    // A pixel below the box is outside, unless the next column goes on where this one ends.
    const bool goes_on = y0 == 0 && y1 == height && x + 1 < x1;
    if (state && !goes_on) turn(column(x) + static_cast<uint64_t>(y1));
  }
  if (begin < column(width)) turn(column(width));
  return runs;
}

/// Checks that the runs add up to the picture.
Status check_run_lengths(const RunLengths& runs);

/// Reads COCO's compressed form: differences of lengths in groups of five bits.
Result<RunLengths> read_run_lengths(const std::string& text, int width, int height);
std::string run_lengths_text(const RunLengths& runs);

/// Fills polygons, lists of x and y, as COCO's programs do: corners are rounded to fifths of a
/// pixel.
RunLengths fill_polygons(const std::vector<std::vector<double>>& polygons, int width, int height);

/// Returns a detection's mask in the picture's pixels: cells are interpolated (bilinear), and from
/// their middle value on they are the object's. Nothing beyond `box`, in pixels, is inside.
RunLengths fill_cells(const objects::Mask& mask, const image::Corners& box, int width, int height);

/// Returns intersection over union; for a crowd, over the area of `found`.
double overlap(const RunLengths& found, const RunLengths& truth, bool crowd);

}  // namespace dvnn::evaluate
