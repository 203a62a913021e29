// SPDX-License-Identifier: Apache-2.0
// Operators that move, join and cut tensors.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/onnx/model.h"
#include "import/onnx/operators.h"
#include "import/options.h"
#include "layers/attributes/fields.h"
#include "tensor/tensor.h"

namespace dvnn::import {
namespace {

// Returns the axes that Squeeze and Unsqueeze name: an input since opset 13.
Result<std::vector<int64_t>> axes_of(const OnnxNode& node, size_t rank) {
  DVNN_ASSIGN(std::vector<int64_t> axes, node.ints_at(1, "axes"));
  for (int64_t& axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return malformed("names an axis twice");
  }
  return axes;
}

// An index that may count from the end.
Result<int64_t> onnx_place(int64_t place, int64_t size) {
  const int64_t from_start = place < 0 ? place + size : place;
  if (from_start >= 0 && from_start < size) return from_start;
  return malformed(format("index %lld does not exist", static_cast<long long>(place)));
}

Status reshaped(const OnnxNode& node, int value, const std::vector<int64_t>& dims) {
  if (dims_of(node.builder().shape_of(value)) == dims) return node.done(value);
  if (dims.empty()) return node.done(node.builder().reshape(node.name(), value, {1}));  // a number
  return node.done(node.builder().reshape(node.name(), value, dims));
}

Result<int> tiled(const OnnxNode& node, const std::string& name, int in,
                  const std::vector<int64_t>& repeats) {
  layers::TileAttributes tile;
  for (int64_t count : repeats) {
    if (count < 1 || count > 1 << 28) {
      return unsupported(format("repeats %lld times", static_cast<long long>(count)));
    }
    tile.repeats.push_back(static_cast<int>(count));
  }
  if (std::all_of(tile.repeats.begin(), tile.repeats.end(), [](int r) { return r == 1; })) {
    return in;
  }
  return node.builder().cpu(name, std::move(tile), {in});
}

}  // namespace

Result<std::vector<int64_t>> read_onnx_reshape(const OnnxNode& node,
                                               const std::vector<int64_t>& in) {
  DVNN_ASSIGN(std::vector<int64_t> dims, node.ints_at(1, "shape"));  // opset 1: an attribute
  const bool zero_copies = node.integer("allowzero", 0) == 0;
  if (!node.is_constant(0)) reshape_one_of(node.importer().batch, in, &dims);
  const int64_t elements = element_count(in);
  int64_t known = 1;
  ptrdiff_t open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && zero_copies && i < in.size()) dims[i] = in[i];
    if (dims[i] == -1 && open < 0) {
      open = static_cast<ptrdiff_t>(i);
      continue;
    }
    // More elements than the tensor has: counting further is pointless.
    if (dims[i] > elements || known > elements) {
      known = elements + 1;
      break;
    }
    known *= dims[i];
    if (dims[i] < 1) {
      return malformed(
          format("dimension %zu of the new shape is %lld", i, static_cast<long long>(dims[i])));
    }
  }
  if (open >= 0 && known <= elements && elements % known == 0) {
    nth(dims, open) = elements / known;
    known = elements;
  }
  if (known != elements) {
    return malformed(
        "the new shape " + given_shape_text(dims) +
        format(" does not hold %lld elements, those of ", static_cast<long long>(elements)) +
        given_shape_text(in));
  }
  return dims;
}

Result<std::vector<int64_t>> read_onnx_squeeze(const OnnxNode& node,
                                               const std::vector<int64_t>& in) {
  std::vector<int64_t> dims = in;
  if (node.type() == "Unsqueeze") {
    DVNN_ASSIGN(const auto given, node.ints_at(1, "axes"));
    DVNN_ASSIGN(const auto axes, axes_of(node, in.size() + given.size()));
    for (int64_t axis : axes) dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), 1);
    return dims;
  }
  DVNN_ASSIGN(std::vector<int64_t> axes, axes_of(node, in.size()));
  if (axes.empty()) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] == 1) axes.push_back(static_cast<int64_t>(i));
    }
  }
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    if (nth(in, *it) != 1) {
      return malformed(format("dimension %lld is not 1", static_cast<long long>(*it)));
    }
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(*it));
  }
  return dims;
}

