// SPDX-License-Identifier: Apache-2.0
// Operators that move, join and repeat.
#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "import/options.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

// Returns the index of an axis of a tensor of `rank` dimensions; it may count from the end.
Result<int64_t> axis_of(int64_t axis, size_t rank) {
  return onnx_axis(axis, rank);
}

// Returns pads (before, after) per axis, as ONNX lists them.
Result<std::string> pads_of(const TfliteNode& node, bool picture) {
  DVNN_ASSIGN(const auto given, node.ints(1));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  if (given.size() != 2 * dims.size()) {
    return malformed(format("%zu pads for %zu dimensions", given.size(), dims.size()));
  }
  std::vector<int64_t> before, after;
  for (size_t i = 0; i < dims.size(); ++i) {
    before.push_back(given[2 * i]);
    after.push_back(given[2 * i + 1]);
  }
  if (picture) {
    before = tflite_picture_order(before);
    after = tflite_picture_order(after);
  }
  before.insert(before.end(), after.begin(), after.end());
  return node.list(before);
}

// Returns an input to move; for a picture, only the places of its axes differ.
Result<std::string> moved_input(const TfliteNode& node, bool picture) {
  return picture ? node.picture(0) : node.plain(0);
}

Status padded(const TfliteNode& node, const char* mode, const std::string& value) {
  const bool picture = node.is_picture(0);
  DVNN_ASSIGN(const std::string in, moved_input(node, picture));
  DVNN_ASSIGN(const std::string pads, pads_of(node, picture));
  std::vector<std::string> inputs = {in, pads};
  if (!value.empty()) inputs.push_back(value);
  return node.done_at(0, node.run("Pad", inputs, {{"mode", std::string(mode)}}), picture);
}

// Returns a tensor with the elements at both ends of an axis repeated in reverse order.
Result<std::string> with_mirrored_ends(const TfliteNode& node, const std::string& in, int64_t axis,
                                       int64_t before, int64_t after) {
  const int64_t size = nth(node.dims_of(in), axis);
  if (std::min(before, after) < 0 || std::max(before, after) > size) {
    return malformed("mirrors more than there is");
  }
  const auto turned = [&](int64_t first, int64_t count) {
    // An end of -1 would mean the last element.
    const int64_t end = first - count < 0 ? -size - 1 : first - count;
    return node.run("Slice",
                    {in, node.list({first}), node.list({end}), node.list({axis}), node.list({-1})});
  };
  std::vector<std::string> parts = {in};
  if (before > 0) {
    DVNN_ASSIGN(const std::string part, turned(before - 1, before));
    parts.insert(parts.begin(), part);
  }
  if (after > 0) {
    DVNN_ASSIGN(const std::string part, turned(size - 1, after));
    parts.push_back(part);
  }
  if (parts.size() == 1) return in;
  return node.run("Concat", parts, {{"axis", axis}});
}

// Symmetric padding repeats the outermost elements, which ONNX cannot express.
Status padded_symmetrically(const TfliteNode& node) {
  DVNN_ASSIGN(std::string at, node.plain(0));
  DVNN_ASSIGN(const auto pads, node.ints(1));
  const size_t rank = node.dims_of(at).size();
  if (pads.size() != 2 * rank) {
    return malformed(format("%zu pads for %zu dimensions", pads.size(), rank));
  }
  for (size_t i = 0; i < rank; ++i) {
    DVNN_ASSIGN(
        at, with_mirrored_ends(node, at, static_cast<int64_t>(i), pads[2 * i], pads[2 * i + 1]));
  }
  return node.done(at);
}

// Splits an input along an axis into parts of the given sizes.
Status split(const TfliteNode& node, int input, int64_t axis, const std::vector<int64_t>& sizes) {
  const bool picture = node.is_picture(input);
  DVNN_ASSIGN(const std::string in, picture ? node.picture(input) : node.plain(input));
  if (picture) axis = tflite_picture_axis(axis);
  if (static_cast<int>(sizes.size()) != node.outputs()) {
    return malformed(format("has %d outputs for %zu parts", node.outputs(), sizes.size()));
  }
  if (sizes.size() == 1) return node.done_at(0, in, picture);
  DVNN_ASSIGN(const auto made,
              node.run("Split", {in, node.list(sizes)}, {{"axis", axis}}, node.outputs()));
  for (int i = 0; i < node.outputs(); ++i) {
    DVNN_TRY(node.done_at(i, nth(made, i), picture));
  }
  return {};
}

