// SPDX-License-Identifier: Apache-2.0
// Operators with windows but without weights.
#include <algorithm>
#include <string>

#include "base/format.h"
#include "import/onnx/operators.h"
#include "import/onnx/operators/windows.h"

namespace dvnn::import {
namespace {

using Pool = layers::WindowPoolAttributes;

// Computes pads for auto_pad=SAME_*: size / stride results, rounded up.
void same_pads(int64_t size, int64_t reach, int64_t stride, bool upper, int64_t* before,
               int64_t* after) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride + reach - size, 0);
  *before = upper ? total / 2 : total - total / 2;
  *after = total - *before;
}

// One number per axis; `fallback` if the attribute is absent.
Result<std::vector<int64_t>> per_axis(const OnnxNode& node, const char* attribute, size_t axes,
                                      int64_t fallback) {
  std::vector<int64_t> list = node.integers(attribute);
  if (list.empty()) list.assign(axes, fallback);
  if (list.size() == axes) return list;
  return malformed(format("%s has %zu numbers for %zu axes", attribute, list.size(), axes));
}

// Pads before and after every axis.
struct AxisPads {
  std::vector<int64_t> before, after;
};

Result<AxisPads> axis_pads(const OnnxNode& node, const Shape& in, const std::vector<int64_t>& reach,
                           const std::vector<int64_t>& stride) {
  const size_t axes = reach.size();
  AxisPads pads = {std::vector<int64_t>(axes, 0), std::vector<int64_t>(axes, 0)};
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < axes; ++i) {
      same_pads(in[static_cast<int>(i) + 2], reach[i], std::max<int64_t>(stride[i], 1),
                mode == "SAME_UPPER", &pads.before[i], &pads.after[i]);
    }
    return pads;
  }
  if (mode != "NOTSET" && mode != "VALID") {
    return unsupported("auto_pad '" + mode + "' is not supported");
  }
  if (mode == "VALID") return pads;
  DVNN_ASSIGN(const auto list, per_axis(node, "pads", 2 * axes, 0));
  pads.before.assign(list.begin(), list.begin() + static_cast<ptrdiff_t>(axes));
  pads.after.assign(list.begin() + static_cast<ptrdiff_t>(axes), list.end());
  return pads;
}

// Returns the window in the form of the CPU's layer.
Result<Pool> window_of(const OnnxNode& node, const Shape& in, Pool::Operation operation) {
  if (in.rank < 3) return unsupported("has no axes after the channels");
  const size_t axes = in.axes() - 2;
  DVNN_ASSIGN(const auto kernel, per_axis(node, "kernel_shape", axes, 0));
  DVNN_ASSIGN(const auto stride, per_axis(node, "strides", axes, 1));
  DVNN_ASSIGN(const auto dilation, per_axis(node, "dilations", axes, 1));
  Pool pool;
  pool.operation = operation;
  std::vector<int64_t> reach;
  for (size_t i = 0; i < axes; ++i) {
    DVNN_TRY(check_onnx_number("the window's size", kernel[i], 1));
    DVNN_TRY(check_onnx_number("the stride", stride[i], 1));
    DVNN_TRY(check_onnx_number("the dilation", dilation[i], 1));
    pool.kernel.push_back(static_cast<int>(kernel[i]));
    pool.stride.push_back(static_cast<int>(stride[i]));
    pool.dilation.push_back(static_cast<int>(dilation[i]));
    reach.push_back((kernel[i] - 1) * dilation[i] + 1);
  }
  DVNN_ASSIGN(const AxisPads pads, axis_pads(node, in, reach, stride));
  for (size_t i = 0; i < axes; ++i) {
    for (int64_t pad : {pads.before[i], pads.after[i]})
      DVNN_TRY(check_onnx_number("a pad", pad, 0));
    pool.before.push_back(static_cast<int>(pads.before[i]));
    pool.after.push_back(static_cast<int>(pads.after[i]));
  }
  pool.ceil = node.integer("ceil_mode", 0) != 0;
  pool.counts_pads = node.integer("count_include_pad", 0) != 0;
  pool.column_major = node.integer("storage_order", 0) != 0;
  return pool;
}

bool is_dense(const Pool& pool) {
  return std::all_of(pool.dilation.begin(), pool.dilation.end(), [](int d) { return d == 1; });
}

