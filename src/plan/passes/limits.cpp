// SPDX-License-Identifier: Apache-2.0
// Fits nodes to the device's limits: pixels are counted in another width and height if their order
// does not matter; windows work strip by strip; the CPU does the rest.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/nth.h"
#include "device/limits.h"
#include "plan/graph/saved_graph.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

// Returns how many channels a part may have, so that the fewest parts fit; empty if none does.
std::optional<int> channels_that_fit(const Node& node, const Shape& in,
                                     const device::Limits& limits) {
  constexpr auto kMost = static_cast<int>(network::kMostWeightParts) + 1;
  for (int parts = 2; parts <= kMost; ++parts) {
    const int channels = channels_of_part(in.c(), parts);
    if (channels >= in.c()) break;
    if (device::misfit(node.run, {in.w(), in.h(), channels}, limits).empty()) return channels;
  }
  return std::nullopt;
}

// Returns the weights (m, count, ky, kx) of the channels from `first` on.
std::vector<float> weights_of(const Node& node, int channels, int first, int count) {
  const size_t outputs = node.run.outputs(), all = node.weights.size() / outputs;
  const size_t taps = all / static_cast<size_t>(channels);
  std::vector<float> part;
  for (size_t m = 0; m < outputs; ++m) {
    const auto begin =
        node.weights.begin() + static_cast<ptrdiff_t>(m * all + static_cast<size_t>(first) * taps);
    part.insert(part.end(), begin, begin + static_cast<ptrdiff_t>(taps) * count);
  }
  return part;
}

// Replaces the convolution at `index`, whose input does not fit the unified buffer, by convolutions
// of some chunks of its channels each, which are read in place, and their sum, which the device
// adds up in binary16. Returns false, and changes nothing, if no such parts fit the limits. Strips,
// which round once, come first where they are possible; a dilated convolution's result must have
// its input's size, so it has none.
bool sum_over_channels(Rewriter* rewriter, size_t index, const device::Limits& limits) {
  const Node& whole = rewriter->node(index);
  if (whole.op != Op::kConvolution || whole.groups != 1 || whole.inputs.size() != 1 ||
      device::is_depthwise(whole.run.conv)) {
    return false;
  }
  const Shape in = rewriter->graph().shape_of(whole.inputs[0]);
  const Shape out = rewriter->graph().shape_of(whole.output);
  const auto channels = channels_that_fit(whole, in, limits);
  if (!channels) return false;
  const Node node = rewriter->take(index);
  int sum = -1;
  for (int first = 0; first < in.c(); first += *channels) {
    const int count = std::min(*channels, in.c() - first);
    const bool last = first + count == in.c();
    const std::string name = node.name + "_channels" + std::to_string(first);
    Node slice;
    slice.op = Op::kCpu;
    slice.name = name + "_in";
    slice.layers = node.layers;
    slice.set_layer(channels_from(first, count));
    slice.inputs = {node.inputs[0]};
    slice.output = rewriter->add_value(slice.name, {1, count, in.h(), in.w()});
    Node part = node;
    part.name = name;
    part.inputs = {slice.output};
    part.weights = weights_of(node, in.c(), first, count);
    part.part = first / *channels;
    part.parts = (in.c() + *channels - 1) / *channels;
    if (first > 0) std::fill(part.bias.begin(), part.bias.end(), 0.0f);
    part.output = rewriter->add_value(name, out);
    Node add;
    add.op = Op::kAdd;
    add.name = last ? node.name : name + "_sum";
    add.layers = node.layers;
    add.inputs = {part.output, sum};  // the part adds what is there already
    rewriter->insert_before(index, std::move(slice));
    rewriter->insert_before(index, std::move(part));
    if (first == 0) {
      sum = add.inputs[0];
    } else if (last) {
      add.output = node.output;
      rewriter->replace(index, std::move(add));
    } else {
      sum = add.output = rewriter->add_value(add.name, out);
      rewriter->insert_before(index, std::move(add));
    }
  }
  return true;
}

using device::Extent;
using device::Limits;
using device::PoolKind;

// The window of a run along one axis: of a dilated convolution, of a pooling, or of the two-fold
// upsampling.
struct Window {
  int size = 1, stride = 1, before = 0;
  int repeats = 1;  // number of results for each element
};

// The elements [begin, end) of an input, and the pads around them, from which a run makes `count`
// results.
struct Piece {
  int begin = 0, end = 0, before = 0, after = 0, count = 0;
};