Result<OnnxSlice> read_onnx_slice(const OnnxNode& node, const std::vector<int64_t>& in) {
  OnnxSlice slice;
  slice.begin.assign(in.size(), 0);
  slice.step.assign(in.size(), 1);
  slice.dims = in;
  // Attributes before opset 10.
  DVNN_ASSIGN(const auto starts, node.ints_at(1, "starts"));
  DVNN_ASSIGN(const auto ends, node.ints_at(2, "ends"));
  DVNN_ASSIGN(auto axes, node.ints_at(3, "axes"));
  DVNN_ASSIGN(auto steps, node.ints_at(4, "steps"));
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return malformed("starts, ends, axes and steps differ in length");
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    DVNN_ASSIGN(const int64_t axis, onnx_axis(axes[i], in.size()));
    const size_t a = static_cast<size_t>(axis);
    if (steps[i] == 0) return malformed("step 0 goes nowhere");
    // A step that leaves the axis at once takes one element, however large it is.
    const int64_t size = in[a], step = std::clamp(steps[i], -size - 1, size + 1);
    auto place = [size](int64_t at, int64_t least, int64_t most) {
      if (at < 0) at = std::max(at, -size - 1) + size;
      return std::clamp(at, least, most);
    };
    const int64_t begin = step > 0 ? place(starts[i], 0, size) : place(starts[i], 0, size - 1);
    const int64_t end = step > 0 ? place(ends[i], 0, size) : place(ends[i], -1, size - 1);
    const int64_t count =
        step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    slice.begin[a] = begin;
    slice.step[a] = step;
    slice.dims[a] = std::max<int64_t>(count, 0);
  }
  return slice;
}

Status import_onnx_identity(const OnnxNode& node) {
  return node.done(node.value(0));
}

Status import_onnx_constant(const OnnxNode& node) {
  if (node.tensor("value")) {
    DVNN_ASSIGN(OnnxConstant constant, node.importer().read(*node.tensor("value")));
    return node.done(std::move(constant));
  }
  OnnxConstant constant;
  const std::vector<int64_t> ints = node.integers("value_ints");
  const std::vector<float> floats = node.numbers("value_floats");
  if (!ints.empty() || node.has_attribute("value_int")) {
    constant.integral = true;
    constant.values.assign(ints.begin(), ints.end());
    if (ints.empty()) constant.values = {static_cast<double>(node.integer("value_int", 0))};
    if (!ints.empty()) constant.dims = {static_cast<int64_t>(ints.size())};
    return node.done(std::move(constant));
  }
  if (!floats.empty() || node.has_attribute("value_float")) {
    constant.values.assign(floats.begin(), floats.end());
    if (floats.empty()) constant.values = {static_cast<double>(node.number("value_float", 0))};
    if (!floats.empty()) constant.dims = {static_cast<int64_t>(floats.size())};
    return node.done(std::move(constant));
  }
  return unsupported("only constants that are numbers are supported");
}

Status import_onnx_shape(const OnnxNode& node) {
  OnnxConstant out;
  out.integral = true;
  std::vector<int64_t> dims;
  if (node.is_constant(0)) {
    DVNN_ASSIGN(const auto in, node.constant(0));
    dims = in->dims;
  } else {
    DVNN_ASSIGN(const int in, node.value(0));
    dims = dims_of(node.builder().shape_of(in));
  }
  if (node.type() == "Size") {
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    out.values = {static_cast<double>(count)};
    return node.done(std::move(out));
  }
  const auto rank = static_cast<int64_t>(dims.size());
  auto place = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(node.integer("start", 0));  // since opset 15
  const int64_t end = std::max(place(node.integer("end", rank)), start);
  out.dims = {end - start};
  out.values.assign(dims.begin() + start, dims.begin() + end);
  return node.done(std::move(out));
}