Result<int64_t> one_number(const TfliteNode& node, int input, const char* what) {
  DVNN_ASSIGN(const auto list, node.ints(input));
  if (list.size() == 1) return list[0];
  return malformed(format("%s is %zu numbers, not one", what, list.size()));
}

}  // namespace

Status import_tflite_reshape(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  std::vector<int64_t> dims;
  const auto* o = node.op().options_as_ReshapeOptions();
  if (node.has(1)) {
    DVNN_ASSIGN(dims, node.ints(1));
  } else if (o && o->new_shape()) {
    dims = tflite_list(o->new_shape());
  } else {
    dims = tflite_list(node.output_tensor(0).shape());
  }
  return node.done(node.run("Reshape", {in, node.list(dims)}, {{"allowzero", int64_t{1}}}));
}

Status import_tflite_squeeze(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  const auto* o = node.op().options_as_SqueezeOptions();
  const std::vector<int64_t> axes = o ? tflite_list(o->squeeze_dims()) : std::vector<int64_t>();
  if (axes.empty()) return node.done(node.run("Squeeze", {in}));
  return node.done(node.run("Squeeze", {in, node.list(axes)}));
}

Status import_tflite_expand_dims(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const int64_t axis, one_number(node, 1, "the axis"));
  return node.done(node.run("Unsqueeze", {in, node.list({axis})}));
}

Status import_tflite_transpose(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const auto order, node.ints(1));
  return node.done(node.run("Transpose", {in}, {{"perm", order}}));
}

Status import_tflite_concatenation(const TfliteNode& node) {
  const auto* o = node.op().options_as_ConcatenationOptions();
  bool picture = false;  // if any is one, the others are moved
  for (int i = 0; i < node.inputs(); ++i) picture |= node.is_picture(i) && !node.is_constant(i);
  std::vector<std::string> inputs;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const std::string in, picture ? node.picture(i) : node.plain(i));
    inputs.push_back(in);
  }
  DVNN_ASSIGN(int64_t axis, axis_of(o ? o->axis() : 0, node.dims_of(inputs[0]).size()));
  if (picture) axis = tflite_picture_axis(axis);
  const auto made = node.activated(node.run("Concat", inputs, {{"axis", axis}}),
                                   o ? o->activation() : tfl::Activation::NONE);
  return node.done_at(0, made, picture);
}

Status import_tflite_pad(const TfliteNode& node) {
  std::string value;
  if (node.has(2)) {
    DVNN_ASSIGN(value, node.plain(2));
  }
  return padded(node, "constant", value);
}

Status import_tflite_mirror_pad(const TfliteNode& node) {
  const auto* o = node.op().options_as_MirrorPadOptions();
  const bool symmetric = o && o->mode() == tfl::MirrorMode::SYMMETRIC;
  if (symmetric) return padded_symmetrically(node);
  return padded(node, "reflect", "");
}

Status import_tflite_split(const TfliteNode& node) {
  const bool equal = node.type() == "SPLIT";
  const int data = equal ? 1 : 0;
  DVNN_ASSIGN(const int64_t given, one_number(node, equal ? 0 : 2, "the axis"));
  DVNN_ASSIGN(const auto dims, node.dims(data));
  DVNN_ASSIGN(const int64_t axis, axis_of(given, dims.size()));
  std::vector<int64_t> sizes;
  if (equal) {
    const int64_t parts = node.outputs(), size = nth(dims, axis);
    if (size % parts != 0) {
      return malformed(format("%lld cannot be split in %lld equal parts",
                              static_cast<long long>(size), static_cast<long long>(parts)));
    }
    sizes.assign(static_cast<size_t>(parts), size / parts);
  } else {
    DVNN_ASSIGN(sizes, node.ints(1));
    // One size may be -1: the rest.
    const int64_t whole = nth(dims, axis);
    int64_t rest = whole;
    for (int64_t size : sizes) {
      if (size < -1 || size > whole) {
        return malformed(format("a part has the size %lld, of %lld", static_cast<long long>(size),
                                static_cast<long long>(whole)));
      }
      rest -= std::max<int64_t>(size, 0);
    }
    for (int64_t& size : sizes) size = size == -1 ? rest : size;
  }
  return split(node, data, axis, sizes);
}

