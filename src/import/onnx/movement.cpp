// SPDX-License-Identifier: Apache-2.0
// Operators that move, join and cut.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "import/onnx/import.h"

namespace dvnn::import {
namespace {

// The axes that Squeeze and Unsqueeze name: an input since opset 13.
Result<std::vector<int64_t>> axes_of(const OnnxNode& node, size_t rank) {
  DVNN_ASSIGN(std::vector<int64_t> axes, node.ints_at(1, "axes"));
  for (int64_t& axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return Error{ErrorCode::kMalformed, "names an axis twice"};
  }
  return axes;
}

Status reshaped(const OnnxNode& node, int value, const std::vector<int64_t>& dims) {
  if (dims_of(node.builder().shape_of(value)) == dims) return node.done(value);
  return node.done(node.builder().reshape(node.name(), value, dims));
}

}  // namespace

Result<std::vector<int64_t>> read_onnx_reshape(const OnnxNode& node,
                                               const std::vector<int64_t>& in) {
  DVNN_ASSIGN(const auto shape, node.constant(1));
  const bool zero_copies = node.integer("allowzero", 0) == 0;
  const int64_t elements = element_count(in);
  std::vector<int64_t> dims = shape->ints();
  int64_t known = 1;
  ptrdiff_t open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && zero_copies && i < in.size()) dims[i] = in[i];
    if (dims[i] == -1 && open < 0) {
      open = static_cast<ptrdiff_t>(i);
      continue;
    }
    if (dims[i] < 1 || dims[i] > elements || (known *= dims[i]) > elements) {
      return Error{ErrorCode::kMalformed, format("dimension %zu of the new shape is %lld", i,
                                                 static_cast<long long>(dims[i]))};
    }
  }
  if (open >= 0 && known > 0 && elements % known == 0) {
    dims[static_cast<size_t>(open)] = elements / known;
    known = elements;
  }
  if (known != elements) {
    return Error{ErrorCode::kMalformed, format("the new shape does not hold %lld elements",
                                               static_cast<long long>(elements))};
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
    if (in[static_cast<size_t>(*it)] != 1) {
      return Error{ErrorCode::kMalformed,
                   format("dimension %lld is not 1", static_cast<long long>(*it))};
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
    return Error{ErrorCode::kMalformed, "starts, ends, axes and steps differ in length"};
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    DVNN_ASSIGN(const int64_t axis, onnx_axis(axes[i], in.size()));
    const size_t a = static_cast<size_t>(axis);
    const int64_t size = in[a], step = steps[i];
    if (step == 0 || step > size + 1 || step < -size - 1) {
      return Error{ErrorCode::kMalformed,
                   format("step %lld does not fit", static_cast<long long>(step))};
    }
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
  if (!node.tensor("value")) {
    return Error{ErrorCode::kUnsupported, "only constants that are tensors are supported"};
  }
  DVNN_ASSIGN(OnnxConstant constant, read_tensor(*node.tensor("value")));
  return node.done(std::move(constant));
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
  out.dims = {static_cast<int64_t>(dims.size())};
  out.values.assign(dims.begin(), dims.end());
  return node.done(std::move(out));
}

Status import_onnx_reshape(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto dims, read_onnx_reshape(node, dims_of(node.builder().shape_of(in))));
  return reshaped(node, in, dims);
}

Status import_onnx_squeeze(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto dims, read_onnx_squeeze(node, dims_of(node.builder().shape_of(in))));
  return reshaped(node, in, dims);
}

Status import_onnx_flatten(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", 1), dims.size() + 1));
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
  DVNN_ASSIGN(const auto indices, node.constant(1));
  std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", 0), dims.size()));
  const size_t a = static_cast<size_t>(axis);
  if (indices->values.size() != 1) {
    return Error{ErrorCode::kUnsupported, "gathers several places of a computed tensor"};
  }
  int64_t index = indices->ints()[0];
  if (index < 0) index += dims[a];
  if (index < 0 || index >= dims[a]) {
    return Error{ErrorCode::kMalformed,
                 format("index %lld does not exist", static_cast<long long>(index))};
  }
  std::vector<int64_t> begin(dims.size(), 0), step(dims.size(), 1);
  begin[a] = index;
  dims[a] = 1;
  DVNN_ASSIGN(const int one, node.builder().slice(node.name(), in, begin, step, dims));
  if (!indices->dims.empty()) return node.done(one);
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(a));
  return node.done(node.builder().reshape(node.name() + "_squeezed", one, dims));
}

Status import_onnx_split(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", 0), dims.size()));
  const size_t a = static_cast<size_t>(axis);
  DVNN_ASSIGN(std::vector<int64_t> sizes, node.ints_at(1, "split"));
  const int64_t total = dims[a];
  if (sizes.empty()) {
    if (total % node.outputs() != 0) {
      return Error{ErrorCode::kMalformed, format("%lld cannot be split in %d equal parts",
                                                 static_cast<long long>(total), node.outputs())};
    }
    sizes.assign(static_cast<size_t>(node.outputs()), total / node.outputs());
  }
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 1 || size > total) return Error{ErrorCode::kMalformed, "a part is empty"};
    sum += size;
  }
  if (sum != total || static_cast<int>(sizes.size()) != node.outputs()) {
    return Error{ErrorCode::kMalformed, "the parts are not the whole"};
  }
  std::vector<int64_t> begin(dims.size(), 0);
  const std::vector<int64_t> step(dims.size(), 1);
  for (int i = 0; i < node.outputs(); ++i) {
    dims[a] = sizes[static_cast<size_t>(i)];
    DVNN_TRY(node.done_at(
        i, node.builder().slice(node.name() + "_" + std::to_string(i), in, begin, step, dims)));
    begin[a] += dims[a];
  }
  return {};
}

Status import_onnx_softmax(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const std::vector<int64_t> dims = dims_of(node.builder().shape_of(in));
  constexpr int64_t kPerAxis = 13;  // the opset since which one axis is normalised
  const bool modern = node.opset() >= kPerAxis;
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", modern ? -1 : 1), dims.size()));
  if (!modern) {  // all axes from this one on are normalised together
    for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) {
      if (dims[i] == 1) continue;
      return Error{ErrorCode::kUnsupported, "normalises over several axes at once"};
    }
  }
  return node.done(node.builder().softmax(node.name(), in, axis));
}

Status import_onnx_pad(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto pads, node.ints_at(1, "pads"));
  if (node.text("mode", "constant") != "constant") {
    return Error{ErrorCode::kUnsupported, "only constant padding is supported"};
  }
  if (node.is_constant(2)) {
    DVNN_ASSIGN(const auto fill, node.constant(2));
    for (double v : fill->values) {
      if (v != 0) return Error{ErrorCode::kUnsupported, "only padding with zeros is supported"};
    }
  }
  if (node.number("value", 0) != 0) {
    return Error{ErrorCode::kUnsupported, "only padding with zeros is supported"};
  }
  if (pads.size() != 8 || pads[0] != 0 || pads[1] != 0 || pads[4] != 0 || pads[5] != 0) {
    return Error{ErrorCode::kUnsupported, "only height and width of a picture can be padded"};
  }
  if (pads == std::vector<int64_t>(8, 0)) return node.done(in);
  return node.done(node.builder().pad(node.name(), in, pads[3], pads[7], pads[2], pads[6]));
}

}  // namespace dvnn::import