Status import_onnx_reshape(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto dims, read_onnx_reshape(node, dims_of(node.builder().shape_of(in))));
  return reshaped(node, in, dims);
}

Status import_onnx_squeeze(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<int64_t> has;
  if (!node.is_scalar(0)) has = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(auto dims, read_onnx_squeeze(node, has));
  if (dims.empty()) dims = {1};
  return reshaped(node, in, dims);
}

Status import_onnx_flatten(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  int64_t axis = node.integer("axis", 1);
  if (axis != static_cast<int64_t>(dims.size())) {  // axis == rank: all dimensions are outside
    DVNN_ASSIGN(axis, onnx_axis(axis, dims.size()));
  }
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    (static_cast<int64_t>(i) < axis ? outer : inner) *= dims[i];
  }
  return reshaped(node, in, {outer, inner});
}

Status import_onnx_transpose(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<int64_t> order = node.integers("perm");
  if (order.empty()) {
    for (int i = node.builder().shape_of(in).rank; i-- > 0;) order.push_back(i);
  }
  return node.done(node.builder().permute(node.name(), in, order));
}

Status import_onnx_concat(const OnnxNode& node) {
  std::vector<int> inputs;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const int value, node.value(i));
    inputs.push_back(value);
  }
  return node.done(node.builder().concat(node.name(), inputs, node.integer("axis", 1)));
}

Status import_onnx_slice(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(const OnnxSlice slice, read_onnx_slice(node, dims));
  const bool all_steps_are_one =
      std::all_of(slice.step.begin(), slice.step.end(), [](int64_t step) { return step == 1; });
  if (slice.dims == dims && all_steps_are_one) {
    return node.done(in);
  }
  return node.done(node.builder().slice(node.name(), in, slice.begin, slice.step, slice.dims));
}

Status import_onnx_gather(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  std::vector<int64_t> dims = dims_of(b.shape_of(in));
  DVNN_ASSIGN(const size_t a, axis_at(node, 0, dims.size()));
  const bool one = node.is_constant(1) && node.constant(1).value()->values.size() == 1;
  if (!one) {
    if (node.is_constant(1)) {
      DVNN_ASSIGN(const auto places, node.constant(1));
      for (int64_t place : places->ints()) DVNN_TRY(onnx_place(place, dims[a]));
    }
    DVNN_ASSIGN(const int places, node.value(1));
    const layers::GatherAttributes layer{static_cast<int>(a)};
    if (!node.is_scalar(1)) return node.done(b.cpu(node.name(), layer, {in, places}));
    // A single index removes its axis.
    DVNN_ASSIGN(const int taken, b.cpu(node.name() + "_taken", layer, {in, places}));
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(a));
    if (dims.empty()) dims = {1};
    return node.done(b.reshape(node.name(), taken, dims));
  }
  DVNN_ASSIGN(const auto places, node.constant(1));
  std::vector<int64_t> begin(dims.size(), 0), step(dims.size(), 1);
  DVNN_ASSIGN(begin[a], onnx_place(places->ints()[0], dims[a]));
  dims[a] = 1;
  DVNN_ASSIGN(const int taken, b.slice(node.name(), in, begin, step, dims));
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(a));
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(a), places->dims.begin(), places->dims.end());
  if (dims.empty()) dims = {1};  // a number
  if (dims == dims_of(b.shape_of(taken))) return node.done(taken);
  return node.done(b.reshape(node.name() + "_squeezed", taken, dims));
}

