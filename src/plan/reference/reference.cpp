// SPDX-License-Identifier: Apache-2.0
#include "plan/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/nth.h"
#include "layers/attributes.h"
#include "layers/workspace.h"
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

using device::Activation;
using device::ConvRun;
using device::PoolKind;

// A picture as planes of rows of floats.
struct Picture {
  const float* data;
  int c, h, w;
  const float* row(int channel, int y) const { return data + (int64_t{channel} * h + y) * w; }
};

TensorDesc plain(const Shape& shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

std::vector<float> convolve(const Node& node, const Picture& in, const Shape& out) {
  std::vector<float> result(out.count());
  const layers::Workspace::Run run;
  const layers::ConvolutionParams params = convolution_params(node);
  const Shape shape = {1, in.c, in.h, in.w};
  const std::vector<float> packed =
      layers::pack_convolution(params, node.weights.data(), node.bias.data(), shape, out);
  layers::convolve(params, packed.data(), in.data, shape, out, result.data());
  return result;
}

// A window's part of the input, clipped; `padded` is its size clipped to the padded input.
struct Window {
  int begin, end, padded;
};

Window window_at(int index, int stride, int kernel, int before, int after, int size) {
  const int start = index * stride - before;
  return {std::max(start, 0), std::min(start + kernel, size),
          std::min(start + kernel, size + after) - start};
}

std::vector<float> pool(const Node& node, const Picture& in, const Shape& out) {
  const ConvRun& run = node.run;
  const bool counts_pads = node.pooling().counts_pads;
  std::vector<float> result;
  for (int c = 0; c < out.c(); ++c) {
    for (int y = 0; y < out.h(); ++y) {
      for (int x = 0; x < out.w(); ++x) {
        if (run.pool == PoolKind::kUpsample) {
          result.push_back(in.row(c, y / 2)[x / 2]);
          continue;
        }
        const device::Pad& p = run.pool_pad;
        const Window wy = window_at(y, run.pool_stride.y, run.pool_size.y, p.top, p.bottom, in.h);
        const Window wx = window_at(x, run.pool_stride.x, run.pool_size.x, p.left, p.right, in.w);
        float best = std::numeric_limits<float>::lowest(), sum = 0;
        for (int j = wy.begin; j < wy.end; ++j) {
          for (int i = wx.begin; i < wx.end; ++i) {
            best = std::max(best, in.row(c, j)[i]);
            sum += in.row(c, j)[i];
          }
        }
        const int own = (wy.end - wy.begin) * (wx.end - wx.begin);
        const int count = counts_pads ? wy.padded * wx.padded : own;
        // If a pass has chosen the device's factor, it has taken the zeros into account.
        const float mean =
            run.pool_scale != 1 ? sum * run.pool_scale : sum / static_cast<float>(count);
        result.push_back(run.pool == PoolKind::kMax ? best : mean);
      }
    }
  }
  return result;
}

float activated(Activation activation, float param, float slope, float x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return x > 0 ? x : param * x;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kPrelu:
      return x > 0 ? x : slope * x;
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kRelu6:
      return std::min(std::max(x, 0.0f), 6.0f);
  }
  return x;
}

// Returns the index along axis 1 of element i of a tensor.
size_t channel_of(const Shape& shape, size_t i) {
  size_t inner = 1;
  for (int d = 2; d < shape.rank; ++d) inner *= shape.extent(d);
  return i / inner % shape.channels();
}

void activate(const Node& node, const Shape& shape, std::vector<float>* values) {
  if (node.run.activation == Activation::kNone) return;
  for (size_t i = 0; i < values->size(); ++i) {
    const float slope = node.slopes.empty() ? 0 : node.slopes[channel_of(shape, i)];
    (*values)[i] = activated(node.run.activation, node.run.activation_param, slope, (*values)[i]);
  }
}

Shape shape_of(const device::Dims& dims) {
  return {1, dims.c, dims.h, dims.w};
}

// Computes a convolution or pooling with all operations fused into it. `result`: shape of its
// result; `added`: the summand, or null.
std::vector<float> run_command(const Node& node, const Picture& in, const std::vector<float>* added,
                               const Shape& result) {
  const Shape conv = shape_of(device::conv_output(node.run, {in.w, in.h, in.c}));
  const bool pools = node.op == Op::kPooling;
  std::vector<float> out = pools ? pool(node, in, result) : convolve(node, in, conv);
  for (size_t i = 0; added && i < out.size(); ++i) out[i] += (*added)[i];
  if (!pools && node.run.pool != PoolKind::kNone) {
    out = pool(node, {out.data(), conv.c(), conv.h(), conv.w()}, result);
  }
  activate(node, result, &out);
  return out;
}

std::vector<float> run_branches(const Node& node, const Picture& in) {
  std::vector<float> joined, before;
  Picture at = in;
  const auto& branches = std::get<Branches>(node.attributes);
  device::RunWalk walk({in.w, in.h, in.c}, branches.topo);
  for (const Node& part : branches.parts) {
    const device::Dims out = device::run_output(part.run, walk.in());
    std::vector<float> made = run_command(part, at, nullptr, shape_of(out));
    if (walk.writes_memory()) {
      joined.insert(joined.end(), made.begin(), made.end());
      at = in;
    } else {
      before = std::move(made);
      at = {before.data(), out.c, out.h, out.w};
    }
    walk.pass(part.run);
  }
  return joined;
}

}  // namespace

Result<std::unique_ptr<Reference>> Reference::create(Graph graph,
                                                     const layers::CustomLibrary* library) {
  std::unique_ptr<Reference> self(new Reference(std::move(graph)));
  DVNN_TRY(self->create_layers(library));
  return self;
}

