// SPDX-License-Identifier: Apache-2.0
// Operators that read and write elements at places which other inputs name. All become Gather or
// Scatter of rows: the places of rows are computed from the indices, which may be known or not.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/onnx/operators.h"
#include "import/onnx/operators/windows.h"
#include "layers/attributes/fields.h"

namespace dvnn::import {
namespace {

using kernels::Operation;
using Dims = std::vector<int64_t>;

// Places are floats, whose whole numbers end there.
constexpr int64_t kMostPlaces = int64_t{1} << 24;

// Multiplies dimensions above 0. Beyond what a tensor has, the number does not matter.
int64_t product(const Dims& dims, size_t from = 0) {
  constexpr int64_t kEnough = int64_t{1} << 31;
  int64_t count = 1;
  for (size_t i = from; i < dims.size(); ++i) count *= std::min(dims[i], kEnough / count + 1);
  return count;
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Status check_places(const Dims& dims) {
  if (product(dims) <= kMostPlaces) return {};
  return too_large(format("indexes %lld elements, not up to %lld",
                          static_cast<long long>(product(dims)),
                          static_cast<long long>(kMostPlaces)));
}

Result<int> constant_of(const OnnxNode& node, const char* suffix, const Dims& dims,
                        const Dims& values) {
  return node.builder().constant(node.name() + suffix, dims, {values.begin(), values.end()});
}

// x (operation) numbers, which repeat as they do in NumPy.
Result<int> with_numbers(const OnnxNode& node, const char* suffix, Operation operation, int x,
                         const Dims& dims, const Dims& values) {
  const std::string name = node.name() + suffix;
  DVNN_ASSIGN(const int numbers,
              node.builder().constant(name + "_numbers", dims, {values.begin(), values.end()}));
  return node.builder().binary(name, operation, x, numbers);
}

// Returns the places of the elements that GatherElements and ScatterElements name: the index along
// `axis`, an element's own place along the others.
Result<int> places_along(const OnnxNode& node, int indices, const Dims& data, size_t axis) {
  const Dims dims = dims_of(node.builder().shape_of(indices)), strides = strides_of(data);
  DVNN_TRY(check_places(data));
  DVNN_TRY(check_places(dims));
  if (dims.size() != data.size()) return malformed("indices and data have different ranks");
  Dims base(static_cast<size_t>(product(dims)), 0), index(dims.size(), 0);
  for (int64_t& at : base) {
    for (size_t i = 0; i < dims.size(); ++i) at += i == axis ? 0 : index[i] * strides[i];
    for (size_t i = dims.size(); i-- > 0 && ++index[i] == dims[i];) index[i] = 0;
  }
  // Negative ones count from the end.
  DVNN_ASSIGN(const int whole,
              with_numbers(node, "_index", Operation::kMod, indices, {1}, {data[axis]}));
  DVNN_ASSIGN(const int far,
              with_numbers(node, "_stride", Operation::kMul, whole, {1}, {strides[axis]}));
  return with_numbers(node, "_place", Operation::kAdd, far, dims, base);
}

// Returns how many axes of the data indices of these dimensions name.
size_t named_axes(const Dims& dims) {
  return static_cast<size_t>(dims.back());
}

// Returns the places of the rows that the last axis of the indices names, after `batch` axes that
// both have.
Result<int> places_of_rows(const OnnxNode& node, int indices, const Dims& data, size_t batch) {
  GraphBuilder& b = node.builder();
  const Dims dims = dims_of(b.shape_of(indices));
  DVNN_TRY(check_places(data));
  const size_t named = named_axes(dims);
  if (named < 1 || batch + named > data.size() || batch >= dims.size()) {
    return malformed(format("indices name %zu axes of %zu", named, data.size() - batch));
  }
  if (!std::equal(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(batch), data.begin())) {
    return malformed("indices and data differ in their first dimensions");
  }
  const Dims rows(data.begin(), data.begin() + static_cast<ptrdiff_t>(batch + named));
  const Dims strides = strides_of(rows);
  const Dims sizes(rows.begin() + static_cast<ptrdiff_t>(batch), rows.end());
  const Dims own(strides.begin() + static_cast<ptrdiff_t>(batch), strides.end());
  const Dims last = {dims.back()};
  DVNN_ASSIGN(const int whole, with_numbers(node, "_index", Operation::kMod, indices, last, sizes));
  DVNN_ASSIGN(const int far, with_numbers(node, "_stride", Operation::kMul, whole, last, own));
  const int axis = static_cast<int>(dims.size()) - 1;
  DVNN_ASSIGN(int places,
              b.cpu(node.name() + "_place",
                    layers::ReduceAttributes{layers::Reduction::kSum, {axis}, true}, {far}));
  if (batch == 0) return places;
  // The rows of the batches before.
  Dims base_dims(dims.size(), 1), base;
  for (size_t i = 0; i < batch; ++i) base_dims[i] = dims[i];
  const int64_t step = batch > 0 ? strides[batch - 1] : 0;
  for (int64_t i = 0; i < product(base_dims); ++i) base.push_back(i * step);
  return with_numbers(node, "_batch", Operation::kAdd, places, base_dims, base);
}

Result<int> flat(const OnnxNode& node, const char* suffix, int value, const Dims& dims) {
  GraphBuilder& b = node.builder();
  if (dims_of(b.shape_of(value)) == dims) return value;
  return b.reshape(node.name() + suffix, value, dims);
}

Result<int> scattered(const OnnxNode& node, int rows, int places, int updates) {
  const std::string operation = node.text("reduction", "none");
  const auto layer = layers::read_fields<layers::ScatterAttributes>(
      {{"operation", operation == "none" ? "set" : operation}});
  if (!layer.ok()) return unsupported(layer.error().message);
  return node.builder().cpu(node.name() + "_scattered", layer.value(), {rows, places, updates});
}

}  // namespace

Status import_onnx_gather_elements(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int indices, node.value(1));
  const Dims data = dims_of(b.shape_of(in));
  DVNN_ASSIGN(const size_t axis, axis_at(node, 0, data.size()));
  DVNN_ASSIGN(const int places, places_along(node, indices, data, axis));
  DVNN_ASSIGN(const int all, flat(node, "_flat", in, {product(data)}));
  return node.done(b.cpu(node.name(), layers::GatherAttributes{0}, {all, places}));
}

Status import_onnx_gather_nd(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int indices, node.value(1));
  const Dims data = dims_of(b.shape_of(in));
  Dims dims = dims_of(b.shape_of(indices));
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(node.integer("batch_dims", 0), 0, 8));
  DVNN_ASSIGN(int places, places_of_rows(node, indices, data, batch));
  const size_t rows = batch + named_axes(dims);
  const int64_t count = product(data, 0) / product(data, rows);
  DVNN_ASSIGN(const int all, flat(node, "_rows", in, {count, product(data, rows)}));
  dims.pop_back();
  DVNN_ASSIGN(places, flat(node, "_places", places, {product(dims)}));
  DVNN_ASSIGN(const int taken,
              b.cpu(node.name() + "_taken", layers::GatherAttributes{0}, {all, places}));
  dims.insert(dims.end(), data.begin() + static_cast<ptrdiff_t>(rows), data.end());
  if (dims.empty()) dims = {1};  // a number
  return node.done(b.reshape(node.name(), taken, dims));
}

