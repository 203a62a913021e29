// SPDX-License-Identifier: Apache-2.0
// Windows over pictures, as ONNX describes them. Private to the ONNX front end.
#pragma once

#include "import/onnx/import.h"

namespace dvnn::import {

/// Returns two numbers per picture axis, y first (1 and the given one for a line); `fallback` if
/// the attribute is absent.
Result<std::vector<int64_t>> onnx_pair(const OnnxNode& node, const char* attribute,
                                       int64_t fallback);

/// Checks a number before it is used: files may hold any.
Status check_onnx_number(const char* what, int64_t value, int64_t least);

struct OnnxPads {
  int64_t left = 0, right = 0, top = 0, bottom = 0;
};

/// Reads the attributes auto_pad and pads of a window of reach_y x reach_x elements.
Result<OnnxPads> onnx_pads(const OnnxNode& node, const Shape& in, int64_t reach_x, int64_t reach_y,
                           int64_t stride_x, int64_t stride_y);

/// Calls build(name, picture) for each picture of the first input and joins what they make. A line
/// (n, c, w) is a picture of one row.
template <typename Build>
Status over_pictures(const OnnxNode& node, Build build) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(int in, node.value(0));
  const Shape given = b.shape_of(in);
  if (given.rank != 3 && given.rank != 4) {
    return unsupported("needs a picture (n x c x h x w) or a line (n x c x w), has " +
                       given.to_string());
  }
  const std::string& name = node.name();
  const bool line = given.rank == 3;
  if (line) {
    DVNN_ASSIGN(in, b.reshape(name + "_row", in, {given[0], given[1], 1, given[2]}));
  }
  std::vector<int> made;
  for (int n = 0; n < given[0]; ++n) {
    const std::string own = given[0] == 1 ? name : name + "_" + std::to_string(n);
    int picture = in;
    if (given[0] > 1) {
      std::vector<int64_t> dims = dims_of(b.shape_of(in));
      dims[0] = 1;
      DVNN_ASSIGN(picture, b.slice(own + "_picture", in, {n, 0, 0, 0}, {1, 1, 1, 1}, dims));
    }
    DVNN_ASSIGN(const int result, build(own, picture));
    made.push_back(result);
  }
  int result = made[0];
  if (made.size() > 1) {
    DVNN_ASSIGN(result, b.concat(line ? name + "_all" : name, made, 0));
  }
  if (!line) return node.done(result);
  const Shape out = b.shape_of(result);
  return node.done(b.reshape(name + "_line", result, {out.n(), out.c(), out.w()}));
}

}  // namespace dvnn::import
