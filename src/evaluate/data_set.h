// SPDX-License-Identifier: Apache-2.0
// Pictures and what people say that they show, whatever the form of the annotations; and what a
// network has found in them. Networks are measured by comparing the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects/object.h"

namespace dvnn::evaluate {

/// A box as annotations have it: the upper left corner and the size, in pixels of the picture.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;

  double area() const { return width * height; }
};

/// Something that a network should find.
struct Truth {
  int class_id = 0;  // index into DataSet::classes
  Box box;
  double area = 0;  // of the outline if the annotations have one, else of the box
  bool crowd =
      false;  // many objects in one box: whatever is found in it is neither right nor wrong
  bool ignored = false;  // an object that nobody has to find ("difficult")
  // Key points, or none. The confidence is 0 for points that were not annotated.
  std::vector<objects::Point> points;
};

struct Picture {
  std::string path;
  int64_t id = 0;             // as the annotations number it; 0 where they do not
  int width = 0, height = 0;  // pixels; 0: not known before the picture is read
  bool in_fractions = false;  // boxes, areas and points are fractions of the picture's sides
  int class_id = -1;          // what the whole picture shows; -1: it is not said
  std::string mask;           // a picture of the class of each pixel; empty: there is none
  std::vector<Truth> truths;
};

/// The forms of annotations. kFind: what lies there decides.
enum class Annotations : uint8_t { kFind, kCoco, kYolo, kVoc, kFolders, kMasks };

struct DataSet {
  Annotations kind = Annotations::kFind;
  std::string source;  // the file or folder that was read
  std::vector<std::string> classes;
  bool named = true;               // false: the classes have numbers alone
  std::vector<int64_t> class_ids;  // as COCO's annotations number them; else empty
  std::vector<Picture> pictures;   // in the order of their ids, or of their paths
};

/// Something that a network has found.
struct Found {
  int class_id =
      0;  // index into DataSet::classes; -1: none of them, which only classifiers may say
  double score = 0;
  Box box;
  std::vector<objects::Point> points;
};

/// What was found in each picture of a data set, in the order of its pictures.
using FoundByPicture = std::vector<std::vector<Found>>;

/// The overlap of two boxes: intersection over union. With a crowd, of which it is only known that
/// an object in it is a part, intersection over the area of `found`.
double overlap(const Box& found, const Box& truth, bool crowd);

}  // namespace dvnn::evaluate