Status import_onnx_split(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(const size_t a, axis_at(node, 0, dims.size()));
  DVNN_ASSIGN(std::vector<int64_t> sizes, node.ints_at(1, "split"));
  const int64_t total = dims[a];
  if (sizes.empty()) {  // since opset 18 the last may be smaller
    const int64_t parts = node.integer("num_outputs", node.outputs());
    if (parts != node.outputs() || (node.opset() < 18 && total % parts != 0)) {
      return malformed(format("%lld cannot be split in %lld equal parts",
                              static_cast<long long>(total), static_cast<long long>(parts)));
    }
    const int64_t most = (total + parts - 1) / parts;
    sizes.assign(static_cast<size_t>(parts), most);
    sizes.back() = total - most * (parts - 1);
  }
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 1 || size > total) return malformed("a part is empty");
    sum += size;
  }
  if (sum != total || static_cast<int>(sizes.size()) != node.outputs()) {
    return malformed("the parts are not the whole");
  }
  std::vector<int64_t> begin(dims.size(), 0);
  const std::vector<int64_t> step(dims.size(), 1);
  for (int i = 0; i < node.outputs(); ++i) {
    dims[a] = nth(sizes, i);
    DVNN_TRY(node.done_at(
        i, node.builder().slice(node.name() + "_" + std::to_string(i), in, begin, step, dims)));
    begin[a] += dims[a];
  }
  return {};
}

// Returns a value without the elements that negative pads cut off; these pads become 0.
static Result<int> cropped(const OnnxNode& node, int in, std::vector<int64_t>* pads) {
  std::vector<int64_t> cuts;
  for (int64_t& pad : *pads) {
    // No tensor has as many elements as a pad's number may ask for.
    cuts.push_back(-std::clamp<int64_t>(pad, -kMaxTensorElements, 0));
    pad = std::max<int64_t>(pad, 0);
  }
  const auto middle = cuts.begin() + static_cast<ptrdiff_t>(cuts.size() / 2);
  return node.builder().crop(node.name() + "_cut", in, {cuts.begin(), middle},
                             {middle, cuts.end()});
}

Status import_onnx_pad(const OnnxNode& node) {
  DVNN_ASSIGN(int in, node.value(0));
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  const size_t rank = shape.axes();
  DVNN_ASSIGN(auto given, node.ints_at(1, node.opset() < 2 ? "paddings" : "pads"));
  float fill = node.number("value", 0);
  if (node.has(2)) {
    DVNN_ASSIGN(const auto constant, node.constant(2));
    if (constant->values.size() == 1) fill = static_cast<float>(constant->values[0]);
  }
  std::vector<int64_t> axes;
  if (node.has(3)) {  // since opset 18
    DVNN_ASSIGN(const auto named, node.constant(3));
    axes = named->ints();
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (given.size() != 2 * axes.size()) {
    return malformed(format("%zu pads for %zu axes", given.size(), axes.size()));
  }
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    DVNN_ASSIGN(const int64_t axis, onnx_axis(axes[i], rank));
    nth(pads, axis) = given[i];
    nth(pads, shape.rank + axis) = given[axes.size() + i];
  }
  if (pads == std::vector<int64_t>(2 * rank, 0)) return node.done(in);
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant") {
    // Cut first, because elements that are cut off are not repeated.
    DVNN_ASSIGN(in, cropped(node, in, &pads));
    if (pads == std::vector<int64_t>(2 * rank, 0)) return node.done(in);
  }
  const bool around_picture = mode == "constant" && fill == 0 && rank == 4 && shape.n() == 1 &&
                              pads[0] == 0 && pads[1] == 0 && pads[4] == 0 && pads[5] == 0 &&
                              *std::min_element(pads.begin(), pads.end()) >= 0;
  if (around_picture) return node.done(b.pad(node.name(), in, pads[3], pads[7], pads[2], pads[6]));
  auto border = layers::read_fields<layers::BorderAttributes>(
      {{"before", std::vector<int64_t>(pads.begin(), pads.begin() + shape.rank)},
       {"after", std::vector<int64_t>(pads.begin() + shape.rank, pads.end())},
       {"mode", mode},
       {"value", fill}});
  if (!border.ok()) return unsupported(border.error().message);
  return node.done(b.cpu(node.name(), border.value(), {in}));
}

