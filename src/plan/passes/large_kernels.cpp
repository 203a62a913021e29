// SPDX-License-Identifier: Apache-2.0
// Splits kernels that are longer than the device's along one axis or both.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/grid.h"
#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

// The taps [first, first + count) of a kernel, whose own elements are [from, to), and the elements
// [begin, end) of the input that they read, with the pads around these.
struct Taps {
  int first, count, from, to;
  int begin, end, before, after;
};

// One axis of a convolution.
struct Axis {
  int in, out, kernel, stride, dilation, before;
};

Axis axis_of(const Node& node, const Shape& in, const Shape& out, bool along_x) {
  const device::ConvRun& run = node.run;
  if (along_x) {
    return {in.w(), out.w(), run.kernel.x, run.stride.x, run.dilation.x, run.conv_pad.left};
  }
  return {in.h(), out.h(), run.kernel.y, run.stride.y, run.dilation.y, run.conv_pad.top};
}

// Finds what the taps [from, to) read. If the input has a few elements more at an end, the kernel
// gets taps of 0 for them, up to `most` taps, because the input need not be cut then. Empty if the
// taps read nothing but pads.
std::optional<Taps> taps_of(const Axis& axis, int from, int to, int most) {
  int first = from, last = to;
  const auto begins = [&] { return first * axis.dilation - axis.before; };
  const auto ends = [&] {
    return begins() + (axis.out - 1) * axis.stride + (last - first - 1) * axis.dilation + 1;
  };
  while (last - first < most && begins() - axis.dilation >= 0) --first;
  if (begins() > 0) first = from;
  while (last - first < most && ends() + axis.dilation <= axis.in) ++last;
  if (ends() < axis.in) last = to;
  const int begin = begins(), end = ends();
  if (begin >= axis.in || end <= 0) return std::nullopt;
  // Fewer elements than a stride more make no further result.
  const bool whole = end > axis.in - axis.stride;
  return Taps{first,
              last - first,
              from,
              to,
              std::max(begin, 0),
              whole ? axis.in : end,
              std::max(-begin, 0),
              std::max(end - axis.in, 0)};
}

// Copies the taps of each kernel, with zeros around them.
std::vector<float> weights_of(const Node& node, bool along_x, const Taps& taps) {
  const device::Extent kernel = node.run.kernel;
  const int across = along_x ? taps.count : kernel.x, down = along_x ? kernel.y : taps.count;
  const size_t kernels = node.weights.size() / grid_size(kernel.x, kernel.y);
  std::vector<float> weights;
  weights.reserve(kernels * grid_size(across, down));
  for (size_t k = 0; k < kernels; ++k) {
    const float* const own = node.weights.data() + k * grid_size(kernel.x, kernel.y);
    for (int y = 0; y < down; ++y) {
      for (int x = 0; x < across; ++x) {
        const int tap = taps.first + (along_x ? x : y);
        const bool given = tap >= taps.from && tap < taps.to;
        weights.push_back(given ? own[grid_index(along_x ? tap : x, along_x ? y : tap, kernel.x)]
                                : 0);
      }
    }
  }
  return weights;
}

class KernelSplitter {
 public:
  /// `both`: splits kernels that are too long along both axes, along x. Other kernels that are too
  /// long along one axis are split along that one.
  KernelSplitter(Graph* graph, const PlanOptions& options, bool both)
      : graph_(*graph), rewriter_(graph), limits_(options.limits), both_(both) {}

