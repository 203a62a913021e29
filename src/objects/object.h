// SPDX-License-Identifier: Apache-2.0
// The one value type for everything that networks find in a frame. Decoders return it, frames carry
// it (gst/meta/objectvalue.h), and messages, documents, the overlay and the tools use it. It is
// mapped from the network's input to the frame here: no other code changes the coordinates of
// objects.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/span.h"
#include "image/view.h"

namespace dvnn::objects {

/// The cells of a mask: memory of its own, which is reused, or shared memory, because masks may be
/// as large as frames.
class MaskCells {
 public:
  MaskCells() = default;
  MaskCells(std::initializer_list<uint8_t> cells) : own_(cells), size_(cells.size()) {}
  /// Allocates `count` cells of its own for the caller to write.
  uint8_t* resize(size_t count) {
    shared_.reset();
    own_.resize(count);
    size_ = count;
    return own_.data();
  }
  /// Shares `count` cells with other owners. None of them may change the cells from now on.
  void share(std::shared_ptr<const uint8_t> cells, size_t count) {
    clear();
    shared_ = std::move(cells);
    size_ = shared_ ? count : 0;
  }
  /// Removes the cells, but keeps its own memory for the next ones.
  void clear() {
    shared_.reset();
    own_.clear();
    size_ = 0;
  }

