// SPDX-License-Identifier: Apache-2.0
#include "plan/graph/saved_graph.h"

#include <algorithm>
#include <climits>

#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "device/limits.h"
#include "network/dvn_file.h"
#include "network/model.h"
#include "plan/graph/graph.h"
#include "tensor/packing.h"
#include "tensor/tensor.h"

namespace dvnn::plan {
namespace {

bool can_be_kept(const Node& node) {
  const auto& size = node.run.pool_size;
  return operator_of(node.op).name && !node.adds() &&
         (node.pooling().global || std::max(size.x, size.y) <= device::kMaxStride);
}

Json params_to_json(const Node& node) {
  if (const auto* layer = node.as<CpuLayer>()) {
    return layers::params_of(layer->attributes);
  }
  const PoolingRule rule = node.pooling();
  Json out = Json::object();
  if (rule.ceil) out["ceil"] = true;
  if (rule.global) out["global"] = true;
  if (!rule.counts_pads) out["counts_pads"] = false;
  return out;
}

// Writes the sizes that follow from no input, beside the parameters.
Json shape_to_json(const Node& node) {
  if (const auto* connection = node.as<FullConnection>()) {
    return std::vector<int64_t>{connection->inputs};
  }
  const auto* constant = node.layer<layers::ConstantAttributes>();
  return constant ? Json(dims_of(constant->shape)) : Json();
}

Json node_to_json(const Node& node) {
  const Operator& row = operator_of(node.op);
  Json out = {{"op", row.name},
              {"name", node.name},
              {"layers", node.layers},
              {"inputs", node.inputs},
              {"output", node.output}};
  if (row.is(kHasRun)) {
    device::ConvRun run = node.run;
    run.m = std::max(run.m, 1);
    if (node.pooling().global) run.pool_size = {1, 1};  // found again
    out["run"] = network::run_to_json(run);
  }
  if (node.groups != 1) out["groups"] = node.groups;
  if (node.op == Op::kAffine) out["scale"] = node.weights, out["bias"] = node.bias;
  if (!node.slopes.empty()) out["slopes"] = node.slopes;
  if (node.op == Op::kCpu || node.op == Op::kConcat) out["type"] = node.layer_type();
  if (Json params = params_to_json(node); !params.empty()) out["params"] = std::move(params);
  const auto* layer = node.as<CpuLayer>();
  if (layer && !layer->shape_inputs.empty()) out["shape_inputs"] = layer->shape_inputs;
  if (Json shape = shape_to_json(node); !shape.is_null()) out["shape"] = std::move(shape);
  return out;
}

Status check_known(const Json& params, const char* op, std::initializer_list<const char*> known) {
  for (const auto& [name, value] : params.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return malformed(format("field 'params': an operation '%s' has no '", op) +
                     short_text(name, 40) + "'");
  }
  return {};
}

Result<PoolingRule> read_pooling_rule(const Json& params) {
  JsonReader in(params, "'params'");
  PoolingRule rule;
  rule.ceil = in.boolean("ceil", false);
  rule.global = in.boolean("global", false);
  rule.counts_pads = in.boolean("counts_pads", true);
  DVNN_TRY(in.status());
  return rule;
}

Result<Attributes> read_attributes(Op op, const std::string& type, const Json& params,
                                   const Shape& shape, std::vector<int> shape_inputs) {
  switch (op) {
    case Op::kPooling: {
      DVNN_TRY(check_known(params, "pooling", {"ceil", "global", "counts_pads"}));
      DVNN_ASSIGN(const PoolingRule rule, read_pooling_rule(params));
      return Attributes(rule);
    }
    case Op::kInnerProduct:
      return Attributes(FullConnection{shape.elements()});
    case Op::kConcat:
    case Op::kReshape:
    case Op::kCpu: {
      const char* const own = op == Op::kConcat ? "Concat" : op == Op::kReshape ? "Reshape" : "";
      DVNN_ASSIGN(auto layer, layers::parse_layer(*own ? own : type, params));
      if (auto* constant = layer.as<layers::ConstantAttributes>()) constant->shape = shape;
      return Attributes(CpuLayer{std::move(layer), std::move(shape_inputs)});
    }
    default:
      DVNN_TRY(check_known(params, operator_of(op).name, {}));
      return Attributes();
  }
}

class Loader {
 public:
  explicit Loader(const Json& saved) : saved_(saved) {}

