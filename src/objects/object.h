// SPDX-License-Identifier: Apache-2.0
// The one value type for everything that a network finds in a frame: decoders return it, frames
// carry it (gst/meta/objectvalue.h), and messages, documents, the overlay and the tools take it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/span.h"
#include "image/view.h"
#include "objects/mask_cells.h"

namespace dvnn::objects {

enum class Kind : uint8_t {
  kDetection,       // a thing that has a place
  kClassification,  // what the whole of the network's input shows
  kSegmentation,    // which class each part of the input is of: a map
  kAttributes,      // what is known of the whole: points, text, numbers, an embedding
};

/// A key point, in the coordinates of the object's box. Points that the network did not see are
/// there, too, with the confidence 0, so that a point's index says what it is.
struct Point {
  double x = 0, y = 0;
  float confidence = 1;  // 0..1
};

/// A picture of an object or of all classes, a byte per cell, rows from the top.
struct Mask {
  image::Corners place;       // what the mask covers, in the coordinates of the object's box
  int width = 0, height = 0;  // cells; 0: there is no mask
  // Detections: how surely the cell belongs to the object, 255 is surest, 128 the edge. Maps: index
  // of the cell's class.
  MaskCells cells;

  /// Whether there are as many cells as the mask says.
  bool there() const;
};

/// A number that a network estimates, such as an age in years.
struct Number {
  std::string name;
  double value = 0;
};

// A new member needs its place in three functions, which name them all and do not compile without
// it: read_object() and write_object() of gst/meta/objectvalue.cpp, and the JSON of an object in
// publish/document.cpp.
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
  uint64_t track_id = 0;   // 0: not tracked
  bool predicted = false;  // no network has seen it in this frame: its track expects it there
  uint32_t region = 0;     // index of the region of the frame that the network was shown
  // The name of that region in a list, and of the network; empty where they are not known.
  std::string region_name, network;
  // The corners of an oriented box or of a polygon, in order around it; empty where the box is all
  // that is known. The first edge of text is above it.
  std::vector<Point> outline;
  std::vector<Point> points;  // key points, in the order of `skeleton`
  std::string skeleton;       // the set that the points are of: "coco-17", "face-5"; may be empty
  Mask mask;
  std::string text;              // what is written there, UTF-8
  std::string text_format;       // the kind of the code that it was read from: "QR-Code"
  std::vector<float> embedding;  // as the decoder says it is normalised
  std::vector<Number> numbers;

  /// Makes it as new, but for the memory that it has.
  void reset();
};

/// What "detection", "classification", "segmentation" and "attributes" are called in documents.
const char* kind_name(Kind kind);

/// Whether it is known where the object is: its box has an area, and is of finite numbers.
bool has_box(const Object& object);

/// Details that only some objects have, as flags: a caller that needs few of them reads no others.
enum Detail : unsigned {
  kPoints = 1 << 0,
  kOutlines = 1 << 1,
  kMasks = 1 << 2,
  kTexts = 1 << 3,
  kEmbeddings = 1 << 4,
  kNumbers = 1 << 5,
};

/// Objects in a row. Those that are taken out leave their memory to those that come: a caller that
/// keeps a row for frame after frame allocates until it has seen the largest one.
class Objects {
 public:
  Objects() = default;
  Objects(std::initializer_list<Object> objects) : all_(objects), size_(all_.size()) {}
  Objects(Objects&& other) noexcept { swap(&other); }
  Objects& operator=(Objects&& other) noexcept {
    swap(&other);
    return *this;
  }
  Objects(const Objects& other) : all_(other.begin(), other.end()), size_(all_.size()) {}
  Objects& operator=(const Objects& other) { return *this = Objects(other); }
  ~Objects() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Object* begin() { return all_.data(); }
  Object* end() { return all_.data() + size_; }
  const Object* begin() const { return all_.data(); }
  const Object* end() const { return all_.data() + size_; }
  Object& operator[](size_t i) { return all_[i]; }
  const Object& operator[](size_t i) const { return all_[i]; }
  Object& back() { return all_[size_ - 1]; }
  operator Span<const Object>() const { return {all_.data(), size_}; }  // NOLINT: implicit

  /// A new object at the end.
  Object& add();
  void push_back(Object object) { add() = std::move(object); }
  /// Takes the last object out again.
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// Moves all objects of the other row to the end of this one.
  void take(Objects* other);
  /// Takes out those for which `unwanted` is true; the others keep their order.
  template <typename Unwanted>
  void remove_if(Unwanted unwanted) {
    size_t kept = 0;
    for (size_t i = 0; i < size_; ++i) {
      if (unwanted(all_[i])) continue;
      if (i != kept) std::swap(all_[i], all_[kept]);
      ++kept;
    }
    size_ = kept;
  }
  /// Puts the objects from `first` on in order, the most confident one first; of equals, the first.
  void sort_from(size_t first);

 private:
  void swap(Objects* other) {
    all_.swap(other->all_);
    order_.swap(other->order_);
    std::swap(size_, other->size_);
  }

  std::vector<Object> all_;  // those from size_ on are memory
  size_t size_ = 0;
  std::vector<uint32_t> order_;
};

/// The label of a class, "class N" where the network has none for it.
std::string label_of(Span<const std::string> labels, int class_id);

/// Gives every object the label of its class.
void set_labels(Span<const std::string> labels, Objects* objects);

}  // namespace dvnn::objects