  const uint8_t* data() const { return shared_ ? shared_.get() : own_.data(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const uint8_t* begin() const { return data(); }
  const uint8_t* end() const { return data() + size_; }
  uint8_t operator[](size_t i) const { return data()[i]; }

 private:
  std::vector<uint8_t> own_;
  std::shared_ptr<const uint8_t> shared_;
  size_t size_ = 0;
};

enum class Kind : uint8_t {
  kDetection,       // an object with a place
  kClassification,  // a class of the whole input
  kSegmentation,    // the class of each cell of the input: a map
  kAttributes,      // details of the whole input: points, text, numbers, an embedding
};

/// A key point, in the coordinates of the object's box. Points that the network did not see are
/// included with confidence 0, so that the index tells which point it is.
struct Point {
  double x = 0, y = 0;
  float confidence = 1;  // 0..1
};

/// A picture of an object or of all classes: one byte per cell, rows from top to bottom.
struct Mask {
  image::Corners place;  // the area that the mask covers, in the coordinates of the object's box
  int width = 0, height = 0;  // in cells; 0: no mask
  // Of detections: confidence that the cell is the object's; 255 is certain, 128 the edge. Of maps:
  // index of the cell's class.
  MaskCells cells;

  /// Whether there is a mask with the right number of cells.
  bool there() const;
};

/// A number that a network estimates, such as an age in years.
struct Number {
  std::string name;
  double value = 0;
};

/// How a tracked object moves on the ground. Axes are those of the ground's description.
struct Movement {
  double x = 0, y = 0;         // metres
  double deviation = 0;        // standard deviation of x and of y, metres
  double speed = 0;            // metres per second
  double speed_deviation = 0;  // its standard deviation
  // Degrees, clockwise from the y axis to the x axis, [0, 360). It means little while the speed is
  // less than twice its deviation.
  double heading = 0;

  /// Whether the speed is known well enough to be told: within 0.3 m/s or a quarter of it.
  bool knows_speed() const { return speed_deviation < std::max(0.3, 0.25 * speed); }
};

/// How far several looks at an object agree (src/agree).
struct Agreement {
  uint32_t looks = 0;     // 0: looks are not compared
  float probability = 0;  // that the reading is right, 0..1
  bool reached = false;   // whether the looks agree
};

/// Who an object is, by a gallery of embeddings (src/match).
struct Identity {
  std::string name;       // empty: a stranger, or nobody knows
  uint64_t stranger = 0;  // number of a stranger; 0: none
  float likeness = 0;     // cosine to what is kept of it, -1..1
  bool agreed = false;    // whether enough looks agree

  bool is_known() const { return !name.empty() || stranger > 0; }
};

// A new member must be added to three functions, which name all members and do not compile
// otherwise: read_object() and write_object() of gst/meta/objectvalue.cpp, and the JSON of an
// object in publish/document.cpp.
struct Object {
  // Ids of the object and of the object that it is a part of; 0: none yet. The plugin assigns them,
  // unique in the process.
  uint64_t id = 0, parent = 0;
  Kind kind = Kind::kDetection;
  int class_id = 0;      // index into the network's labels
  std::string label;     // empty until set_labels()
  float confidence = 0;  // 0..1
  float raw_score = 0;   // of classifications: the network's value before any softmax
  // Decoders return fractions of the network's input, from (0, 0) at its top left to (1, 1) at its
  // bottom right. map_to_frame() converts them to pixels of the frame.
  image::Corners box;
  uint64_t track_id = 0;   // 0: not tracked
  bool predicted = false;  // no network has seen it in this frame; its track expects it there
  uint32_t region = 0;     // index of the frame's region in which it was seen
  // Names of that region of a list, and of the network; empty if unknown.
  std::string region_name, network;
  // Corners of an oriented box or polygon, in order around it; empty if only the box is known. The
  // first edge of text is above it.
  std::vector<Point> outline;
  std::vector<Point> points;  // key points, in the order of `skeleton`
  std::string skeleton;       // name of the set of points: "coco-17", "face-5"; may be empty
  Mask mask;
  std::string text;         // the text that was read, UTF-8
  std::string text_format;  // of a code: "QR-Code"
  // Confidence of each character of `text`, from decoders that know it; else empty. Frames hold
  // none.
  std::vector<float> text_confidences;
  std::vector<float> embedding;  // normalised as the decoder documents
  std::vector<Number> numbers;
  std::optional<Movement> ground;  // how it moves on the ground, which dvzones knows
  Agreement agreement;             // of its class, or of its text, embedding and numbers
  Identity identity;               // who it is, which dvmatch knows

  /// Resets all members, but keeps their memory.
  void reset();
};

/// Returns the name of a kind in documents: "detection", "classification", "segmentation",
/// "attributes".
const char* kind_name(Kind kind);

/// Whether the object's place is known: its box is finite and has an area.
bool has_box(const Object& object);

/// Removes from an object what its looks do not agree on yet: text, embedding, numbers, and who it
/// is. Returns false if nothing of it remains: it is a class, or only had those. Objects whose
/// looks are not compared stay as they are.
bool keep_agreed(Object* object);

/// Details that only some objects have, as flags, so that a caller reads only those that it needs.
enum Detail : unsigned {
  kPoints = 1 << 0,
  kOutlines = 1 << 1,
  kMasks = 1 << 2,
  kTexts = 1 << 3,
  kEmbeddings = 1 << 4,
  kNumbers = 1 << 5,
};

/// A list of objects. Removed objects leave their memory to new ones, so a list that is reused for
/// each frame stops allocating after the largest one.
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

  /// Appends a new object.
  Object& add();
  void push_back(Object object) { add() = std::move(object); }
  /// Removes the last object.
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// Moves all objects of another list to the end of this one.
  void take(Objects* other);
  /// Removes the objects for which `unwanted` returns true; the others keep their order.
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
  /// Sorts the objects from `first` on by descending confidence; equal ones keep their order.
  void sort_from(size_t first);

 private:
  void swap(Objects* other) {
    all_.swap(other->all_);
    order_.swap(other->order_);
    std::swap(size_, other->size_);
  }

  std::vector<Object> all_;  // from size_ on: unused objects, kept for their memory
  size_t size_ = 0;
  std::vector<uint32_t> order_;
};

/// Returns the label of a class, or "class N" if there is none.
std::string label_of(Span<const std::string> labels, int class_id);

/// Sets the label of every object to that of its class.
void set_labels(Span<const std::string> labels, Objects* objects);

/// Maps places in the network's input to places in the frame.
struct FrameMap {
  image::Transform transform;               // from the frame's pixels to the input's
  image::Size input;                        // the input's size in pixels
  std::optional<image::Corners> clip = {};  // part of the frame at whose edges boxes are cut
};

/// Converts boxes, outlines, points and places of masks from fractions of the network's input to
/// pixels of the frame. With `clip`, boxes are cut at its edges, and objects without a remaining
/// part are dropped, and so are boxes with NaN. Outlines, points and masks are not cut. If the view
/// turns or flips the frame, the cells of masks are turned back. If it shears the frame, the box
/// becomes the one around the parallelogram, whose corners become the outline of a detection
/// without one, and masks are dropped.
void map_to_frame(const FrameMap& map, Objects* objects);

/// Cuts a box at the edges of `bounds`. Returns false if nothing is left or the box has NaN.
bool clip_box(const image::Corners& bounds, image::Corners* box);

}  // namespace dvnn::objects