Status import_tflite_depth(const TfliteNode& node) {
  const bool to_space = node.type() == "DEPTH_TO_SPACE";
  const auto* o =
      to_space ? node.op().options_as_DepthToSpace() : node.op().options_as_SpaceToDepth();
  DVNN_ASSIGN(const std::string in, node.picture(0));
  const int64_t size = o ? o->block_size() : 0;
  return node.done_picture(
      node.run(to_space ? "DepthToSpace" : "SpaceToDepth", {in}, {{"blocksize", size}}));
}

Status import_tflite_pack(const TfliteNode& node) {
  const auto* o = node.op().options_as_PackOptions();
  DVNN_ASSIGN(const auto dims, node.dims(0));
  DVNN_ASSIGN(const int64_t axis, axis_of(o ? o->axis() : 0, dims.size() + 1));
  std::vector<std::string> inputs;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const std::string in, node.plain(i));
    DVNN_ASSIGN(const std::string row, node.run("Unsqueeze", {in, node.list({axis})}));
    inputs.push_back(row);
  }
  return node.done(node.run("Concat", inputs, {{"axis", axis}}));
}

Status import_tflite_unpack(const TfliteNode& node) {
  const auto* o = node.op().options_as_UnpackOptions();
  DVNN_ASSIGN(const auto dims, node.dims(0));
  DVNN_ASSIGN(const int64_t axis, axis_of(o ? o->axis() : 0, dims.size()));
  if (nth(dims, axis) != node.outputs()) {
    return malformed(format("has %d outputs of %lld rows", node.outputs(),
                            static_cast<long long>(nth(dims, axis))));
  }
  DVNN_ASSIGN(const std::string in, node.plain(0));
  for (int i = 0; i < node.outputs(); ++i) {
    DVNN_TRY(node.done_at(i, node.run("Gather", {in, node.number(i)}, {{"axis", axis}}), false));
  }
  return {};
}

Status import_tflite_tile(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const std::string repeats, node.plain(1));
  return node.done(node.run("Tile", {in, repeats}));
}

Status import_tflite_broadcast_to(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const std::string shape, node.plain(1));
  return node.done(node.run("Expand", {in, shape}));
}

Status import_tflite_broadcast_args(const TfliteNode& node) {
  DVNN_ASSIGN(auto a, node.ints(0));
  DVNN_ASSIGN(auto b, node.ints(1));
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) {
      return malformed("the shapes " + given_shape_text(a) + " and " + given_shape_text(b) +
                       " do not go together");
    }
    if (a[i] == 1) a[i] = b[i];
  }
  return node.done(node.list(a));
}

Status import_tflite_shape(const TfliteNode& node) {
  DVNN_ASSIGN(const auto dims, node.dims(0));
  return node.done(node.list(dims));
}

Status import_tflite_rank(const TfliteNode& node) {
  DVNN_ASSIGN(const auto dims, node.dims(0));
  OnnxConstant rank;
  rank.values = {static_cast<double>(dims.size())};
  rank.integral = true;
  return node.done(node.numbers(std::move(rank)));
}

