// SPDX-License-Identifier: Apache-2.0
#include "plan/replan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "base/result.h"
#include "plan/graph/saved_graph.h"
#include "plan/passes/passes.h"
#include "plan/plan.h"

namespace dvnn::plan {
namespace {

// Derives from a network's steps the options that it was planned with. Weights of one byte do not
// prove that --quantise was given, because weights with few values become bytes anyway; older files
// have no other sign.
PlanOptions options_of(const network::Model& model) {
  PlanOptions options;
  for (const network::Step& step : model.steps) {
    if (step.kind != network::StepKind::kDevice) continue;
    options.hwc |= step.command.hwc;
    for (const device::ConvRun& run : step.command.runs) {
      options.quantise |= run.weight_format == device::WeightFormat::kQuantised;
    }
  }
  options.quantise = model.saved.quantised.value_or(options.quantise);
  return options;
}

// Adapts decoders, and anchors by a rule, that name the picture's size.
void follow_size(const Shape& from, int width, int height, Json* params) {
  if (!params->is_object()) return;
  for (Json* owner : {params, params->contains("anchors") ? &(*params)["anchors"] : params}) {
    if (!owner->is_object() || !owner->contains("image")) continue;
    Json& image = (*owner)["image"];
    if (image == Json({from.w(), from.h()})) image = {width, height};
  }
}

}  // namespace

Result<network::Model> plan_sized(Graph graph, const PlanOptions& options, InputSpec picture,
                                  network::SavedGraph saved, PlanReport* report) {
  DVNN_TRY(run_passes(sized_passes(), {&graph, nullptr, &options}));
  DVNN_ASSIGN(network::Model model, assemble(graph, options, picture, report));
  if (saved.graph.is_null()) {
    model.saved = {};
    return model;
  }
  model.saved.graph = std::move(saved.graph);
  model.saved.quantised = saved.quantised;
  if (options_of(model).quantise != options.quantise) model.saved.quantised = options.quantise;
  return model;
}

Result<PixelSize> parse_size(const std::string& text) {
  PixelSize size;
  int end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%n", &size.width, &size.height, &end) == 2 &&
      static_cast<size_t>(end) == text.size() && size.width > 0 && size.height > 0) {
    return size;
  }
  return invalid_argument("'" + text + "' is not WIDTHxHEIGHT, like 320x240");
}

// As replan(), with a report of what was decided, which may be null.
// `bytes`: nodes of the saved graph whose weights get 8 bits.
static Result<network::Model> replan_reporting(const network::Model& model, int width, int height,
                                               const Cancellation* cancellation, PlanReport* report,
                                               const std::vector<size_t>& bytes = {}) {
  const Shape& from = model.tensor(model.input.tensor).desc.shape;
  if (!is_picture(from)) {
    return unsupported("the network's input is " + from.to_string() +
                       ", no picture: it has one size");
  }
  if (!model.extra_inputs.empty()) {
    return unsupported(
        "the network has several inputs, or keeps states: it has one size, which --size gives when "
        "its model is converted");
  }
  if (model.saved.graph.is_null()) {
    return unsupported(
        "the network does not hold what it takes to plan it for another size: convert its model "
        "again");
  }
  PlanOptions options = options_of(model);
  options.cancellation = cancellation;
  auto planned_anew = [&]() -> Result<network::Model> {
    DVNN_ASSIGN(Graph graph, load_graph(model.saved.graph, cancellation));
    const Status fits = infer_shapes(&graph, from.c(), height, width, cancellation);
    if (!fits.ok()) {
      const Error& misfit = fits.error();
      return Error{misfit.code, misfit.message + size_advice(graph, width, height)};
    }
    DVNN_TRY(load_weights(model, options, &graph));
    for (const size_t node : bytes) {
      if (node >= graph.nodes.size()) return invalid_argument(format("no layer %zu", node));
      graph.nodes[node].half_weights = false;
    }
    options.quantise = options.quantise || !bytes.empty();
    network::SavedGraph saved = {model.saved.graph, {}, model.saved.quantised};
    for (size_t i = 0; i < graph.nodes.size(); ++i) {  // sets parameters that follow from shapes
      DVNN_TRY(check_cancelled(cancellation));
      const Node& node = graph.nodes[i];
      const auto* layer = node.as<CpuLayer>();
      if (layer && !layer->shape_inputs.empty()) {
        saved.graph["nodes"][i]["params"] = layers::params_of(layer->attributes);
      }
    }
    return plan_sized(std::move(graph), options, model.input.picture, std::move(saved), report);
  };
  auto planned = guarded("planning it", planned_anew);
  if (!planned.ok()) {
    return planned.error().within(format("for an input of %dx%d", width, height));
  }
  network::Model& sized = planned.value();
  sized.name = model.name;
  sized.input.folded_scale = model.input.folded_scale;
  sized.input.folded_bias = model.input.folded_bias;
  sized.producer = model.producer;
  sized.source = model.source;
  sized.labels = model.labels;
  sized.decoder = model.decoder;
  follow_size(from, width, height, &sized.decoder.params);
  DVNN_TRY(network::validate(sized));
  return planned;
}

