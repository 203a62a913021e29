// SPDX-License-Identifier: Apache-2.0
// Windows over pictures: code shared by convolutions and poolings, and the poolings.
#include <cstring>

#include "base/format.h"
#include "import/options.h"
#include "import/tflite/import.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

using tfl::Padding;

struct Pool {
  TfliteWindow window;
  int64_t height = 1, width = 1;
};

OnnxAttributes attributes_of(const Pool& pool) {
  OnnxAttributes attributes;
  add_window(pool.window, &attributes);
  attributes.push_back({"kernel_shape", std::vector<int64_t>{pool.height, pool.width}});
  return attributes;
}

// The options of MediaPipe's poolings: the runtime's structure of padding (1: as large as the
// strides say, 2: none), strides and window, as it lies in memory.
Result<Pool> custom_pool(const TfliteNode& node) {
  DVNN_ASSIGN(const auto options, custom_numbers(node, 5));
  Pool pool;
  pool.window = {options[0] == 2 ? Padding::VALID : Padding::SAME, options[2], options[1], 1, 1};
  pool.width = options[3], pool.height = options[4];
  DVNN_TRY(check_window(pool.window));
  return pool;
}

}  // namespace

Status check_window(const TfliteWindow& window) {
  constexpr int64_t kMost = 65535;
  for (int64_t size : {window.stride_y, window.stride_x, window.dilation_y, window.dilation_x}) {
    if (size >= 1 && size <= kMost) continue;
    return malformed(format("a stride or dilation is %lld, not 1 to %lld",
                            static_cast<long long>(size), static_cast<long long>(kMost)));
  }
  if (window.padding == Padding::SAME || window.padding == Padding::VALID) return {};
  return malformed(
      format("its padding is number %d, neither SAME nor VALID", static_cast<int>(window.padding)));
}

void add_window(const TfliteWindow& window, OnnxAttributes* attributes) {
  const char* pads = window.padding == Padding::SAME ? "SAME_UPPER" : "VALID";
  attributes->push_back({"auto_pad", std::string(pads)});
  attributes->push_back({"strides", std::vector<int64_t>{window.stride_y, window.stride_x}});
  attributes->push_back({"dilations", std::vector<int64_t>{window.dilation_y, window.dilation_x}});
}

void add_window_over_parts(const TfliteWindow& window, const TfliteParts& parts,
                           const std::vector<int64_t>& weights, OnnxAttributes* attributes) {
  const bool same = window.padding == Padding::SAME;
  const int64_t reach_y = same ? (weights[2] - 1) * window.dilation_y : 0;
  const int64_t reach_x = same ? (weights[3] - 1) * window.dilation_x : 0;
  const int64_t top = reach_y / 2 * parts.block_y, left = reach_x / 2 * parts.block_x;
  attributes->push_back({"pads", std::vector<int64_t>{top, left, reach_y * parts.block_y - top,
                                                      reach_x * parts.block_x - left}});
  attributes->push_back({"dilations", std::vector<int64_t>{window.dilation_y * parts.block_y,
                                                           window.dilation_x * parts.block_x}});
}

Result<std::vector<int64_t>> custom_numbers(const TfliteNode& node, size_t count) {
  const auto* bytes = node.op().custom_options();
  if (!bytes || bytes->size() < count * sizeof(int32_t)) {
    return malformed(format("has %u bytes of options, its %zu numbers need %zu",
                            bytes ? bytes->size() : 0, count, count * sizeof(int32_t)));
  }
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    int32_t number;
    std::memcpy(&number, bytes->data() + i * sizeof(number), sizeof(number));
    numbers.push_back(number);
  }
  return numbers;
}

Status import_tflite_pool(const TfliteNode& node) {
  const auto* o = node.op().options_as_Pool2DOptions();
  if (!o) return malformed("has no options, which say its window");
  Pool pool;
  pool.window = {o->padding(), o->stride_h(), o->stride_w(), 1, 1};
  pool.height = o->filter_height(), pool.width = o->filter_width();
  DVNN_TRY(check_window(pool.window));
  const char* type = node.type() == "MAX_POOL_2D" ? "MaxPool" : "AveragePool";
  DVNN_ASSIGN(const std::string in, node.picture(0));
  return node.done_picture(
      node.activated(node.run(type, {in}, attributes_of(pool)), o->activation()));
}

Status import_tflite_pool_with_places(const TfliteNode& node) {
  DVNN_ASSIGN(const Pool pool, custom_pool(node));
  DVNN_ASSIGN(const std::string in, node.picture(0));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  // Indices count in the picture's size, so the result of MaxUnpooling2D must have that size.
  if (dims[1] % pool.window.stride_y != 0 || dims[2] % pool.window.stride_x != 0) {
    return unsupported("the picture of " + given_shape_text(dims) +
                       " is no whole number of strides");
  }
  DVNN_ASSIGN(const auto made, node.run("MaxPool", {in}, attributes_of(pool), 2));
  DVNN_TRY(node.done_picture(made[0]));
  return node.done_at(1, made[1], true);
}

Status import_tflite_unpool(const TfliteNode& node) {
  DVNN_ASSIGN(const Pool pool, custom_pool(node));
  DVNN_ASSIGN(const std::string in, node.picture(0));
  DVNN_ASSIGN(const std::string places, node.picture(1));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  const std::vector<int64_t> size = {dims[0], dims[3], dims[1] * pool.window.stride_y,
                                     dims[2] * pool.window.stride_x};
  return node.done_picture(
      node.run("MaxUnpool", {in, places, node.list(size)},
               {{"kernel_shape", std::vector<int64_t>{pool.height, pool.width}},
                {"strides", std::vector<int64_t>{pool.window.stride_y, pool.window.stride_x}}}));
}

}  // namespace dvnn::import
