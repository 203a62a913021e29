// SPDX-License-Identifier: Apache-2.0
// Places that are moved before a picture is sampled there, and columns of windows that become a
// picture again.
#include <functional>
#include <numeric>

#include "base/format.h"
#include "import/onnx/operators.h"
#include "import/onnx/operators/windows.h"

namespace dvnn::import {
namespace {

using kernels::Operation;

constexpr int64_t kMostSize = 1 << 24;  // beyond, floats do not count places one by one

// -1 to 1 from one side to the other: of the middles of the outer elements, or of their edges.
float place_of(int64_t at, int64_t size, bool align_corners) {
  const double steps = static_cast<double>(align_corners ? size - 1 : size);
  if (align_corners && size == 1) return 0;
  const double from = align_corners ? -1 : -1 + 1 / steps;
  return static_cast<float>(from + 2 * static_cast<double>(at) / steps);
}

int64_t product_of(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

Status check_sizes(const OnnxNode& node, const char* what, const std::vector<int64_t>& sizes) {
  uint64_t all = 1;
  for (int64_t size : sizes) {
    DVNN_TRY(check_onnx_number(what, size, 1));
    if (size > kMostSize || (all *= static_cast<uint64_t>(size)) > kMostSize) {
      return too_large(
          format("%s: more than %lld places", what, static_cast<long long>(kMostSize)));
    }
  }
  return node.importer().check_numbers(all);
}

// Numbers of each axis of a picture or a line; `fallback` where the attribute is absent.
Result<std::vector<int64_t>> numbers_of(const OnnxNode& node, const char* attribute, size_t count,
                                        int64_t fallback, int64_t least) {
  std::vector<int64_t> list = node.integers(attribute);
  if (list.empty()) list.assign(count, fallback);
  if (list.size() != count) {
    return malformed(format("%s has %zu numbers, not %zu", attribute, list.size(), count));
  }
  for (int64_t number : list) DVNN_TRY(check_onnx_number(attribute, number, least));
  return list;
}

}  // namespace

// The places of a grid, each as (x, y, [z,] 1), times the matrix of each picture.
Status import_onnx_affine_grid(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int theta, node.value(0));
  DVNN_ASSIGN(const auto given, node.constant(1));
  const Shape shape = b.shape_of(theta);
  std::vector<int64_t> sizes = given->ints();
  if (sizes.size() < 4 || sizes.size() > 5) {
    return malformed(format("its size has %zu numbers", sizes.size()));
  }
  sizes.erase(sizes.begin(), sizes.begin() + 2);
  const auto axes = static_cast<int>(sizes.size());
  if (shape.rank != 3 || shape[1] != axes || shape[2] != axes + 1) {
    return malformed(shape.to_string() + format(" is no matrix for %d axes", axes));
  }
  DVNN_TRY(check_sizes(node, "its size", sizes));
  const bool corners = node.integer("align_corners", 0) != 0;
  std::vector<float> places;
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t i = product_of(sizes); i-- > 0;) {
    for (size_t axis = sizes.size(); axis-- > 0;) {
      places.push_back(place_of(index[axis], sizes[axis], corners));
    }
    places.push_back(1);
    for (size_t axis = sizes.size(); axis-- > 0 && ++index[axis] == sizes[axis];) index[axis] = 0;
  }
  const std::string& name = node.name();
  DVNN_ASSIGN(const int grid,
              b.constant(name + "_places", {product_of(sizes), axes + 1}, std::move(places)));
  DVNN_ASSIGN(const int turned, b.permute(name + "_turned", theta, {0, 2, 1}));
  DVNN_ASSIGN(const int moved, b.cpu(name + "_moved", layers::MatMulAttributes(), {grid, turned}));
  std::vector<int64_t> dims = sizes;
  dims.insert(dims.begin(), shape[0]);
  dims.push_back(axes);
  return node.done(b.reshape(name, moved, dims));
}

namespace {

// The windows of Col2Im.
struct Columns {
  std::vector<int64_t> image, block, stride, dilation, pads;