// Imports Scatter, too, its name before opset 11.
Status import_onnx_scatter_elements(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int indices, node.value(1));
  DVNN_ASSIGN(const int updates, node.value(2));
  const Dims data = dims_of(b.shape_of(in));
  DVNN_ASSIGN(const size_t axis, axis_at(node, 0, data.size()));
  DVNN_ASSIGN(const int places, places_along(node, indices, data, axis));
  DVNN_ASSIGN(const int all, flat(node, "_flat", in, {product(data)}));
  DVNN_ASSIGN(const int made, scattered(node, all, places, updates));
  return node.done(flat(node, "", made, data));
}

Status import_onnx_scatter_nd(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int indices, node.value(1));
  DVNN_ASSIGN(const int updates, node.value(2));
  const Dims data = dims_of(b.shape_of(in)), dims = dims_of(b.shape_of(indices));
  DVNN_ASSIGN(const int places, places_of_rows(node, indices, data, 0));
  const size_t named = named_axes(dims);
  const int64_t inner = product(data, named);
  DVNN_ASSIGN(const int all, flat(node, "_rows", in, {product(data) / inner, inner}));
  DVNN_ASSIGN(const int made, scattered(node, all, places, updates));
  return node.done(flat(node, "", made, data));
}

// The places count in the result that strides and pads make; one that is larger is empty beyond.
Status import_onnx_max_unpool(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int places, node.value(1));
  Dims dims = dims_of(b.shape_of(in));
  Dims kernel = node.integers("kernel_shape");
  Dims strides = node.integers("strides"), pads = node.integers("pads");
  if (dims.size() < 3) return malformed("has no axes after the channels");
  const size_t axes = dims.size() - 2;
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (kernel.size() != axes || strides.size() != axes || pads.size() != 2 * axes) {
    return malformed("kernel, strides and pads do not fit the input");
  }
  for (const Dims* list : {&kernel, &strides}) {
    for (int64_t size : *list) DVNN_TRY(check_onnx_number("the window or its stride", size, 1));
  }
  for (int64_t pad : pads) DVNN_TRY(check_onnx_number("a pad", pad, 0));
  for (size_t i = 0; i < axes; ++i) {
    dims[i + 2] = (dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + axes];
    if (dims[i + 2] < 1 || dims[i + 2] > kMostPlaces) {
      return malformed("its result has no elements");
    }
  }
  DVNN_TRY(check_places(dims));
  DVNN_ASSIGN(const int empty, constant_of(node, "_empty", {product(dims)},
                                           Dims(static_cast<size_t>(product(dims)))));
  DVNN_ASSIGN(const int made,
              b.cpu(node.name() + "_scattered", layers::ScatterAttributes(), {empty, places, in}));
  DVNN_ASSIGN(const int result, flat(node, "_unpooled", made, dims));
  if (!node.has(2)) return node.done(result);
  DVNN_ASSIGN(const auto shape, node.constant(2));
  layers::BorderAttributes border;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t wanted = i < shape->values.size() ? shape->ints()[i] : 0;
    if (wanted < dims[i] || wanted > kMostPlaces) {
      return unsupported("output_shape is smaller than what is unpooled");
    }
    border.before.push_back(0);
    border.after.push_back(static_cast<int>(wanted - dims[i]));
  }
  return node.done(b.cpu(node.name(), std::move(border), {result}));
}