// Returns the form of a window over a picture that the device may have.
PoolSpec spec_of(const Pool& pool) {
  PoolSpec spec;
  spec.average = pool.operation == Pool::Operation::kAverage;
  spec.kernel_x = pool.kernel[1], spec.kernel_y = pool.kernel[0];
  spec.stride_x = pool.stride[1], spec.stride_y = pool.stride[0];
  spec.left = pool.before[1], spec.right = pool.after[1];
  spec.top = pool.before[0], spec.bottom = pool.after[0];
  spec.ceil = pool.ceil;
  spec.counts_pads = pool.counts_pads;
  return spec;
}

Status import_pool(const OnnxNode& node, Pool::Operation operation) {
  DVNN_ASSIGN(const int in, node.value(0));
  const Shape shape = node.builder().shape_of(in);
  DVNN_ASSIGN(Pool pool, window_of(node, shape, operation));
  if (shape.rank == 4 && is_dense(pool) && node.outputs() == 1) {
    return over_pictures(node, [&](const std::string& name, int picture) {
      return node.builder().pooling(name, picture, spec_of(pool));
    });
  }
  DVNN_TRY(node.done(node.builder().cpu(node.name(), pool, {in})));
  if (node.outputs() == 1) return {};
  pool.operation = Pool::Operation::kPlace;
  return node.done_at(1, node.builder().cpu(node.name() + "_places", pool, {in}));
}

}  // namespace

Status check_onnx_number(const char* what, int64_t value, int64_t least) {
  constexpr int64_t kMost = 65535;
  if (value >= least && value <= kMost) return {};
  return unsupported(format("%s is %lld, not %lld to %lld", what, static_cast<long long>(value),
                            static_cast<long long>(least), static_cast<long long>(kMost)));
}

Result<std::vector<int64_t>> onnx_pair(const OnnxNode& node, const char* attribute,
                                       int64_t fallback) {
  std::vector<int64_t> pair = node.integers(attribute);
  if (pair.empty()) pair = {fallback, fallback};
  if (pair.size() == 1) pair.insert(pair.begin(), fallback);
  if (pair.size() == 2) return pair;
  return unsupported(format("%s has %zu numbers: pictures need two", attribute, pair.size()));
}

Result<OnnxPads> onnx_pads(const OnnxNode& node, const Shape& in, int64_t reach_x, int64_t reach_y,
                           int64_t stride_x, int64_t stride_y) {
  const std::vector<int64_t> given = node.integers("pads");
  if (given.size() == 2 && node.text("auto_pad", "NOTSET") == "NOTSET") {  // over a line
    return OnnxPads{given[0], given[1], 0, 0};
  }
  DVNN_ASSIGN(const AxisPads pads, axis_pads(node, in, {reach_y, reach_x}, {stride_y, stride_x}));
  return OnnxPads{pads.before[1], pads.after[1], pads.before[0], pads.after[0]};
}

Status import_onnx_max_pool(const OnnxNode& node) {
  return import_pool(node, Pool::Operation::kMax);
}

Status import_onnx_average_pool(const OnnxNode& node) {
  return import_pool(node, Pool::Operation::kAverage);
}

Status import_onnx_lp_pool(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(Pool pool, window_of(node, node.builder().shape_of(in), Pool::Operation::kLp));
  const int64_t p = node.integer("p", 2);
  constexpr int64_t kMost = 64;
  if (p < 1 || p > kMost) return unsupported("p is not 1 to 64");
  pool.p = static_cast<int>(p);
  return node.done(node.builder().cpu(node.name(), pool, {in}));
}

Status import_onnx_global_pool(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  const bool average = node.type() == "GlobalAveragePool";
  if (shape.rank == 4) {
    return over_pictures(node, [&](const std::string& name, int picture) {
      return b.global_pooling(name, picture, average);
    });
  }
  std::vector<int> axes;
  for (int i = 2; i < shape.rank; ++i) axes.push_back(i);
  if (axes.empty()) return node.done(in);
  const auto operation = average ? layers::Reduction::kMean : layers::Reduction::kMax;
  return node.done(b.cpu(node.name(), layers::ReduceAttributes{operation, axes, true}, {in}));
}

}  // namespace dvnn::import