  Result<Graph> run(const Cancellation* cancellation) {
    JsonReader in(saved_, "'graph'");
    const auto names = in.texts("values", network::kMaxListEntries);
    DVNN_TRY(in.status());
    for (const std::string& name : names) {
      DVNN_TRY(network::check_name(name));
      graph_.add_value(name, Shape());
    }
    made_.assign(names.size(), false);
    graph_.input = value(&in, "input");
    DVNN_TRY(in.status());
    nth(made_, graph_.input) = true;
    const Json* nodes = in.member("nodes");
    if (!nodes || !nodes->is_array() || nodes->empty()) {
      return malformed("field 'nodes' of 'graph' must be an array of nodes");
    }
    DVNN_TRY(check_budget(Budget::kGraphNodes, nodes->size(), "nodes of the graph"));
    for (const Json& item : *nodes) {
      DVNN_TRY(check_cancelled(cancellation));
      if (Status s = add(item); !s.ok()) {
        return s.error().within(format("graph node %zu", graph_.nodes.size()));
      }
    }
    graph_.outputs = values(&in, "outputs");
    graph_.output_names = in.texts("output_names", network::kMaxListEntries);
    graph_.name = in.text("name", "");
    for (const std::string& name : graph_.output_names) DVNN_TRY(network::check_name(name));
    DVNN_TRY(network::check_name(graph_.name));
    if (graph_.outputs.empty() || graph_.outputs.size() != graph_.output_names.size()) {
      in.fail("outputs", "must be as many as output_names");
    }
    DVNN_TRY(in.status());
    return std::move(graph_);
  }

 private:
  int last_value() const { return static_cast<int>(graph_.values.size()) - 1; }
  int value(JsonReader* in, const char* name) {
    return static_cast<int>(in->integer(name, 0, last_value()));
  }
  // Reads indices of values that exist already, because nodes come in an order in which they can
  // run.
  std::vector<int> values(JsonReader* in, const char* name) {
    const auto list = in->integers(name, 0, last_value(), network::kMaxListEntries);
    for (int v : list) {
      if (!nth(made_, v)) in->fail(name, "reads what is made later");
    }
    return list;
  }

  Status add(const Json& item) {
    Node node;
    JsonReader in(item, "a node");
    const auto op = find_operator(in.text("op"));
    if (!op.ok()) in.fail("op", op.error().message);
    DVNN_TRY(in.status());
    node.op = op.value();
    node.name = in.text("name");
    node.layers = in.texts("layers", network::kMaxListEntries);
    node.inputs = values(&in, "inputs");
    std::vector<int> shape_inputs = values(&in, "shape_inputs");
    if (shape_inputs.size() > 2) in.fail("shape_inputs", "has more than 2 values");
    node.output = value(&in, "output");
    node.groups = static_cast<int>(in.integer("groups", 1, device::kMaxChannels, 1));
    const std::string type = in.text("type", "");
    node.slopes = in.numbers("slopes", device::kMaxChannels);
    node.weights = in.numbers("scale", device::kMaxChannels);
    node.bias = in.numbers("bias", device::kMaxChannels);
    const std::vector<int> dims = in.integers("shape", 1, INT_MAX, Shape::kMaxRank);
    Shape shape;
    shape.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), shape.dims);
    static const Json kNoParams = Json::object();
    const Json* params = in.member("params");
    if (params && !params->is_object()) in.fail("params", "must be an object");
    DVNN_TRY(in.status());
    if (!dims.empty()) DVNN_TRY(check_shape(shape));
    DVNN_TRY(network::check_name(type));
    DVNN_ASSIGN(node.attributes, read_attributes(node.op, type, params ? *params : kNoParams, shape,
                                                 std::move(shape_inputs)));
    if (operator_of(node.op).is(kHasRun)) {
      const Json* run = in.member("run");
      if (!run) return malformed("has no run");
      DVNN_ASSIGN(node.run, network::run_from_json(*run));
    }
    DVNN_TRY(check_node(node));
    if (nth(made_, node.output)) return malformed("makes a value that is there already");
    nth(made_, node.output) = true;
    node.saved = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  // Checks that the node's run has what its operation needs, and no more: assemble() packs weights
  // for runs that convolve, and passes fuse runs that pool and activate.
  static Status check_node(const Node& node) {
    using device::Activation;
    using device::ConvKind;
    using device::PoolKind;
    const device::ConvRun& run = node.run;
    const bool convolves = run.conv != ConvKind::kNone, pools = run.pool != PoolKind::kNone;
    const bool activates = run.activation != Activation::kNone;
    const Operator& row = operator_of(node.op);
    const bool should_convolve = row.is(kConvolves), should_pool = row.is(kPools);
    const bool should_activate = row.is(kActivates);
    if (convolves != should_convolve || pools != should_pool || activates != should_activate) {
      return malformed(format("field 'run': an operation '%s' %s convolve, %s pool and %s activate",
                              row.name, should_convolve ? "must" : "must not",
                              should_pool ? "must" : "must not",
                              should_activate ? "must" : "must not"));
    }
    const size_t inputs = node.inputs.size();
    if (inputs < row.least_inputs || inputs > row.most_inputs) {
      return malformed(format("field 'inputs': an operation '%s' has %zu, not %zu..%zu", row.name,
                              inputs, row.least_inputs, row.most_inputs));
    }
    constexpr size_t kMaxLayers = 1024;
    if (node.layers.size() > kMaxLayers) {
      return malformed(
          format("field 'layers' has %zu names, at most %zu", node.layers.size(), kMaxLayers));
    }
    const int most = device::kMaxKernel;
    if (convolves && (run.kernel.x > most || run.kernel.y > most)) {
      return malformed(
          format("field 'kernel' is %d x %d, not 1..%d", run.kernel.x, run.kernel.y, most));
    }
    DVNN_TRY(network::check_name(node.name));
    for (const std::string& layer : node.layers) DVNN_TRY(network::check_name(layer));
    return {};
  }

