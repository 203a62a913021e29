// SPDX-License-Identifier: Apache-2.0
// The one value type for everything that a network finds in a frame. Decoders return it, and the
// plugin's metadata, the overlay and the tools are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/span.h"
#include "image/view.h"

namespace dvnn::objects {

enum class Kind : uint8_t {
  kDetection,       // a thing that has a place
  kClassification,  // what the whole of the network's input shows
};

struct Object {
  // Names of the object and of the object that it is a part of; 0: none was given yet. The plugin
  // gives them, so that they are unique in the process.
  uint64_t id = 0, parent = 0;
  Kind kind = Kind::kDetection;
  int class_id = 0;      // index into the network's labels
  std::string label;     // empty until set_labels()
  float confidence = 0;  // 0..1
  float raw_score = 0;   // classifications: the network's own number, before any softmax
  // Decoders return boxes as fractions of the network's input: (0, 0) is its top left corner, (1,
  // 1) its bottom right one. map_to_frame() makes pixels of a frame of them.
  image::Corners box;
  uint64_t track_id = 0;  // 0: not tracked
};

using Objects = std::vector<Object>;

/// The label of a class, "class N" where the network has none for it.
std::string label_of(Span<const std::string> labels, int class_id);

/// Gives every object the label of its class.
void set_labels(Span<const std::string> labels, Objects* objects);

}  // namespace dvnn::objects
