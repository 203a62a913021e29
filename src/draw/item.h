// SPDX-License-Identifier: Apache-2.0
// One thing to draw: what of an object is to be seen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "image/view.h"
#include "objects/object.h"

namespace dvnn::draw {

/// The treatment of the frame's own pixels under an object.
enum class Obscure : uint8_t { kNo, kBlur, kPixelate };

/// The cells of a mask, with whoever owns them.
struct MaskCells {
  image::Corners place;  // frame pixels
  int width = 0, height = 0;
  std::shared_ptr<const uint8_t> cells;  // null: there is no mask
  bool classes = false;  // cells are indices of classes, else 255 is surest and 128 the edge
};

struct Item {
  image::Corners place;  // frame pixels; of any size, and clipped to the frame
  bool box = true;       // false: the label is at the top left corner, in a list
  bool part = false;     // not a box, but said of a place: the label is below that
  bool shown = true;     // false: only `obscure` counts
  Obscure obscure = Obscure::kNo;
  int color = 0;     // of the class or the track
  std::string text;  // UTF-8 of one line; empty: no label
  std::vector<objects::Point> outline, points;
  std::string skeleton;
  MaskCells mask;
};

/// More points and corners than these are not drawn of an object.
constexpr size_t kMostPoints = 1000, kMostCorners = 256;
/// Points of less confidence are not drawn: the network did not see them.
constexpr float kLeastPointConfidence = 0.3f;

/// The text that is written at an object.
struct Caption {
  std::string label;
  double confidence = -1;  // below 0: none is known
  std::string text;        // what is written there; stands in the place of the label
  std::vector<objects::Number> numbers;
  uint64_t track = 0;  // 0: it is none
};

struct CaptionSettings {
  bool labels = true, confidence = true, tracks = true;
};

/// The caption as one line, within limits, whatever the parts are.
std::string line_of(const Caption& caption, const CaptionSettings& settings);

/// Everything of an object. The mask's cells stay the object's, which must live as long.
Item item_of(const objects::Object& object, const CaptionSettings& settings);

}  // namespace dvnn::draw
