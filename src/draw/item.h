// SPDX-License-Identifier: Apache-2.0
// An object together with how it is to be drawn.
#pragma once

#include <cstdint>
#include <string>

#include "objects/object.h"

namespace dvnn::draw {

/// How the frame's own pixels under an object are made unrecognisable.
enum class Obscure : uint8_t { kNo, kBlur, kPixelate };

struct Item {
  // In pixels of the frame; may be larger than the frame, to which it is clipped.
  objects::Object object;
  bool shown = true;  // false: it is only obscured
  Obscure obscure = Obscure::kNo;
  int color = 0;        // number of the class or track
  std::string caption;  // one line of UTF-8; empty: none

  /// Whether it is drawn as a box. Captions of other items are listed in the top left corner,
  /// unless is_part().
  bool is_box() const { return object.kind == objects::Kind::kDetection; }
  /// Whether it describes another object or a region of a list, below which its caption is then
  /// drawn.
  bool is_part() const;
};

/// Most points and corners that are drawn of an object.
constexpr size_t kMostPoints = 1000, kMostCorners = 256;
/// Points with less confidence are not drawn, as the network did not see them.
constexpr float kLeastPointConfidence = 0.3f;

struct CaptionSettings {
  bool labels = true;
  bool confidence = true;  // also of several looks together, and how many they are: 99%/3
  bool tracks = true;
};

/// Returns an object's caption: one line of limited length, whatever label and text contain. A
/// negative confidence means unknown.
std::string caption_of(const objects::Object& object, const CaptionSettings& settings);

/// Returns an object as an item in the colour of its class, with limits on its details.
Item item_of(objects::Object object, const CaptionSettings& settings);

}  // namespace dvnn::draw