  // How often the window fits along an axis.
  int64_t count(size_t axis) const {
    const int64_t reach = (block[axis] - 1) * dilation[axis] + 1;
    const int64_t room = image[axis] + pads[axis] + pads[axis + image.size()] - reach;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
};

Result<Columns> read_columns(const OnnxNode& node) {
  Columns columns;
  DVNN_ASSIGN(const auto image, node.constant(1));
  DVNN_ASSIGN(const auto block, node.constant(2));
  columns.image = image->ints();
  columns.block = block->ints();
  const size_t axes = columns.image.size();
  if (axes < 1 || axes > 3 || columns.block.size() != axes) {
    return unsupported(format("images of %zu axes are not supported", axes));
  }
  DVNN_ASSIGN(columns.stride, numbers_of(node, "strides", axes, 1, 1));
  DVNN_ASSIGN(columns.dilation, numbers_of(node, "dilations", axes, 1, 1));
  DVNN_ASSIGN(columns.pads, numbers_of(node, "pads", 2 * axes, 0, 0));
  DVNN_TRY(check_sizes(node, "the image", columns.image));
  DVNN_TRY(check_sizes(node, "the block", columns.block));
  return columns;
}

// Where each element of each window lies in the image, its pixels counted in a row; what lies
// beyond its sides has no place.
std::vector<float> places_of(const Columns& columns) {
  const size_t axes = columns.image.size();
  std::vector<int64_t> sizes = columns.block;
  for (size_t axis = 0; axis < axes; ++axis) sizes.push_back(columns.count(axis));
  std::vector<int64_t> index(sizes.size(), 0);
  std::vector<float> places;
  for (int64_t i = product_of(sizes); i-- > 0;) {
    int64_t place = 0;
    bool inside = true;
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t at = index[axes + axis] * columns.stride[axis] - columns.pads[axis] +
                         index[axis] * columns.dilation[axis];
      inside = inside && at >= 0 && at < columns.image[axis];
      place = place * columns.image[axis] + at;
    }
    // Scatter leaves out rows beyond the last.
    places.push_back(static_cast<float>(inside ? place : product_of(columns.image)));
    for (size_t axis = sizes.size(); axis-- > 0 && ++index[axis] == sizes[axis];) index[axis] = 0;
  }
  return places;
}

}  // namespace

Status import_onnx_col2im(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  const Shape shape = b.shape_of(in);
  DVNN_ASSIGN(const Columns columns, read_columns(node));
  const int64_t block = product_of(columns.block), pixels = product_of(columns.image);
  int64_t windows = 1;
  for (size_t axis = 0; axis < columns.image.size(); ++axis) windows *= columns.count(axis);
  if (shape.rank != 3 || shape[1] % block != 0 || windows < 1 || shape[2] != windows) {
    return malformed(shape.to_string() + format(" are not %lld windows of %lld elements",
                                                static_cast<long long>(windows),
                                                static_cast<long long>(block)));
  }
  DVNN_TRY(check_sizes(node, "the windows' elements", {block, windows}));
  const int64_t channels = int64_t{shape[0]} * shape[1] / block;
  const std::string& name = node.name();
  DVNN_ASSIGN(const int flat, b.reshape(name + "_flat", in, {channels, block * windows}));
  DVNN_ASSIGN(const int rows, b.permute(name + "_rows", flat, {1, 0}));
  DVNN_ASSIGN(const int places,
              b.constant(name + "_places", {block * windows}, places_of(columns)));
  const auto none = static_cast<size_t>(pixels * channels);
  DVNN_TRY(node.importer().check_numbers(none));
  DVNN_ASSIGN(const int empty,
              b.constant(name + "_empty", {pixels, channels}, std::vector<float>(none)));
  layers::ScatterAttributes add;
  add.operation = layers::ScatterAttributes::Operation::kAdd;
  DVNN_ASSIGN(const int sums, b.cpu(name + "_sums", add, {empty, places, rows}));
  DVNN_ASSIGN(const int turned, b.permute(name + "_turned", sums, {1, 0}));
  std::vector<int64_t> dims = columns.image;
  dims.insert(dims.begin(), {shape[0], shape[1] / block});
  return node.done(b.reshape(name, turned, dims));
}

namespace {

// A convolution whose windows' elements are taken where offsets say.
struct Deformed {
  std::vector<int64_t> kernel, stride, dilation, pads;  // y first
  int64_t groups = 1, offset_groups = 1;
  Shape in, out;  // out: of the offsets

  int64_t taps() const { return kernel[0] * kernel[1]; }
};

Result<Deformed> read_deformed(const OnnxNode& node, const OnnxConstant& weights) {
  GraphBuilder& b = node.builder();
  Deformed rule;
  if (weights.dims.size() != 4) return unsupported("only pictures are supported");
  rule.kernel = {weights.dims[2], weights.dims[3]};
  DVNN_ASSIGN(rule.stride, numbers_of(node, "strides", 2, 1, 1));
  DVNN_ASSIGN(rule.dilation, numbers_of(node, "dilations", 2, 1, 1));
  DVNN_ASSIGN(rule.pads, numbers_of(node, "pads", 4, 0, 0));
  rule.groups = node.integer("group", 1);
  rule.offset_groups = node.integer("offset_group", 1);
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int offsets, node.value(2));
  rule.in = b.shape_of(in);
  rule.out = b.shape_of(offsets);
  const bool pictures =
      rule.in.rank == 4 && rule.in.n() == 1 && rule.out.rank == 4 && rule.out.n() == 1;
  const bool fits = pictures && rule.groups >= 1 && rule.offset_groups >= 1 &&
                    rule.in.c() % rule.offset_groups == 0 && rule.groups <= rule.in.c() &&
                    weights.dims[1] * rule.groups == rule.in.c() &&
                    weights.dims[0] % rule.groups == 0 &&
                    rule.out.c() == 2 * rule.taps() * rule.offset_groups;
  if (fits) return rule;
  return unsupported(
      rule.in.to_string() + " with offsets " + rule.out.to_string() +
      " and these weights is no picture with an offset for each element of its windows");
}

