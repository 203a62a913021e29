// SPDX-License-Identifier: Apache-2.0
// Operators that take a part of a tensor, or sample it at other places.
#include <limits>

#include "base/format.h"
#include "base/nth.h"
#include "import/options.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
constexpr int64_t kBeforeFirst = std::numeric_limits<int64_t>::min();

// The part of each axis, in ONNX's terms.
struct Part {
  std::vector<int64_t> begin, end, step;
  std::vector<int64_t> gone;   // axes of which one index is taken, and which are removed
  std::vector<int64_t> added;  // new axes of the result
};

Result<std::string> cut(const TfliteNode& node, const std::string& in, const Part& part) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < part.begin.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return node.run("Slice", {in, node.list(part.begin), node.list(part.end), node.list(axes),
                            node.list(part.step)});
}

// Cuts a part without removed or new axes from a picture or another tensor.
Status cut_in_order(const TfliteNode& node, Part part) {
  const bool picture = node.is_picture(0);
  DVNN_ASSIGN(const std::string in, picture ? node.picture(0) : node.plain(0));
  if (picture) {
    part.begin = tflite_picture_order(part.begin);
    part.end = tflite_picture_order(part.end);
    part.step = tflite_picture_order(part.step);
  }
  return node.done_at(0, cut(node, in, part), picture);
}

// One entry of the lists of STRIDED_SLICE.
struct Entry {
  int64_t begin, end, step;
  bool from_start, to_end, shrinks, is_new, rest;
};

void add_whole(Part* part) {
  part->begin.push_back(0);
  part->end.push_back(kEnd);
  part->step.push_back(1);
}

Status add_entry(const Entry& entry, int64_t size, Part* part) {
  if (entry.step == 0) return malformed("step 0 goes nowhere");
  const bool back = entry.step < 0;
  int64_t begin = entry.from_start ? (back ? kEnd : 0) : entry.begin;
  int64_t end = entry.to_end ? (back ? kBeforeFirst : kEnd) : entry.end, step = entry.step;
  if (entry.shrinks) {
    begin = entry.begin < 0 ? entry.begin + size : entry.begin;
    if (begin < 0 || begin >= size) {
      return malformed(format("index %lld does not exist among %lld",
                              static_cast<long long>(entry.begin), static_cast<long long>(size)));
    }
    end = begin + 1, step = 1;
    part->gone.push_back(static_cast<int64_t>(part->begin.size()));
  }
  part->begin.push_back(begin);
  part->end.push_back(end);
  part->step.push_back(step);
  return {};
}

Result<Part> part_of(const std::vector<Entry>& entries, const std::vector<int64_t>& dims) {
  size_t own = 0;  // number of entries that stand for one axis
  for (const Entry& entry : entries) own += entry.is_new || entry.rest ? 0 : 1;
  if (own > dims.size()) {
    return malformed(format("takes parts along %zu axes of %zu", own, dims.size()));
  }
  Part part;
  int64_t made = 0;  // number of axes of the result
  for (const Entry& entry : entries) {
    if (entry.is_new) {
      part.added.push_back(made++);
    } else if (entry.rest) {
      for (size_t i = own; i < dims.size(); ++i, ++made) add_whole(&part);
      own = dims.size();
    } else {
      DVNN_TRY(add_entry(entry, nth(dims, part.begin.size()), &part));
      made += entry.shrinks ? 0 : 1;
    }
  }
  while (part.begin.size() < dims.size()) add_whole(&part);
  return part;
}

bool has_bit(int mask, size_t bit) {
  return bit < 32 && ((static_cast<unsigned>(mask) >> bit) & 1) != 0;
}