Window window_of(const Node& node, bool along_x) {
  const device::ConvRun& run = node.run;
  const auto along = [along_x](Extent e) { return along_x ? e.x : e.y; };
  if (node.op == Op::kConvolution) {
    const int size = (along(run.kernel) - 1) * along(run.dilation) + 1;
    return {size, along(run.stride), along_x ? run.conv_pad.left : run.conv_pad.top, 1};
  }
  if (run.pool == PoolKind::kUpsample) return {1, 1, 0, 2};
  return {along(run.pool_size), along(run.pool_stride),
          along_x ? run.pool_pad.left : run.pool_pad.top, 1};
}

// Cuts a window's `out` results over `in` elements into `count` pieces; empty if a piece would read
// nothing but pads.
std::vector<Piece> pieces_of(const Window& window, int in, int out, int count) {
  std::vector<Piece> pieces;
  const int windows = out / window.repeats;
  for (int i = 0; i < count; ++i) {
    const auto bound = [&](int k) { return static_cast<int>(int64_t{windows} * k / count); };
    const int first = bound(i), last = bound(i + 1) - 1;
    const int begin = first * window.stride - window.before;
    const int end = last * window.stride - window.before + window.size;
    const Piece piece = {std::max(begin, 0), std::min(end, in), std::max(-begin, 0),
                         std::max(end - in, 0), (last + 1 - first) * window.repeats};
    if (piece.count < 1 || piece.begin >= piece.end) return {};
    pieces.push_back(piece);
  }
  return pieces;
}

// Returns whether a node may be cut into strips. Averages over pads depend on the whole picture's
// size, which a strip does not have; and strips reduce neither kernel nor channels.
bool may_be_cut(const Node& node, int channels, const Limits& limits) {
  if (std::max(channels, node.run.m) > limits.channels) return false;
  if (node.op == Op::kConvolution) {
    return !device::is_deconv(node.run.conv) && node.run.dilation.x == 1 &&
           node.run.dilation.y == 1 &&
           std::max(node.run.kernel.x, node.run.kernel.y) <= limits.kernel;
  }
  if (node.op != Op::kPooling || node.pooling().global) return false;
  const device::Pad& pad = node.run.pool_pad;
  return node.run.pool != PoolKind::kAverage ||
         (!node.pooling().ceil && pad.left + pad.right + pad.top + pad.bottom == 0);
}

// Returns which limit a node exceeds. Poolings are split into the device's windows later, so only
// their inputs and results are checked.
std::string misfit_of(const Node& node, const Shape& in, const Shape& out, const Limits& limits) {
  if (node.op == Op::kConvolution)
    return device::misfit(node.run, {in.w(), in.h(), in.c()}, limits);
  device::ConvRun pixel_by_pixel;
  pixel_by_pixel.m = in.c();
  const std::string of_input = device::misfit(pixel_by_pixel, {in.w(), in.h(), in.c()}, limits);
  if (!of_input.empty()) return of_input;
  return device::misfit(pixel_by_pixel, {out.w(), out.h(), out.c()}, limits);
}

class DeviceFitter {
 public:
  DeviceFitter(Graph* graph, const PlanOptions& options)
      : graph_(*graph), rewriter_(graph), limits_(options.limits), as_vendor_(options.as_vendor) {}