  Status run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      DVNN_TRY(rewriter_.check_size());
      if (rewriter_.node(i).op == Op::kConvolution && !rewriter_.node(i).dead) split(i);
    }
    rewriter_.finish();
    return {};
  }

 private:
  // Replaces a convolution by two, and their sum, if the device can compute these.
  void split(size_t index) {
    const Node node = rewriter_.node(index);
    const device::Extent kernel = node.run.kernel;
    const bool along_x = kernel.x > limits_.kernel;
    const int size = along_x ? kernel.x : kernel.y, other = along_x ? kernel.y : kernel.x;
    if (size <= limits_.kernel || std::max(size, other) > 2 * limits_.kernel ||
        (other > limits_.kernel) != both_ || device::is_deconv(node.run.conv)) {
      return;
    }
    const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
    const Axis axis = axis_of(node, in, out, along_x);
    const auto first = taps_of(axis, 0, size / 2, limits_.kernel);
    const auto second = taps_of(axis, size / 2, size, limits_.kernel);
    if (!first || !second) return;
    for (const Taps& taps : {*first, *second}) {
      const bool fit = both_ ? fits_along_y(node, in, out, taps) : fits(node, in, along_x, taps);
      if (!fit) return;
    }
    rewriter_.take(index);
    Node sum;
    sum.op = Op::kAdd;
    sum.name = node.name;
    sum.layers = node.layers;
    sum.output = node.output;
    sum.inputs = {add_part(index, node, along_x, *first, "_taps0"),
                  add_part(index, node, along_x, *second, "_taps1")};
    rewriter_.replace(index, std::move(sum));
  }

  Node part_of(const Node& node, bool along_x, const Taps& taps) const {
    Node part = node;
    (along_x ? part.run.kernel.x : part.run.kernel.y) = taps.count;
    (along_x ? part.run.conv_pad.left : part.run.conv_pad.top) = taps.before;
    (along_x ? part.run.conv_pad.right : part.run.conv_pad.bottom) = taps.after;
    return part;
  }

  bool fits(const Node& node, const Shape& in, bool along_x, const Taps& taps) const {
    const int size = taps.end - taps.begin;
    const Node part = part_of(node, along_x, taps);
    const device::Dims dims = {along_x ? size : in.w(), along_x ? in.h() : size, in.c()};
    return device::misfit(part.run, dims, limits_).empty();
  }

  // Returns whether a convolution by some columns of taps can be split along y, too.
  bool fits_along_y(const Node& node, const Shape& in, const Shape& out,
                    const Taps& columns) const {
    const Node part = part_of(node, true, columns);
    Shape some = in;
    some[3] = columns.end - columns.begin;
    const Axis axis = axis_of(part, some, out, false);
    for (const auto& [from, to] :
         {std::pair(0, axis.kernel / 2), std::pair(axis.kernel / 2, axis.kernel)}) {
      const auto taps = taps_of(axis, from, to, limits_.kernel);
      if (!taps || !fits(part, some, false, *taps)) return false;
    }
    return true;
  }

  // Adds a convolution by some taps before the node at `index`; returns its value.
  int add_part(size_t index, const Node& node, bool along_x, const Taps& taps,
               const std::string& suffix) {
    Node part = part_of(node, along_x, taps);
    part.name += suffix;
    part.saved = -1;  // its weights are not those of the saved node
    part.weights = weights_of(node, along_x, taps);
    if (taps.from > 0) std::fill(part.bias.begin(), part.bias.end(), 0.0f);
    const Shape in = graph_.shape_of(node.inputs[0]);
    const int dim = along_x ? 3 : 2, size = taps.end - taps.begin;
    if (size < in[dim]) {
      Node slice;
      slice.op = Op::kCpu;
      slice.name = part.name + "_in";
      slice.layers = node.layers;
      slice.why = "the part of the input that some of the kernel's taps read";
      slice.inputs = {node.inputs[0]};
      layers::SliceAttributes attributes = {{0, 0, 0, 0}, {1, 1, 1, 1}, {-1, -1, -1, -1}};
      nth(attributes.begin, dim) = taps.begin;
      nth(attributes.count, dim) = size;
      slice.set_layer(attributes);
      Shape some = in;
      some[dim] = size;
      slice.output = part.inputs[0] = rewriter_.add_value(slice.name, some);
      rewriter_.insert_before(index, std::move(slice));
    }
    const int value = part.output = rewriter_.add_value(part.name, graph_.shape_of(node.output));
    rewriter_.insert_before(index, std::move(part));
    return value;
  }

  Graph& graph_;
  Rewriter rewriter_;
  const device::Limits limits_;
  const bool both_;
};

}  // namespace

Status split_large_kernels(Graph* graph, const PlanOptions& options) {
  if (options.as_vendor) return {};
  DVNN_TRY(KernelSplitter(graph, options, true).run());
  return KernelSplitter(graph, options, false).run();
}

}  // namespace dvnn::plan