Status import_onnx_one_hot(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  DVNN_ASSIGN(int in, node.value(0));
  DVNN_ASSIGN(const auto depth, node.constant(1));
  DVNN_ASSIGN(const auto values, node.constant(2));
  if (depth->values.size() != 1 || values->values.size() != 2 || depth->ints()[0] < 1 ||
      depth->ints()[0] > kMostPlaces) {
    return malformed("the depth is no number, or the values are not two");
  }
  const int64_t classes = depth->ints()[0];
  Dims dims;
  if (!node.is_scalar(0)) dims = dims_of(b.shape_of(in));
  DVNN_ASSIGN(const size_t axis, axis_at(node, -1, dims.size() + 1));
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), 1);
  DVNN_ASSIGN(in, b.reshape(name + "_in", in, dims));
  Dims along(dims.size(), 1), from_start, from_end;
  along[axis] = classes;
  for (int64_t i = 0; i < classes; ++i) {
    from_start.push_back(i);
    from_end.push_back(i - classes);
  }
  DVNN_ASSIGN(const int first,
              with_numbers(node, "_first", Operation::kEqual, in, along, from_start));
  DVNN_ASSIGN(const int second,
              with_numbers(node, "_second", Operation::kEqual, in, along, from_end));
  DVNN_ASSIGN(const int hot, b.binary(name + "_hot", Operation::kOr, first, second));
  DVNN_ASSIGN(const int off, b.constant(name + "_off", {1}, {values->floats()[0]}));
  DVNN_ASSIGN(const int on, b.constant(name + "_on", {1}, {values->floats()[1]}));
  return node.done(b.cpu(name, layers::WhereAttributes(), {hot, on, off}));
}

