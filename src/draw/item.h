// SPDX-License-Identifier: Apache-2.0
// One thing to draw: an object, and how it is to be seen.
#pragma once

#include <cstdint>
#include <string>

#include "objects/object.h"

namespace dvnn::draw {

/// The treatment of the frame's own pixels under an object.
enum class Obscure : uint8_t { kNo, kBlur, kPixelate };

struct Item {
  // In pixels of the frame, anywhere and of any size: it is clipped to the frame.
  objects::Object object;
  bool shown = true;  // false: only `obscure` counts
  Obscure obscure = Obscure::kNo;
  int color = 0;        // of the class or the track
  std::string caption;  // UTF-8 of one line; empty: none

  /// Whether it is drawn as a box. The captions of others are a list at the top left corner, if
  /// they do not belong to a place.
  bool is_box() const { return object.kind == objects::Kind::kDetection; }
  /// Whether it is said of another object or of a region of a list: its caption is below that.
  bool is_part() const;
};

/// More points and corners than these are not drawn of an object.
constexpr size_t kMostPoints = 1000, kMostCorners = 256;
/// Points of less confidence are not drawn: the network did not see them.
constexpr float kLeastPointConfidence = 0.3f;

struct CaptionSettings {
  bool labels = true, confidence = true, tracks = true;
};

/// What is written at an object, as one line, within limits, whatever its label and text are. A
/// confidence below 0 is not known.
std::string caption_of(const objects::Object& object, const CaptionSettings& settings);

/// Everything of an object, within limits, in the colour of its class.
Item item_of(objects::Object object, const CaptionSettings& settings);

}  // namespace dvnn::draw