Result<std::unique_ptr<Reference>> Reference::over(const Graph& graph,
                                                   const layers::CustomLibrary* library) {
  std::unique_ptr<Reference> self(new Reference(&graph));
  DVNN_TRY(self->create_layers(library));
  return self;
}

Status Reference::create_layers(const layers::CustomLibrary* library) {
  values_.resize(graph_.values.size());
  for (const ExtraInput& extra : graph_.extra_inputs) {
    nth(values_, extra.value).assign(graph_.shape_of(extra.value).count(), 0.0f);
  }
  for (const Node& node : graph_.nodes) {
    layers_.emplace_back();
    if (node.op != Op::kCpu && node.op != Op::kConcat) continue;
    layers::BoundLayer& layer = layers_.back();
    for (int value : node.inputs) layer.add_input({plain(graph_.shape_of(value)), nullptr});
    layer.add_output({plain(graph_.shape_of(node.output)), nullptr});
    const auto& attributes = std::get<CpuLayer>(node.attributes).attributes;
    if (Status s = layer.create(attributes, library); !s.ok()) {
      return s.error().within("layer '" + node.name + "'");
    }
  }
  return {};
}

Status Reference::run_node(size_t index) {
  const Node& node = graph_.nodes[index];
  const Shape& shape = graph_.shape_of(node.output);
  std::vector<float>& out = nth(values_, node.output);
  auto planes = [&](const std::vector<float>& values, const Shape& s) {
    // A node that works pixel by pixel does so in any width and height.
    const bool folded = node.fold.x > 0 && !device::works_by_pixel(node.run);
    const device::Dims dims = folded ? node.input_dims(s) : device::Dims{s.w(), s.h(), s.c()};
    return Picture{values.data(), s.c(), dims.h, dims.w};
  };
  switch (node.op) {
    case Op::kInput:
      return {};
    case Op::kConvolution:
    case Op::kPooling: {
      const Shape& from = graph_.shape_of(node.inputs[0]);
      const Shape flat = {1, static_cast<int>(from.elements()), 1, 1};
      out = run_command(node, planes(in(node), node.flattens() ? flat : from),
                        node.adds() ? &in(node, 1) : nullptr, shape);
      return {};
    }
    case Op::kBranches:
      out = run_branches(node, planes(in(node), graph_.shape_of(node.inputs[0])));
      return {};
    case Op::kAffine:
      out = in(node);
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t c = channel_of(shape, i);
        out[i] = out[i] * node.weights[c] + node.bias[c];
      }
      return {};
    case Op::kActivation:
      out = in(node);
      activate(node, shape, &out);
      return {};
    case Op::kAdd:
      out = in(node);
      for (size_t i = 0; i < out.size(); ++i) out[i] += in(node, 1)[i];
      return {};
    case Op::kInnerProduct: {
      const std::vector<float>& x = in(node);
      out = node.bias;
      for (size_t m = 0; m < out.size(); ++m) {
        for (size_t i = 0; i < x.size(); ++i) out[m] += node.weights[m * x.size() + i] * x[i];
      }
      return {};
    }
    case Op::kReshape:
      out = in(node);
      return {};
    case Op::kConcat:
    case Op::kCpu:
      break;
  }
  layers::BoundLayer& layer = layers_[index];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    layer.move_input(i, reinterpret_cast<const uint8_t*>(in(node, i).data()));
  }
  out.resize(shape.count());
  layer.move_output(0, reinterpret_cast<uint8_t*>(out.data()));
  return layer.run();
}

void Reference::keep_states() {
  std::vector<std::vector<float>> next;  // a state may be another one's next value
  for (const ExtraInput& extra : graph_.extra_inputs) {
    next.push_back(extra.next < 0 ? nth(values_, extra.value)
                                  : nth(values_, nth(graph_.outputs, extra.next)));
  }
  for (size_t i = 0; i < next.size(); ++i) {
    nth(values_, graph_.extra_inputs[i].value) = std::move(next[i]);
  }
}

Result<std::vector<std::vector<float>>> Reference::run(const float* input) {
  std::vector<float>& first = nth(values_, graph_.input);
  first.assign(input, input + graph_.shape_of(graph_.input).elements());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (Status s = run_node(i); !s.ok()) {
      return s.error().within("layer '" + graph_.nodes[i].name + "'");
    }
  }
  std::vector<std::vector<float>> outputs;
  for (int value : graph_.outputs) outputs.push_back(nth(values_, value));
  return outputs;
}

Status Reference::run_past(const float* input, const See& see) {
  // The last node that reads a value. Outputs, which states may be, and inputs stay.
  std::vector<size_t> last(graph_.values.size(), 0);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    for (int value : graph_.nodes[i].inputs) nth(last, value) = i;
  }
  constexpr size_t kStays = std::numeric_limits<size_t>::max();
  for (int value : graph_.outputs) nth(last, value) = kStays;
  for (const ExtraInput& extra : graph_.extra_inputs) {
    nth(last, extra.value) = kStays;
    see(extra.value, nth(values_, extra.value));
  }
  std::vector<float>& first = nth(values_, graph_.input);
  first.assign(input, input + graph_.shape_of(graph_.input).elements());
  see(graph_.input, first);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (Status s = run_node(i); !s.ok()) return s.error().within("layer '" + node.name + "'");
    see(node.output, nth(values_, node.output));
    for (int value : node.inputs) {
      if (nth(last, value) == i) std::vector<float>().swap(nth(values_, value));
    }
  }
  return {};
}

}  // namespace dvnn::plan