  const Json& saved_;
  Graph graph_;
  std::vector<bool> made_;
};

// Puts the weights of parts, (m, each, ky, kx) one after the other, in the order of all channels.
void join_parts(int channels, int each, Node* node) {
  const size_t outputs = node->run.outputs(), all = node->weights.size() / outputs;
  const size_t taps = all / static_cast<size_t>(channels);
  std::vector<float> joined(node->weights.size());
  size_t from = 0;
  for (int first = 0; first < channels; first += each) {
    const size_t count = taps * static_cast<size_t>(std::min(each, channels - first));
    for (size_t m = 0; m < outputs; ++m, from += count) {
      std::copy_n(
          node->weights.begin() + static_cast<ptrdiff_t>(from), count,
          joined.begin() + static_cast<ptrdiff_t>(m * all + static_cast<size_t>(first) * taps));
    }
  }
  node->weights = std::move(joined);
}

// Appends the weights of the part of a node's channels, or of all, that lie at `place`.
Status load_part(const network::Model& model, const PlanOptions& options, int channels,
                 const network::WeightPlace& place, Node* node) {
  PackedGeometry geometry;
  geometry.quantised = place.quantised;
  geometry.prelu = place.prelu;
  geometry.dilated = place.dilated;
  if (place.fixed) return unsupported("is fully connected: it takes an input of one size only");
  const bool inner = node->op == Op::kInnerProduct;
  geometry.m = node->run.m;
  geometry.c = channels;
  geometry.kx = inner ? 1 : node->run.kernel.x;
  geometry.ky = inner ? 1 : node->run.kernel.y;
  if (options.hwc) std::swap(geometry.kx, geometry.ky);
  const device::Limits& limits = options.limits;
  if (std::max(geometry.kx, geometry.ky) > limits.kernel || geometry.c > limits.channels) {
    return too_large("its kernel or its channels exceed the device's limits");
  }
  const size_t bytes = packed_weights_size(geometry);
  if (bytes > model.weights.size() || place.offset > model.weights.size() - bytes) {
    return malformed("its weights lie outside the network's");
  }
  const size_t before = node->weights.size();
  node->weights.resize(before + geometry.weights());
  std::vector<float> bias(geometry.outputs());
  node->half_weights = !geometry.quantised;
  unpack_weights(geometry, model.weights.data() + place.offset, node->weights.data() + before,
                 bias.data(), nullptr);
  if (before == 0) node->bias = std::move(bias);  // further parts add nothing
  return {};
}

Status load_node_weights(const network::Model& model, const PlanOptions& options, const Shape& in,
                         Node* node) {
  const auto kept = model.saved.weights.find(node->saved);
  if (kept == model.saved.weights.end()) return malformed("its weights are not kept");
  const network::WeightPlace& place = kept->second;
  const bool inner = node->op == Op::kInnerProduct;
  const bool depthwise = device::is_depthwise(node->run.conv);
  const int channels = inner ? static_cast<int>(in.elements()) : depthwise ? 1 : in.c();
  const auto parts = static_cast<int>(place.rest.size()) + 1;
  const int each = parts == 1 ? channels : channels_of_part(channels, parts);
  if (parts > 1 && (inner || (parts - 1) * each >= channels)) {
    return malformed(format("its %d channels are not %d parts", channels, parts));
  }
  DVNN_TRY(load_part(model, options, each, place, node));
  for (int i = 1; i < parts; ++i) {
    DVNN_TRY(load_part(model, options, std::min(each, channels - i * each), nth(place.rest, i - 1),
                       node));
  }
  if (parts > 1) join_parts(channels, each, node);
  if (options.hwc && !inner) {
    transpose_kernels(node->run.kernel.x, node->run.kernel.y, &node->weights);
  }
  return {};
}

Status check_lists(const Graph& graph, const Node& node) {
  const Shape& in = graph.shape_of(node.inputs[0]);
  const size_t channels = in.rank > 1 ? in.channels() : 0;
  const bool affine =
      node.op != Op::kAffine || (node.weights.size() == channels && node.bias.size() == channels);
  const bool prelu = node.op != Op::kActivation ||
                     node.run.activation != device::Activation::kPrelu ||
                     node.slopes.size() == channels;
  const bool depthwise = device::is_depthwise(node.run.conv);
  const bool grouped = node.op != Op::kConvolution ||
                       (depthwise ? node.run.outputs() == channels : node.groups == 1);
  if (affine && prelu && grouped) return {};
  return malformed(format("its numbers do not fit an input of %zu channels", channels));
}

}  // namespace

