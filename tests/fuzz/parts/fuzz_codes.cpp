// SPDX-License-Identifier: Apache-2.0
// Pictures of modules, which ZBar and OpenCV read: how many pixels a module has, how many modules a
// row, and the modules as bits. What is read is harmless, and lies where numbers can say.
#include <algorithm>
#include <cmath>

#include "codes/reader.h"
#include "fuzzed_data.h"
#include "target.h"
#ifdef DVNN_HAVE_MARKERS
#include <opencv2/core/utility.hpp>

#include "codes/markers.h"
#endif

namespace dvnn::fuzz::codes_target {

using fuzz::expect;

namespace {

constexpr int kMostModules = 64, kQuiet = 4;  // in a row and a column; around them

codes::Luma picture_of(fuzz::FuzzedData* in) {
  const auto pixels = static_cast<int>(in->in(1, 4));
  const auto columns = static_cast<int>(in->in(1, kMostModules));
  const auto rows = std::clamp(static_cast<int>(in->left()) * 8 / columns, 1, kMostModules);
  codes::Luma picture;
  picture.width = (columns + 2 * kQuiet) * pixels;
  picture.height = (rows + 2 * kQuiet) * pixels;
  picture.pixels.assign(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height),
                        255);
  unsigned bits = 0;
  for (int i = 0; i < rows * columns; ++i) {
    if (i % 8 == 0) bits = in->byte();
    const bool dark = bits >> (i % 8) & 1;
    if (!dark) continue;
    const int x = (kQuiet + i % columns) * pixels, y = (kQuiet + i / columns) * pixels;
    for (int row = y; row < y + pixels; ++row) {
      std::fill_n(picture.pixels.begin() + static_cast<ptrdiff_t>(row) * picture.width + x, pixels,
                  uint8_t{0});
    }
  }
  return picture;
}

}  // namespace

static void prepare() {
#ifdef DVNN_HAVE_MARKERS
  cv::setNumThreads(1);  // pictures are small, and other targets have the other processors
#endif
}

static void try_input(const uint8_t* data, size_t size) {
  fuzz::FuzzedData in(data, size);
  const codes::Luma picture = picture_of(&in);
  static codes::Reader reader;
  if (const auto reading = reader.read(picture, 1)) {
    ++fuzz::accepted;
    expect(reading->text.size() <= codes::kMostTextBytes, "a text is too long");
    expect(codes::harmless_text(reading->text) == reading->text, "a text is not harmless");
  }
#ifdef DVNN_HAVE_MARKERS
  static codes::MarkerReader markers;
  if (const auto marker = markers.read(picture, 1)) {
    ++fuzz::accepted;
    expect(marker->id >= 0, "a marker has no number");
    for (const auto& [x, y] : marker->corners) {
      const bool within = x >= -1 && y >= -1 && x <= picture.width + 1 && y <= picture.height + 1;
      expect(within, "a corner is beside the picture");
    }
  }
#endif
}

DVNN_FUZZ_TARGET(codes)

}  // namespace dvnn::fuzz::codes_target