  Status run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      DVNN_TRY(rewriter_.check_size());
      const Node& node = rewriter_.node(i);
      if (node.dead) continue;
      if (node.op == Op::kConvolution || node.op == Op::kPooling) {
        DVNN_TRY(fit_windows(i));
      } else if (node.op == Op::kInnerProduct) {
        fit_inner_product(i);
      }
    }
    rewriter_.finish();
    return {};
  }

 private:
  Status fit_windows(size_t index) {
    Node& node = rewriter_.node(index);
    const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
    const std::string why = misfit_of(node, in, out, limits_);
    if (why.empty()) return {};
    if (as_vendor_) return too_large(why).within("layer '" + node.name + "'");
    node.why = why;
    if (fold(&node, graph_, limits_)) return {};
    if (node.op == Op::kPooling && node.pooling().global) return {};  // lower_poolings() folds it
    if (cut(index) || sum_over_channels(&rewriter_, index, limits_)) return {};
    if (node.op == Op::kConvolution) {
      to_cpu_convolution(&node);
    } else {
      to_cpu_pooling(&node, out);
    }
    return {};
  }

  // Turns a product of more numbers than a command's channels into a 1x1 convolution on the CPU.
  void fit_inner_product(size_t index) {
    Node node = rewriter_.node(index);
    const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
    const auto inputs = static_cast<int>(in.elements());
    const int most = std::max(inputs, node.run.m);
    if (most <= limits_.channels) return;
    const auto reshape = [&](int from, const std::string& name, const Shape& shape, int to) {
      Node made;
      made.op = Op::kReshape;
      made.name = name;
      made.layers = node.layers;
      made.inputs = {from};
      made.output = to >= 0 ? to : rewriter_.add_value(name, shape);
      made.set_layer(layers::ReshapeAttributes{{shape.dims, shape.dims + shape.rank}});
      return made;
    };
    Node flat = reshape(node.inputs[0], node.name + "_in", {1, inputs, 1, 1}, -1);
    const int made = rewriter_.add_value(node.name + "_out", {1, node.run.m, 1, 1});
    Node last = reshape(made, node.name, out, node.output);
    rewriter_.take(index);
    node.inputs = {flat.output};
    node.output = made;
    node.attributes = {};
    node.why = format("%d channels exceed the device's limit of %d", most, limits_.channels);
    to_cpu_convolution(&node);
    rewriter_.insert_before(index, std::move(flat));
    rewriter_.insert_before(index, std::move(node));
    rewriter_.replace(index, std::move(last));
  }

  // Replaces the node at `index` by strips of itself, joined, if the device can compute them.
  bool cut(size_t index) {
    const Node node = rewriter_.node(index);
    if (!may_be_cut(node, graph_.shape_of(node.inputs[0]).c(), limits_)) return false;
    std::vector<Node> made;
    // An activation that reads the result works on strips, too, and costs nothing there.
    const int reader = sole_activation(index);
    std::optional<Node> activation;
    if (reader >= 0) activation = rewriter_.node(reader);
    const int result = activation ? activation->output : node.output;
    const auto joined = strips(node, activation, result, &made);
    if (!joined) return false;
    rewriter_.take(index);
    const size_t place = reader >= 0 ? static_cast<size_t>(reader) : index;
    if (reader >= 0) rewriter_.take(reader);
    for (Node& part : made) rewriter_.insert_before(index, std::move(part));
    rewriter_.replace(place, *joined);
    return true;
  }

  // Returns the index of an activation that alone reads the result of the node at `index`; else -1.
  int sole_activation(size_t index) {
    const int value = rewriter_.node(index).output;
    if (rewriter_.is_output(value) || rewriter_.readers(value) != 1) return -1;
    for (size_t i = index + 1; i < rewriter_.count(); ++i) {
      const Node& node = rewriter_.node(i);
      if (node.dead || node.inputs.empty() || node.inputs[0] != value) continue;
      return node.op == Op::kActivation ? static_cast<int>(i) : -1;
    }
    return -1;
  }

  // Adds strips of `node` to `made`, and returns the join of them that makes `result`.
  std::optional<Node> strips(const Node& node, const std::optional<Node>& activation, int result,
                             std::vector<Node>* made) {
    const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
    constexpr int kMostStrips = 32;
    const bool wide = std::max(in.w(), out.w()) > limits_.width;
    const int axis = wide ? 3 : 2;
    for (int count = 2; count <= std::min(kMostStrips, out[axis]); ++count) {
      const auto pieces = pieces_of(window_of(node, wide), in[axis], out[axis], count);
      if (pieces.empty()) return std::nullopt;
      // Strips that are too high are cut again, along the other axis.
      const bool fit = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
        if (wide) return std::max(piece.end - piece.begin, piece.count) <= limits_.width;
        Node strip = node;
        Shape from = in, to = out;
        from[axis] = piece.end - piece.begin, to[axis] = piece.count;
        set_pads(&strip, axis, piece);
        return misfit_of(strip, from, to, limits_).empty();
      });
      if (fit) return strips_along(node, activation, axis, pieces, result, made);
    }
    return std::nullopt;
  }

  std::optional<Node> strips_along(const Node& node, const std::optional<Node>& activation,
                                   int axis, const std::vector<Piece>& pieces, int result,
                                   std::vector<Node>* made) {
    Node joined;
    joined.op = Op::kConcat;
    joined.output = result;
    joined.name = nth(graph_.values, result).name;
    joined.layers = node.layers;
    joined.set_layer(layers::ConcatAttributes{axis});
    const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const std::string name = node.name + "_strip" + std::to_string(i);
      Node slice;
      slice.op = Op::kCpu;
      slice.name = name + "_in";
      slice.layers = node.layers;
      slice.why = "a strip: " + node.why;
      slice.inputs = {node.inputs[0]};
      Shape part = in;
      part[axis] = piece.end - piece.begin;
      layers::SliceAttributes attributes = {{0, 0, 0, 0}, {1, 1, 1, 1}, {-1, -1, -1, -1}};
      nth(attributes.begin, axis) = piece.begin;
      nth(attributes.count, axis) = part[axis];
      slice.set_layer(attributes);
      slice.output = rewriter_.add_value(slice.name, part);
      Node strip = node;
      strip.name = name;
      strip.inputs[0] = slice.output;
      set_pads(&strip, axis, piece);
      part = out;
      part[axis] = piece.count;
      strip.output = rewriter_.add_value(name, part);
      made->push_back(slice);
      joined.inputs.push_back(strip.output);
      if (!misfit_of(strip, graph_.shape_of(slice.output), part, limits_).empty()) {
        // Still too large along the other axis.
        auto inner =
            axis == 3 ? strips(strip, activation, strip.output, made) : std::optional<Node>();
        if (!inner) return std::nullopt;
        made->push_back(std::move(*inner));
        continue;
      }
      if (activation) {
        Node own = *activation;
        own.name = name + "_" + activation->name;
        own.output = std::exchange(strip.output, rewriter_.add_value(own.name, part));
        own.inputs = {strip.output};
        made->push_back(std::move(strip));
        made->push_back(std::move(own));
      } else {
        made->push_back(std::move(strip));
      }
    }
    if (activation) {
      joined.layers.insert(joined.layers.end(), activation->layers.begin(),
                           activation->layers.end());
    }
    return joined;
  }

  static void set_pads(Node* strip, int axis, const Piece& piece) {
    device::Pad& pad = strip->op == Op::kConvolution ? strip->run.conv_pad : strip->run.pool_pad;
    if (strip->run.pool == PoolKind::kUpsample) return;
    (axis == 3 ? pad.left : pad.top) = piece.before;
    (axis == 3 ? pad.right : pad.bottom) = piece.after;
  }

  Graph& graph_;
  Rewriter rewriter_;
  const Limits limits_;
  const bool as_vendor_;
};

}  // namespace

