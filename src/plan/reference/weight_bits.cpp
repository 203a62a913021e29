// SPDX-License-Identifier: Apache-2.0
// A layer's cost is the noise that 8 bits add to its own result, in relation to that result; noise
// of several layers adds up. Layers are sorted by noise, by noise per byte, or by a mean of the
// two, and a search finds how many of the first ones must keep 16 bits. No order is best for every
// network, so the one that keeps the fewest bytes is taken.
#include "plan/reference/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/passes/quantise.h"
#include "plan/reference/reference.h"

namespace dvnn::plan {
namespace {

// The wanted 0.999, and a margin for the error of 16 bits themselves: 0.0003 in yolox_nano.
constexpr double kLeastCosine = 0.9995;

using Values = std::vector<std::vector<float>>;

struct Layer {
  size_t node;
  std::vector<float> rounded;  // its weights after 8 bits
  double noise = 0;            // power of the result's error / power of the result
};

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ab += x * y, aa += x * x, bb += y * y;
  }
  if (aa > 0 && bb > 0) return ab / std::sqrt(aa * bb);
  return aa == bb ? 1 : 0;
}

std::vector<float> rounded_to_bytes(const std::vector<float>& weights) {
  const QuantisedWeights bytes = quantise(weights);
  std::vector<float> rounded;
  rounded.reserve(weights.size());
  for (uint8_t index : bytes.indices) rounded.push_back(half_to_float(bytes.table[index]));
  return rounded;
}

// Returns a graph of one node alone.
Graph alone(const Graph& graph, const Node& node) {
  Graph own;
  own.input = own.add_value("in", graph.shape_of(node.inputs[0]));
  own.outputs = {own.add_value("out", graph.shape_of(node.output))};
  own.output_names = {"out"};
  own.nodes = {node};
  own.nodes[0].inputs = {own.input};
  own.nodes[0].output = own.outputs[0];
  return own;
}

class BitSearch {
 public:
  BitSearch(const Graph& graph, const PlanOptions& options, Values samples)
      : graph_(graph), options_(options), samples_(std::move(samples)) {}

  Status run() {
    DVNN_TRY(measure());
    tell();
    DVNN_ASSIGN(cosine_, cosine_without({}));
    if (cosine_ >= kLeastCosine) return {};
    size_t fewest = SIZE_MAX;
    for (const double power : {1.0, 0.5, 0.0}) {
      DVNN_ASSIGN(const auto kept, search(power));
      size_t bytes = 0;
      for (size_t i : kept) bytes += layers_[i].rounded.size();
      if (bytes >= fewest) continue;
      fewest = bytes;
      kept_ = kept;
    }
    DVNN_ASSIGN(cosine_, cosine_without(kept_));
    return {};
  }

  void apply(Graph* graph) const {
    for (size_t i : kept_) graph->nodes[layers_[i].node].half_weights = true;
  }
  WeightBits found() const { return {layers_.size(), kept_.size(), samples_.size(), cosine_}; }

 private:
  // Computes the outputs in 16 bits, and every layer's noise, on the first sample.
  Status measure() {
    DVNN_ASSIGN(const auto reference, Reference::create(graph_));
    for (size_t i = samples_.size(); i-- > 0;) {  // the first sample last: its values are kept
      DVNN_TRY(check_cancelled(options_.cancellation));
      DVNN_ASSIGN(auto outputs, reference->run(samples_[i].data()));
      wanted_.insert(wanted_.begin(), std::move(outputs));
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const bool weighs = node.op == Op::kConvolution || node.op == Op::kInnerProduct;
      if (!weighs || node.weights.empty()) continue;
      DVNN_TRY(check_cancelled(options_.cancellation));
      Layer layer = {i, rounded_to_bytes(node.weights)};
      DVNN_ASSIGN(layer.noise, noise_of(*reference, node, layer.rounded));
      layers_.push_back(std::move(layer));
    }
    return {};
  }

  // Each of the three orders is bisected until one layer is left; one run before them has no
  // layers, one after them those found.
  [[nodiscard]] size_t most_runs() const {
    size_t halvings = 0;
    while ((size_t{1} << halvings) < layers_.size()) ++halvings;
    return (2 + 3 * halvings) * samples_.size();
  }

  void tell() const {
    if (options_.weighing) options_.weighing(done_, most_runs());
  }

  // Returns the layers to keep, if they are sorted by noise / bytes^power.
  Result<std::vector<size_t>> search(double power) const {
    std::vector<size_t> order(layers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto weight = [&](size_t i) {
      return layers_[i].noise / std::pow(static_cast<double>(layers_[i].rounded.size()), power);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return weight(a) > weight(b); });
    size_t least = 1, most = order.size();
    while (least < most) {
      const size_t middle = (least + most) / 2;
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(middle);
      DVNN_ASSIGN(const double cosine, cosine_without({order.begin(), end}));
      if (cosine >= kLeastCosine) {
        most = middle;
      } else {
        least = middle + 1;
      }
    }
    order.resize(most);
    return order;
  }

  Result<double> noise_of(const Reference& reference, const Node& node,
                          const std::vector<float>& rounded) const {
    Graph own = alone(graph_, node);
    own.nodes[0].weights = rounded;
    const std::vector<float>& in = reference.value(node.inputs[0]);
    const float* input = node.inputs[0] == graph_.input ? samples_[0].data() : in.data();
    DVNN_ASSIGN(const auto single, Reference::create(std::move(own)));
    DVNN_ASSIGN(const Values made, single->run(input));
    const std::vector<float>& want = reference.value(node.output);
    double error = 0, power = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const double difference = made[0][i] - want[i];
      error += difference * difference;
      power += double{want[i]} * want[i];
    }
    return power > 0 ? error / power : 0;
  }

  // Returns the least cosine of an output if all layers but `kept` have 8 bits.
  Result<double> cosine_without(const std::vector<size_t>& kept) const {
    Graph graph = graph_;
    for (const Layer& layer : layers_) graph.nodes[layer.node].weights = layer.rounded;
    for (size_t i : kept) {
      graph.nodes[layers_[i].node].weights = graph_.nodes[layers_[i].node].weights;
    }
    DVNN_ASSIGN(const auto reference, Reference::create(std::move(graph)));
    double least = 1;
    for (size_t i = 0; i < samples_.size(); ++i) {
      DVNN_TRY(check_cancelled(options_.cancellation));
      DVNN_ASSIGN(const Values outputs, reference->run(samples_[i].data()));
      ++done_;
      tell();
      for (size_t k = 0; k < outputs.size(); ++k) {
        least = std::min(least, cosine(outputs[k], wanted_[i][k]));
      }
    }
    return least;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  Values samples_;
  std::vector<Values> wanted_;  // by sample and output
  std::vector<Layer> layers_;
  std::vector<size_t> kept_;  // indices of layers
  double cosine_ = 1;
  mutable size_t done_ = 0;  // number of runs, for progress
};

}  // namespace

Result<WeightBits> choose_weight_bits(Graph* graph, const PlanOptions& options,
                                      const InputSpec& picture) {
  if (!can_be_measured(*graph)) return WeightBits();
  DVNN_ASSIGN(auto samples, sample_inputs(*graph, options, picture));
  BitSearch search(*graph, options, std::move(samples));
  DVNN_TRY(search.run());
  search.apply(graph);
  return search.found();
}

}  // namespace dvnn::plan