// Where windows' elements lie without offsets, (taps, y, x, 2), x first, in elements.
Result<int> undeformed_places(const OnnxNode& node, const Deformed& rule) {
  DVNN_TRY(check_sizes(node, "the places", {rule.taps(), rule.out.h(), rule.out.w(), 2}));
  std::vector<float> places;
  for (int64_t tap = 0; tap < rule.taps(); ++tap) {
    const int64_t ky = tap / rule.kernel[1] * rule.dilation[0] - rule.pads[0];
    const int64_t kx = tap % rule.kernel[1] * rule.dilation[1] - rule.pads[1];
    for (int64_t y = 0; y < rule.out.h(); ++y) {
      for (int64_t x = 0; x < rule.out.w(); ++x) {
        places.push_back(static_cast<float>(x * rule.stride[1] + kx));
        places.push_back(static_cast<float>(y * rule.stride[0] + ky));
      }
    }
  }
  return node.builder().constant(node.name() + "_places",
                                 {rule.taps(), rule.out.h(), rule.out.w(), 2}, std::move(places));
}

// The offset places as a grid of GridSample: (offset groups, taps * y, x, 2).
Result<int> grid_of(const OnnxNode& node, const Deformed& rule) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  const int64_t g = rule.offset_groups, taps = rule.taps(), h = rule.out.h(), w = rule.out.w();
  DVNN_ASSIGN(int at, node.value(2));
  DVNN_ASSIGN(at, b.reshape(name + "_offsets", at, {g * taps, 2, h, w}));
  DVNN_ASSIGN(at, b.permute(name + "_pairs", at, {0, 2, 3, 1}));
  DVNN_ASSIGN(const int swap, b.constant(name + "_x_first", {2}, {1, 0}));
  DVNN_ASSIGN(at, b.cpu(name + "_swapped", layers::GatherAttributes{3}, {at, swap}));
  DVNN_ASSIGN(at, b.reshape(name + "_by_group", at, {g, taps, h, w, 2}));
  DVNN_ASSIGN(const int places, undeformed_places(node, rule));
  DVNN_ASSIGN(at, b.binary(name + "_moved", Operation::kAdd, at, places));
  const float sides[] = {static_cast<float>(rule.in.w()), static_cast<float>(rule.in.h())};
  DVNN_ASSIGN(const int scale, b.constant(name + "_scale", {2}, {2 / sides[0], 2 / sides[1]}));
  DVNN_ASSIGN(const int shift,
              b.constant(name + "_shift", {2}, {1 / sides[0] - 1, 1 / sides[1] - 1}));
  DVNN_ASSIGN(at, b.binary(name + "_scaled", Operation::kMul, at, scale));
  DVNN_ASSIGN(at, b.binary(name + "_shifted", Operation::kAdd, at, shift));
  return b.reshape(name + "_grid", at, {g, taps * h, w, 2});
}

}  // namespace

// What each window sees becomes the channels of one pixel, on which the weights work as a
// convolution of 1 x 1. Source: Zhu et al., "Deformable ConvNets v2" (2019).
Status import_onnx_deform_conv(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const auto weights, node.constant(1));
  DVNN_ASSIGN(const Deformed rule, read_deformed(node, *weights));
  const std::string& name = node.name();
  const int64_t g = rule.offset_groups, taps = rule.taps(), h = rule.out.h(), w = rule.out.w();
  const int64_t c = rule.in.c();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int parts,
              b.reshape(name + "_parts", in, {g, c / g, rule.in.h(), rule.in.w()}));
  DVNN_ASSIGN(const int grid, grid_of(node, rule));
  DVNN_ASSIGN(int seen, b.cpu(name + "_seen", layers::GridSampleAttributes(), {parts, grid}));
  if (node.has(4)) {
    DVNN_ASSIGN(const int mask, node.value(4));
    DVNN_ASSIGN(const int own, b.reshape(name + "_mask", mask, {g, 1, taps * h, w}));
    DVNN_ASSIGN(seen, b.binary(name + "_masked", Operation::kMul, seen, own));
  }
  DVNN_ASSIGN(seen, b.reshape(name + "_windows", seen, {1, c * taps, h, w}));
  ConvSpec spec;
  spec.outputs = weights->dims[0];
  spec.groups = rule.groups;
  std::vector<float> bias;
  if (node.has(3)) {
    DVNN_ASSIGN(const auto given, node.constant(3));
    bias = given->floats();
  }
  return node.done(b.convolution(name, seen, spec, weights->floats(), std::move(bias)));
}

}  // namespace dvnn::import