Result<network::Model> replan(const network::Model& model, int width, int height,
                              const Cancellation* cancellation) {
  return replan_reporting(model, width, height, cancellation, nullptr);
}

Result<Graph> restored_graph(const network::Model& model) {
  if (model.saved.graph.is_null()) {
    return unsupported("the network does not hold the graph that it was made of");
  }
  const Shape& input = model.tensor(model.input.tensor).desc.shape;
  return guarded("restoring its graph", [&]() -> Result<Graph> {
    DVNN_ASSIGN(Graph graph, load_graph(model.saved.graph));
    DVNN_TRY(infer_shapes(&graph, input.c(), input.h(), input.w()));
    DVNN_TRY(load_weights(model, options_of(model), &graph));
    return graph;
  });
}

Result<std::vector<WeighedLayer>> layers_of_halves(const network::Model& model) {
  DVNN_ASSIGN(const Graph graph, restored_graph(model));
  std::vector<WeighedLayer> layers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool weighs = node.op == Op::kConvolution || node.op == Op::kInnerProduct;
    if (weighs && node.half_weights && !node.weights.empty()) layers.push_back({i, node.name});
  }
  return layers;
}

Result<network::Model> with_bytes(const network::Model& model, const std::vector<size_t>& nodes) {
  const Shape& input = model.tensor(model.input.tensor).desc.shape;
  const bool pictured = is_picture(input);
  return replan_reporting(model, pictured ? input.w() : 0, pictured ? input.h() : 0, nullptr,
                          nullptr, nodes);
}

Result<std::vector<StepNote>> explain(const network::Model& model) {
  const Shape& input = model.tensor(model.input.tensor).desc.shape;
  const bool pictured = is_picture(input);
  PlanReport report;
  DVNN_ASSIGN(const network::Model again,
              replan_reporting(model, pictured ? input.w() : 0, pictured ? input.h() : 0, nullptr,
                               &report));
  std::vector<StepNote> notes;
  for (StepNote& note : report.steps) {
    if (note.where != "in place") notes.push_back(std::move(note));
  }
  bool same = notes.size() == model.steps.size() && again.steps.size() == model.steps.size();
  for (size_t i = 0; same && i < notes.size(); ++i) {
    same = again.steps[i].name == model.steps[i].name;
  }
  if (same) return notes;
  return unsupported("the network was planned by another version");
}

namespace {

constexpr double kMostStride = 1024;  // of any model; larger numbers are no sizes of images

double stride_of_layer(const Node& node) {
  if (const auto* resize = node.layer<layers::ResizeAttributes>()) {
    if (resize->scales.empty() || !(resize->scales.back() > 0)) return 1;
    return 1 / static_cast<double>(resize->scales.back());
  }
  if (const auto* pool = node.layer<layers::WindowPoolAttributes>()) {
    return pool->stride.empty() ? 1 : pool->stride.back();
  }
  if (const auto* pool = node.layer<layers::PoolingAttributes>()) {
    return pool->global ? 1 : pool->x.stride;
  }
  if (const auto* slice = node.layer<layers::SliceAttributes>()) {
    return slice->step.size() == 4 ? std::max(slice->step.back(), 1) : 1;
  }
  return 1;
}

// Returns by what factor a node's result is smaller than its input.
double stride_of(const Node& node) {
  const device::ConvRun& run = node.run;
  if (node.op == Op::kConvolution) {
    const double stride = std::max(run.stride.x, 1);
    return device::is_deconv(run.conv) ? 1 / stride : stride;
  }
  if (node.op == Op::kPooling && run.pool == device::PoolKind::kUpsample) return 0.5;
  if (node.op == Op::kPooling) return node.pooling().global ? 1 : std::max(run.pool_stride.x, 1);
  return node.op == Op::kCpu ? stride_of_layer(node) : 1;
}

}  // namespace

int largest_stride(const Graph& graph) {
  std::vector<double> strides(graph.values.size(), 1);
  double largest = 1;
  for (const Node& node : graph.nodes) {
    double stride = 0;
    for (int input : node.inputs) stride = std::max(stride, nth(strides, input));
    stride = std::min(stride * stride_of(node), kMostStride);
    if (stride <= 0) continue;  // computed from no image
    nth(strides, node.output) = stride;
    largest = std::max(largest, stride);
  }
  return static_cast<int>(std::lround(largest));
}

std::string size_advice(const Graph& graph, int width, int height) {
  const int stride = largest_stride(graph);
  if (width % stride == 0 && height % stride == 0) return "";
  auto nearest = [stride](int size) { return std::max((size + stride / 2) / stride, 1) * stride; };
  return format(": try a multiple of %d, such as --size %dx%d", stride, nearest(width),
                nearest(height));
}

}  // namespace dvnn::plan