void to_cpu_convolution(Node* node) {
  node->op = Op::kCpu;
  node->set_layer(
      layers::ConvolutionAttributes{convolution_params(*node), node->weights, node->bias});
}

layers::ConvolutionParams convolution_params(const Node& node) {
  const device::ConvRun& run = node.run;
  layers::ConvolutionParams p;
  p.groups = node.groups;
  p.kernel_x = run.kernel.x, p.kernel_y = run.kernel.y;
  p.stride_x = run.stride.x, p.stride_y = run.stride.y;
  p.dilation_x = run.dilation.x, p.dilation_y = run.dilation.y;
  p.left = run.conv_pad.left, p.top = run.conv_pad.top;
  p.transposed =
      run.conv == device::ConvKind::kDeconv || run.conv == device::ConvKind::kDepthwiseDeconv;
  return p;
}

bool fold(Node* node, const Graph& graph, const Limits& limits) {
  const Shape& in = graph.shape_of(node->inputs[0]);
  const bool picture = in.rank == 4 && in.n() == 1;
  if (in.rank == 4 && !picture) return false;
  // Other values count as one pixel with all elements as channels.
  const device::Dims dims = picture ? device::Dims{in.w(), in.h(), in.c()}
                                    : device::Dims{1, 1, static_cast<int>(in.elements())};
  const std::string why = device::misfit(node->run, dims, limits);
  if (why.empty()) return true;
  if (!picture || !device::works_by_pixel(node->run)) return false;
  const device::Dims folded = device::fold_pixels(node->run, dims, limits);
  if (folded.w == 0) return false;
  node->fold = {folded.w, folded.h};
  node->why = why;
  return true;
}

Status fit_device(Graph* graph, const PlanOptions& options) {
  return DeviceFitter(graph, options).run();
}

}  // namespace dvnn::plan