Status import_tflite_fill(const TfliteNode& node) {
  DVNN_ASSIGN(const auto dims, node.ints(0));
  DVNN_ASSIGN(const auto value, node.constant(1));
  OnnxConstant filled;
  filled.dims = dims;
  filled.integral = value->integral;
  const int64_t count = element_count(dims);
  if (count < 0 || value->values.size() != 1) {
    return malformed("has impossible dimensions, or no value");
  }
  DVNN_TRY(node.importer().onnx.check_numbers(static_cast<uint64_t>(count)));
  filled.values.assign(static_cast<size_t>(count), value->values[0]);
  return node.done(node.numbers(std::move(filled)));
}

Status import_tflite_range(const TfliteNode& node) {
  std::vector<std::string> inputs;
  for (int i = 0; i < 3; ++i) {
    DVNN_ASSIGN(const std::string in, node.plain(i));
    inputs.push_back(in);
  }
  return node.done(node.run("Range", inputs));
}

Status import_tflite_one_hot(const TfliteNode& node) {
  const auto* o = node.op().options_as_OneHotOptions();
  DVNN_ASSIGN(const std::string places, node.plain(0));
  DVNN_ASSIGN(const int64_t depth, one_number(node, 1, "the depth"));
  DVNN_ASSIGN(const auto on, node.constant(2));
  DVNN_ASSIGN(const auto off, node.constant(3));
  if (on->values.size() != 1 || off->values.size() != 1) {
    return malformed("its two values are no numbers");
  }
  OnnxConstant values;
  values.dims = {2};
  values.values = {off->values[0], on->values[0]};
  const int64_t axis = o ? o->axis() : -1;
  return node.done(node.run("OneHot", {places, node.list({depth}), node.numbers(std::move(values))},
                            {{"axis", axis}}));
}

Status import_tflite_gather(const TfliteNode& node) {
  const auto* o = node.op().options_as_GatherOptions();
  if (o && o->batch_dims() != 0) {
    return unsupported(format("its batch_dims is %d, which must be 0", o->batch_dims()));
  }
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const std::string places, node.plain(1));
  const int64_t axis = o ? o->axis() : 0;
  return node.done(node.run("Gather", {in, places}, {{"axis", axis}}));
}

Status import_tflite_gather_nd(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const std::string places, node.plain(1));
  return node.done(node.run("GatherND", {in, places}));
}

// --- a picture's shifted parts ------------------------------------------------------------------

Status import_tflite_space_to_batch(const TfliteNode& node) {
  DVNN_ASSIGN(const auto block, node.ints(1));
  DVNN_ASSIGN(const auto pads, node.ints(2));
  if (block.size() != 2 || pads.size() != 4 || block[0] < 1 || block[1] < 1) {
    return unsupported("its blocks are not of two sizes, those of a picture");
  }
  DVNN_ASSIGN(const std::string in, node.picture(0));
  DVNN_ASSIGN(const std::string padded,
              node.run("Pad", {in, node.list({0, 0, pads[0], pads[2], 0, 0, pads[1], pads[3]})}));
  const auto dims = node.dims_of(padded);
  if (dims[2] % block[0] != 0 || dims[3] % block[1] != 0) {
    return malformed("the picture " + given_shape_text(dims) + " is no whole number of blocks");
  }
  return node.done_parts(padded, std::make_shared<TfliteParts>(TfliteParts{block[0], block[1]}));
}

Status import_tflite_batch_to_space(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.picture_or_parts(0));
  DVNN_ASSIGN(const auto block, node.ints(1));
  DVNN_ASSIGN(const auto crops, node.ints(2));
  const auto& parts = node.parts(0);
  const bool fits = parts && block.size() == 2 && crops.size() == 4 && block[0] == parts->block_y &&
                    block[1] == parts->block_x;
  if (!fits) {
    return unsupported("puts parts together that no SPACE_TO_BATCH_ND of the same blocks has made");
  }
  const auto dims = node.dims_of(in);
  const auto least = std::min_element(crops.begin(), crops.end());
  if (*least < 0) return malformed("cuts off less than nothing");
  return node.done_picture(
      node.run("Slice", {in, node.list({crops[0], crops[2]}),
                         node.list({dims[2] - crops[1], dims[3] - crops[3]}), node.list({2, 3})}));
}

}  // namespace dvnn::import