int channels_of_part(int channels, int parts) {
  constexpr int kChunk = 8;
  const int chunks = (channels + kChunk - 1) / kChunk;
  return (chunks + parts - 1) / parts * kChunk;
}

void transpose_kernels(int height, int width, std::vector<float>* weights) {
  const auto ky = static_cast<size_t>(height), kx = static_cast<size_t>(width);
  std::vector<float> out(weights->size());
  for (size_t k = 0; k < out.size(); k += kx * ky) {
    for (size_t j = 0; j < ky; ++j) {
      for (size_t i = 0; i < kx; ++i) out[k + i * ky + j] = (*weights)[k + j * kx + i];
    }
  }
  *weights = std::move(out);
}

Json save_graph(Graph* graph) {
  // The shapes of extra inputs do not follow from the picture's size.
  if (!graph->extra_inputs.empty()) return nullptr;
  Json nodes = Json::array(), values = Json::array();
  for (const Value& value : graph->values) values.push_back(value.name);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (!can_be_kept(graph->nodes[i])) return nullptr;
    graph->nodes[i].saved = static_cast<int>(i);
    nodes.push_back(node_to_json(graph->nodes[i]));
  }
  return {{"name", graph->name},       {"values", std::move(values)},
          {"nodes", std::move(nodes)}, {"input", graph->input},
          {"outputs", graph->outputs}, {"output_names", graph->output_names}};
}

Result<Graph> load_graph(const Json& saved, const Cancellation* cancellation) {
  return Loader(saved).run(cancellation);
}

Status load_weights(const network::Model& model, const PlanOptions& options, Graph* graph) {
  for (Node& node : graph->nodes) {
    DVNN_TRY(check_cancelled(options.cancellation));
    Status status;
    if (operator_of(node.op).is(kHasWeights)) {
      status = load_node_weights(model, options, graph->shape_of(node.inputs[0]), &node);
    }
    if (status.ok() && node.op != Op::kCpu) status = check_lists(*graph, node);
    if (!status.ok()) return status.error().within("layer '" + node.name + "'");
  }
  return {};
}

}  // namespace dvnn::plan