Status import_onnx_tile(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const Shape& shape = node.builder().shape_of(in);
  DVNN_ASSIGN(const auto given, node.constant(1));
  std::vector<int64_t> repeats = given->ints();
  if (node.opset() < 6) {  // how often, and along which axis
    DVNN_ASSIGN(const auto along, node.constant(2));
    if (repeats.size() != 1 || along->values.size() != 1) {
      return malformed("tiles or axis is no number");
    }
    DVNN_ASSIGN(const int64_t axis, onnx_axis(along->ints()[0], shape.axes()));
    std::vector<int64_t> all(shape.axes(), 1);
    nth(all, axis) = repeats[0];
    repeats = all;
  }
  if (node.importer().constants) {
    expand_one_of(node.importer().batch, dims_of(shape), &repeats);
  }
  return node.done(tiled(node, node.name(), in, repeats));
}

Status import_onnx_expand(const OnnxNode& node) {
  DVNN_ASSIGN(int in, node.value(0));
  DVNN_ASSIGN(const auto given, node.constant(1));
  std::vector<int64_t> wanted = given->ints(), dims = dims_of(node.builder().shape_of(in));
  expand_one_of(node.importer().batch, dims, &wanted);
  if (dims.size() < wanted.size()) dims.insert(dims.begin(), wanted.size() - dims.size(), 1);
  if (wanted.size() < dims.size()) wanted.insert(wanted.begin(), dims.size() - wanted.size(), 1);
  std::vector<int64_t> repeats(dims.size(), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) repeats[i] = wanted[i];
    if (dims[i] != 1 && wanted[i] != 1 && wanted[i] != dims[i]) {
      return malformed(
          format("dimension %zu does not repeat to %lld", i, static_cast<long long>(wanted[i])));
    }
  }
  if (dims != dims_of(node.builder().shape_of(in))) {
    DVNN_ASSIGN(in, node.builder().reshape(node.name() + "_in", in, dims));
  }
  return node.done(tiled(node, node.name(), in, repeats));
}

// DepthToSpace and SpaceToDepth.
Status import_onnx_depth(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  const int64_t size = node.integer("blocksize", 0);
  if (shape.rank != 4 || size < 1 || size > shape.elements()) {
    return unsupported("needs a picture and a size of blocks, has " + shape.to_string());
  }
  const int64_t n = shape.n(), c = shape.c(), h = shape.h(), w = shape.w();
  const std::string& name = node.name();
  const bool to_space = node.type() == "DepthToSpace";
  if (to_space ? c % (size * size) != 0 : h % size != 0 || w % size != 0) {
    return malformed(format("blocks of %lld do not fit %s", static_cast<long long>(size),
                            shape.to_string().c_str()));
  }
  std::vector<int64_t> parts, order, dims;
  if (!to_space) {
    parts = {n, c, h / size, size, w / size, size};
    order = {0, 3, 5, 1, 2, 4};
    dims = {n, c * size * size, h / size, w / size};
  } else {
    const int64_t rest = c / (size * size);
    const bool blocks_first = node.text("mode", "DCR") == "DCR";
    parts = blocks_first ? std::vector<int64_t>{n, size, size, rest, h, w}
                         : std::vector<int64_t>{n, rest, size, size, h, w};
    order = blocks_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                         : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
    dims = {n, rest, h * size, w * size};
  }
  DVNN_ASSIGN(const int apart, b.reshape(name + "_blocks", in, parts));
  DVNN_ASSIGN(const int moved, b.permute(name + "_moved", apart, order));
  return node.done(b.reshape(name, moved, dims));
}

}  // namespace dvnn::import
