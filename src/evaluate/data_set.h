// SPDX-License-Identifier: Apache-2.0
// Annotated pictures, whatever the form of the annotations, and what a network has found in them.
// Networks are evaluated by comparing the two.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "objects/object.h"

namespace dvnn::evaluate {

/// A box as annotations have it: the upper left corner and the size, in pixels of the picture.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;

  double area() const { return width * height; }
};

struct RunLengths;  // run_lengths.h

/// An annotated object, which a network should find.
struct Truth {
  int class_id = 0;  // index into DataSet::classes
  Box box;
  double area = 0;  // of the outline if the annotations have one, else of the box
  // Many objects in one box: objects found in it are neither right nor wrong.
  bool crowd = false;
  bool ignored = false;  // need not be found ("difficult")
  // Key points, or none. The confidence is 0 for points that were not annotated.
  std::vector<objects::Point> points;
  int64_t track = 0;                       // the object's number in its sequence; 0: none
  std::shared_ptr<const RunLengths> mask;  // null: none was annotated
};

struct Picture {
  std::string path;
  int64_t id = 0;             // the annotations' number; 0: none
  int width = 0, height = 0;  // pixels; 0: not known before the picture is read
  bool in_fractions = false;  // boxes, areas and points are fractions of the picture's sides
  int class_id = -1;          // class of the whole picture; -1: unknown
  std::string mask;           // path of a picture with each pixel's class; empty: none
  std::string text;           // what is written on it, UTF-8
  std::vector<Truth> truths;
};

/// Forms of annotations. kFind: guess by the files that are there.
enum class Annotations : uint8_t { kFind, kCoco, kYolo, kVoc, kFolders, kMasks, kTexts, kMot };

/// Pictures that are the frames of a stream, in which objects have numbers.
struct Sequence {
  std::string name, folder;
  size_t first = 0, count = 0;  // its pictures in the data set
  double rate = 25;             // frames per second
  int width = 0, height = 0;    // pixels; 0: not known before a picture is read
  // By frame: annotated boxes that are neither to be found nor to be ignored, such as cars where
  // pedestrians are followed.
  std::vector<std::vector<Box>> others;
};

struct DataSet {
  Annotations kind = Annotations::kFind;
  std::string source;  // the file or folder that was read
  std::vector<std::string> classes;
  bool named = true;                // false: the classes have only numbers
  std::vector<int64_t> class_ids;   // numbers of the classes in COCO's annotations; else empty
  std::vector<Picture> pictures;    // in the order of their ids, or of their paths
  std::vector<Sequence> sequences;  // of all pictures, or none
};

/// An object that a network has found.
struct Found {
  // Index into DataSet::classes; -1: none of them, which only classifiers may say.
  int class_id = 0;
  double score = 0;
  Box box;
  std::vector<objects::Point> points;
  std::shared_ptr<const RunLengths> mask = {};  // null: none
};

/// Found objects of each picture of a data set, in the order of its pictures.
using FoundByPicture = std::vector<std::vector<Found>>;

/// A followed object in a frame.
struct Followed {
  int class_id = 0;   // index into DataSet::classes
  int64_t track = 0;  // number of the track in its sequence
  Box box;
};
using FollowedByPicture = std::vector<std::vector<Followed>>;

/// Returns the overlap of two boxes: intersection over union. For a crowd, in whose box an object
/// lies somewhere, intersection over the area of `found`.
double overlap(const Box& found, const Box& truth, bool crowd);

}  // namespace dvnn::evaluate
