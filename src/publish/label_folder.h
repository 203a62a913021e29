// SPDX-License-Identifier: Apache-2.0
// A folder of pictures with boxes in YOLO's form, which annotation tools and `dvnet evaluate` read:
// images/NAME.jpg, labels/NAME.txt with a line `class x y width height` for each box, in fractions
// of the picture, and classes.txt with the classes' names. It never grows beyond its bounds, and
// nothing in it is changed but for classes that are added at the end of classes.txt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "publish/document.h"

namespace dvnn::publish {

/// A box in the pixels of its frame.
struct LabelledBox {
  std::string label;
  image::Corners corners;
};

/// A picture, of which Picture::box is the part of the frame that it shows.
struct LabelledPicture {
  Picture picture;
  std::vector<LabelledBox> boxes;
};

class LabelFolder {
 public:
  struct Bounds {
    uint64_t most_pictures = 0, most_bytes = 0;
  };

  /// Opens a folder, which has to exist; what lies in its folders `images` and `labels` counts.
  static Result<LabelFolder> open(const std::string& path, const Bounds& bounds);

  /// Returns why no picture may be added any more; empty if one may be.
  std::string why_full() const;
  /// Adds a picture. Boxes, or their parts, outside the picture are left out. Returns false, and
  /// adds nothing, if the picture would exceed the bounds.
  Result<bool> add(LabelledPicture picture, const std::string& name);

 private:
  Result<size_t> class_of(const std::string& label);

  std::string path_;
  Bounds bounds_;
  uint64_t pictures_ = 0, bytes_ = 0;
  bool full_ = false;  // a picture did not fit
  std::vector<std::string> classes_;
};

}  // namespace dvnn::publish