Status import_onnx_trilu(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  int64_t diagonal = 0;
  if (node.has(1)) {
    DVNN_ASSIGN(const auto given, node.constant(1));
    if (given->values.size() == 1) diagonal = given->ints()[0];
  }
  const Shape shape = b.shape_of(in);
  if (shape.rank < 2) return malformed("reads no matrix");
  const int64_t rows = shape[shape.rank - 2], columns = shape[shape.rank - 1];
  DVNN_TRY(check_places({rows, columns}));
  const bool upper = node.integer("upper", 1) != 0;
  Dims kept;
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < columns; ++x)
      kept.push_back(upper ? x - y >= diagonal : x - y <= diagonal);
  }
  DVNN_ASSIGN(const int mask, constant_of(node, "_mask", {rows, columns}, kept));
  DVNN_ASSIGN(const int zero, constant_of(node, "_zero", {1}, {0}));
  return node.done(b.cpu(node.name(), layers::WhereAttributes(), {mask, in, zero}));
}

Status import_onnx_reverse_sequence(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto lengths, node.constant(1));
  const Dims dims = dims_of(b.shape_of(in)), strides = strides_of(dims);
  const auto batch = static_cast<size_t>(node.integer("batch_axis", 1));
  const auto time = static_cast<size_t>(node.integer("time_axis", 0));
  if (dims.size() < 2 || batch > 1 || time > 1 || batch == time ||
      static_cast<int64_t>(lengths->values.size()) != dims[batch]) {
    return malformed("batch_axis, time_axis and lengths do not fit the input");
  }
  DVNN_TRY(check_places(dims));
  const Dims lasts = lengths->ints();
  Dims places(static_cast<size_t>(dims[0] * dims[1]));
  for (int64_t i = 0; i < dims[0] * dims[1]; ++i) {
    int64_t index[2] = {i / dims[1], i % dims[1]};
    const int64_t last = nth(lasts, index[batch]);
    if (last < 0 || last > dims[time]) return malformed("a length is beyond the sequence");
    if (index[time] < last) index[time] = last - 1 - index[time];
    nth(places, i) = index[0] * dims[1] + index[1];
  }
  DVNN_ASSIGN(const int rows, flat(node, "_rows", in, {dims[0] * dims[1], product(dims, 2)}));
  DVNN_ASSIGN(const int from, constant_of(node, "_places", {dims[0] * dims[1]}, places));
  DVNN_ASSIGN(const int taken,
              b.cpu(node.name() + "_taken", layers::GatherAttributes{0}, {rows, from}));
  return node.done(b.reshape(node.name(), taken, dims));
}

Status import_onnx_compress(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(int in, node.value(0));
  DVNN_ASSIGN(const auto condition, node.constant(1));
  const Dims dims = dims_of(b.shape_of(in));
  size_t axis = 0;
  if (node.has_attribute("axis")) {
    DVNN_ASSIGN(axis, axis_at(node, 0, dims.size()));
  } else {
    DVNN_ASSIGN(in, flat(node, "_flat", in, {product(dims)}));
  }
  const int64_t most = b.shape_of(in)[static_cast<int>(axis)];
  Dims places;
  for (int64_t i = 0; i < std::min(most, static_cast<int64_t>(condition->values.size())); ++i) {
    if (nth(condition->values, i) != 0) places.push_back(i);
  }
  const auto count = static_cast<int64_t>(places.size());
  DVNN_ASSIGN(const int from, constant_of(node, "_places", {count}, places));
  return node.done(
      b.cpu(node.name(), layers::GatherAttributes{static_cast<int>(axis)}, {in, from}));
}

}  // namespace dvnn::import