Result<std::vector<Entry>> entries_of(const TfliteNode& node) {
  static const tfl::StridedSliceOptions* const kNone = nullptr;
  const auto* o = node.op().options_as_StridedSliceOptions();
  DVNN_ASSIGN(const auto begin, node.ints(1));
  DVNN_ASSIGN(const auto end, node.ints(2));
  DVNN_ASSIGN(const auto step, node.ints(3));
  if (begin.size() != end.size() || begin.size() != step.size()) {
    return malformed("begins, ends and steps differ in length");
  }
  std::vector<Entry> entries;
  for (size_t i = 0; i < begin.size(); ++i) {
    Entry entry = {begin[i], end[i], step[i], false, false, false, false, false};
    if (o != kNone) {
      if (o->offset() && __builtin_add_overflow(entry.begin, entry.end, &entry.end)) {
        return malformed("ends behind all numbers");
      }
      entry.rest = has_bit(o->ellipsis_mask(), i);
      entry.is_new = !entry.rest && has_bit(o->new_axis_mask(), i);
      entry.shrinks = has_bit(o->shrink_axis_mask(), i);
      entry.from_start = has_bit(o->begin_mask(), i);
      entry.to_end = has_bit(o->end_mask(), i);
    }
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace

Status import_tflite_strided_slice(const TfliteNode& node) {
  DVNN_ASSIGN(const auto entries, entries_of(node));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  DVNN_ASSIGN(const Part part, part_of(entries, dims));
  if (part.gone.empty() && part.added.empty()) return cut_in_order(node, part);
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(std::string made, cut(node, in, part));
  if (!part.gone.empty()) {
    DVNN_ASSIGN(made, node.run("Squeeze", {made, node.list(part.gone)}));
  }
  if (!part.added.empty()) {
    DVNN_ASSIGN(made, node.run("Unsqueeze", {made, node.list(part.added)}));
  }
  return node.done(made);
}

Status import_tflite_slice(const TfliteNode& node) {
  DVNN_ASSIGN(const auto begin, node.ints(1));
  DVNN_ASSIGN(const auto size, node.ints(2));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  if (begin.size() != dims.size() || size.size() != dims.size()) {
    return malformed("begins and sizes are not as many as the dimensions");
  }
  Part part;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t rest = begin[i] < 0 || begin[i] > dims[i] ? 0 : dims[i] - begin[i];
    const int64_t count = size[i] == -1 ? rest : size[i];
    if (count < 1 || count > rest) {
      return malformed(format("takes %lld from %lld on of %lld", static_cast<long long>(size[i]),
                              static_cast<long long>(begin[i]), static_cast<long long>(dims[i])));
    }
    part.begin.push_back(begin[i]);
    part.end.push_back(begin[i] + count);
    part.step.push_back(1);
  }
  return cut_in_order(node, part);
}

Status import_tflite_reverse(const TfliteNode& node) {
  DVNN_ASSIGN(const auto axes, node.ints(1));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  Part part;
  for (size_t i = 0; i < dims.size(); ++i) add_whole(&part);
  for (int64_t axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, dims.size()));
    nth(part.begin, axis) = kEnd;
    nth(part.end, axis) = kBeforeFirst;
    nth(part.step, axis) = -1;
  }
  return cut_in_order(node, part);
}

Status import_tflite_resize(const TfliteNode& node) {
  const bool linear = node.type() == "RESIZE_BILINEAR";
  const auto* bilinear = node.op().options_as_ResizeBilinearOptions();
  const auto* nearest = node.op().options_as_ResizeNearestOptions();
  const bool corners =
      (bilinear && bilinear->align_corners()) || (nearest && nearest->align_corners());
  const bool centres =
      (bilinear && bilinear->half_pixel_centers()) || (nearest && nearest->half_pixel_centers());
  if (corners && centres) {
    return unsupported("says both align_corners and half_pixel_centers, which no exporter writes");
  }
  DVNN_ASSIGN(const auto size, node.ints(1));
  DVNN_ASSIGN(const std::string in, node.picture(0));
  const auto dims = node.dims_of(in);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return malformed("the new size is " + given_shape_text(size));
  }
  // Nearest neighbours: half pixels are rounded down after half a step, corners to the nearest.
  const char* coordinates = corners    ? "align_corners"
                            : !centres ? "asymmetric"
                            : linear   ? "half_pixel"
                                       : "tf_half_pixel_for_nn";
  const OnnxAttributes attributes = {
      {"mode", std::string(linear ? "linear" : "nearest")},
      {"coordinate_transformation_mode", std::string(coordinates)},
      {"nearest_mode", std::string(corners ? "round_prefer_ceil" : "floor")}};
  // A whole scale fits pictures of other sizes, too.
  const bool whole = !corners && size[0] % dims[2] == 0 && size[1] % dims[3] == 0;
  if (!whole) {
    const std::string sizes = node.list({dims[0], dims[1], size[0], size[1]});
    return node.done_picture(node.run("Resize", {in, "", "", sizes}, attributes));
  }
  OnnxConstant scales;
  scales.dims = {4};
  scales.values = {1, 1, static_cast<double>(size[0] / dims[2]),
                   static_cast<double>(size[1] / dims[3])};
  return node.done_picture(
      node.run("Resize", {in, "", node.numbers(std::move(scales))}, attributes));
}

}  // namespace dvnn::import
