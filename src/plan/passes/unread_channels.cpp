// SPDX-License-Identifier: Apache-2.0
// Leaves out channels that no output needs. Training with weight decay, and tools that prune
// networks, leave channels whose weights are zero for all that read them: a third of those of a
// public PFLD. They go by whole chunks of 8, as the device computes as many at a time.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "tensor/half.h"

namespace dvnn::plan {
namespace {

constexpr size_t kChunkOfChannels = 8;

// Sets of channels that are kept or left out together, as a channel of a sum is with those that are
// added.
class ChannelSets {
 public:
  size_t add() {
    parents_.push_back(parents_.size());
    return parents_.size() - 1;
  }
  size_t of(size_t channel) {
    while (parents_[channel] != channel) {
      channel = parents_[channel] = parents_[parents_[channel]];
    }
    return channel;
  }
  void join(size_t a, size_t b) { parents_[of(a)] = of(b); }
  size_t count() const { return parents_.size(); }

 private:
  std::vector<size_t> parents_;
};

// Which weights of a dense convolution matter: (outputs, inputs), over all taps.
std::vector<bool> products_of(const Node& node, size_t inputs) {
  // FP32's significand has 24 bits: what is smaller by more adds nothing to a sum.
  constexpr float kLeastShare = 1.0f / (1 << 24);
  float largest = 0;
  for (float weight : node.weights) largest = std::max(largest, std::fabs(weight));
  const size_t taps = node.run.kernel.area();
  std::vector<bool> matter(node.run.outputs() * inputs);
  for (size_t i = 0; i < node.weights.size(); ++i) {
    const float weight = node.weights[i];
    const bool none =
        half_to_float(float_to_half(weight)) == 0 && std::fabs(weight) <= largest * kLeastShare;
    if (!none) matter[i / taps] = true;
  }
  return matter;
}

using layers::ElementwiseAttributes;

// Returns whether functions of small numbers are small numbers: channels that only fill a chunk are
// multiplied with zeros, which does not hide an infinity.
bool stays_finite(const ElementwiseAttributes& functions) {
  using kernels::Curve;
  using kernels::Operation;
  return std::all_of(
      functions.steps.begin(), functions.steps.end(), [](const ElementwiseAttributes::Step& step) {
        if (step.combines) {
          return step.operation <= Operation::kSub && step.operation != Operation::kDiv;
        }
        const bool grows = step.curve == Curve::kExp || step.curve == Curve::kLog ||
                           step.curve == Curve::kReciprocal || step.curve == Curve::kSqrt;
        return step.curve <= Curve::kTanh && !grows;
      });
}

// Removes the elements of `list` for channels that are not kept. It has `size` elements for each.
// In place, as weights may take most of the memory.
void keep_parts(const std::vector<bool>& kept, size_t size, std::vector<float>* list) {
  if (list->empty()) return;
  auto end = list->begin();
  for (size_t c = 0; c < kept.size(); ++c) {
    if (!kept[c]) continue;
    const auto from = list->begin() + static_cast<std::ptrdiff_t>(c * size);
    end = end == from ? from + static_cast<std::ptrdiff_t>(size) : std::copy_n(from, size, end);
  }
  list->erase(end, list->end());
}

class ChannelDropper {
 public:
  explicit ChannelDropper(Graph* graph) : graph_(*graph) {}

  // Returns how many channels of convolutions' results were left out, and of how many.
  UnreadChannels run() {
    channels_.resize(graph_.values.size());
    constants_.resize(graph_.values.size());
    products_.resize(graph_.nodes.size());
    for (int value = 0; value < static_cast<int>(graph_.values.size()); ++value) begin(value);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) learn(i);
    needed_.resize(sets_.count());
    find_roots();
    if (!settles([this] { return spread(); })) return {};
    kept_ = needed_;
    if (!settles([this] { return fill_chunks(); })) return {};
    return drop();
  }

 private:
  using Constants = std::vector<std::optional<float>>;

  // Repeats a step until it finds no more. Networks need a few rounds; a hostile one may ask for as
  // many as it has channels, and keeps them all.
  template <typename Step>
  static bool settles(Step step) {
    constexpr int kMostRounds = 64;
    for (int i = 0; i < kMostRounds; ++i) {
      if (!step()) return true;
    }
    return false;
  }

  // Every picture's channels are sets of their own at first.
  void begin(int value) {
    const Shape& shape = graph_.shape_of(value);
    if (shape.rank != 4 || shape.n() != 1) return;
    for (size_t c = 0; c < shape.channels(); ++c) nth(channels_, value).push_back(sets_.add());
    nth(constants_, value).resize(shape.channels());
  }

  static bool is_dense(const Node& node) {
    return node.op == Op::kConvolution && node.groups == 1 && !device::is_depthwise(node.run.conv);
  }

  // Returns whether a node computes each channel of its result of the same channel of its inputs.
  bool keeps_channels_apart(const Node& node) const {
    const size_t channels = nth(channels_, node.output).size();
    for (int value : node.inputs) {
      if (nth(channels_, value).size() != channels) return false;
    }
    if (channels == 0) return false;
    for (const std::vector<float>* list : {&node.weights, &node.bias, &node.slopes}) {
      if (list->size() % channels != 0) return false;
    }
    switch (node.op) {
      case Op::kConvolution:
        return device::is_depthwise(node.run.conv);
      case Op::kAffine:
      case Op::kActivation:
      case Op::kPooling:
      case Op::kAdd:
        return true;
      default: {
        const auto* functions = node.layer<ElementwiseAttributes>();
        return functions && functions->constants.empty() && stays_finite(*functions);
      }
    }
  }

  // Returns whether a node is a convolution of whole pictures whose channels can be chosen.
  bool is_chosen_from(const Node& node) const {
    return is_dense(node) && !node.flattens() && node.inputs.size() == 1 &&
           nth(channels_, node.output).size() == node.run.outputs() && node.run.m > 0 &&
           node.weights.size() == nth(channels_, node.inputs[0]).size() * node.run.outputs() *
                                      node.run.kernel.area() &&
           !node.weights.empty() && std::holds_alternative<std::monostate>(node.attributes) &&
           node.run.activation == device::Activation::kNone;
  }

  bool is_joined(const Node& node) const {
    const auto* concat = node.layer<layers::ConcatAttributes>();
    size_t channels = 0;
    for (int value : node.inputs) channels += nth(channels_, value).size();
    return node.op == Op::kConcat && concat && concat->axis == 1 &&
           channels == nth(channels_, node.output).size();
  }

  // Joins sets, and finds channels that are the same number everywhere.
  void learn(size_t index) {
    const Node& node = graph_.nodes[index];
    const std::vector<size_t>& made = nth(channels_, node.output);
    if (is_chosen_from(node)) {
      products_[index] = products_of(node, nth(channels_, node.inputs[0]).size());
      find_constants(index);
    } else if (is_joined(node)) {
      size_t first = 0;
      for (int value : node.inputs) {
        const std::vector<size_t>& part = nth(channels_, value);
        for (size_t c = 0; c < part.size(); ++c, ++first) {
          sets_.join(part[c], made[first]);
          nth(constants_, node.output)[first] = nth(constants_, value)[c];
        }
      }
    } else if (keeps_channels_apart(node)) {
      for (int value : node.inputs) {
        for (size_t c = 0; c < made.size(); ++c) sets_.join(nth(channels_, value)[c], made[c]);
      }
      for (size_t c = 0; c < made.size(); ++c) {
        nth(constants_, node.output)[c] = constant_after(node, c);
      }
    }
  }

  bool is_zero(int value, size_t channel) const { return nth(constants_, value)[channel] == 0.0f; }

  // A result to which no product adds anything is its bias.
  void find_constants(size_t index) {
    const Node& node = graph_.nodes[index];
    const size_t inputs = nth(channels_, node.inputs[0]).size();
    for (size_t m = 0; m < node.run.outputs(); ++m) {
      bool none = true;
      for (size_t c = 0; c < inputs; ++c) {
        if (is_zero(node.inputs[0], c)) products_[index][m * inputs + c] = false;
        none &= !products_[index][m * inputs + c];
      }
      if (none) nth(constants_, node.output)[m] = node.bias[m];
    }
  }

  // Returns what a channel is after a node that keeps channels apart, if it is the same everywhere.
  std::optional<float> constant_after(const Node& node, size_t channel) const {
    const std::optional<float> before = nth(constants_, node.inputs[0])[channel];
    if (!before) return std::nullopt;
    switch (node.op) {
      case Op::kActivation:
        if (node.run.activation == device::Activation::kRelu && node.slopes.empty()) {
          return *before > 0 ? *before : *before * node.run.activation_param;
        }
        return std::nullopt;
      case Op::kConvolution:
        return *before == 0 ? std::optional(node.bias[channel]) : std::nullopt;
      case Op::kPooling:  // an average counts the zeros around the picture
        return *before == 0 ? before : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  void need_all(int value) {
    for (size_t channel : nth(channels_, value)) needed_[sets_.of(channel)] = true;
  }

  // Needs what is read from outside, and by nodes that this pass does not know.
  void find_roots() {
    std::vector<bool> made(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      nth(made, node.output) = true;
      if (const auto* layer = node.as<CpuLayer>()) {
        for (int value : layer->shape_inputs) need_all(value);
      }
      if (is_chosen_from(node) || is_joined(node) || keeps_channels_apart(node)) continue;
      for (int value : node.inputs) need_all(value);
      need_all(node.output);
    }
    for (int value : graph_.outputs) need_all(value);
    for (int value = 0; value < static_cast<int>(made.size()); ++value) {
      if (!nth(made, value)) need_all(value);
    }
  }

  // Needs what needed results are made of. Returns whether there was more.
  bool spread() {
    bool more = false;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const std::vector<bool>& products = products_[i];
      if (products.empty()) continue;
      const std::vector<size_t>& in = nth(channels_, graph_.nodes[i].inputs[0]);
      const std::vector<size_t>& out = nth(channels_, graph_.nodes[i].output);
      for (size_t m = 0; m < out.size(); ++m) {
        if (!needed_[sets_.of(out[m])]) continue;
        for (size_t c = 0; c < in.size(); ++c) {
          if (!products[m * in.size() + c] || needed_[sets_.of(in[c])]) continue;
          needed_[sets_.of(in[c])] = more = true;
        }
      }
    }
    return more;
  }

  // Keeps as many channels more as fill a value's last chunk. Returns whether there were such.
  bool fill_chunks() {
    bool more = false;
    for (const std::vector<size_t>& channels : channels_) {
      const auto kept = static_cast<size_t>(std::count_if(
          channels.begin(), channels.end(), [this](size_t c) { return kept_[sets_.of(c)]; }));
      size_t missing = kept == 0 ? kChunkOfChannels
                                 : (kChunkOfChannels - kept % kChunkOfChannels) % kChunkOfChannels;
      for (size_t c = 0; c < channels.size() && missing > 0; ++c) {
        if (kept_[sets_.of(channels[c])]) continue;
        kept_[sets_.of(channels[c])] = more = true;
        --missing;
      }
    }
    return more;
  }

  std::vector<bool> kept_of(int value) {
    std::vector<bool> kept;
    for (size_t channel : nth(channels_, value)) kept.push_back(kept_[sets_.of(channel)]);
    return kept;
  }

  UnreadChannels drop() {
    UnreadChannels found;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      const std::vector<bool> out = kept_of(node.output);
      const auto count = static_cast<int>(std::count(out.begin(), out.end(), true));
      if (!products_[i].empty()) {
        found.channels += node.run.m;
        found.dropped += node.run.m - count;
        choose(&node);
      } else if (keeps_channels_apart(node)) {
        keep_parts(out, node.weights.size() / out.size(), &node.weights);
        keep_parts(out, node.bias.size() / out.size(), &node.bias);
        keep_parts(out, node.slopes.size() / out.size(), &node.slopes);
        if (node.op == Op::kConvolution) node.run.m = node.groups = count;
      }
    }
    for (int value = 0; value < static_cast<int>(channels_.size()); ++value) {
      const std::vector<bool> kept = kept_of(value);
      if (kept.empty()) continue;
      nth(graph_.values, value).shape[1] =
          static_cast<int>(std::count(kept.begin(), kept.end(), true));
    }
    return found;
  }

  // Leaves weights and biases for kept channels. Results that only fill a chunk are zeros.
  void choose(Node* node) {
    const std::vector<size_t>& out = nth(channels_, node->output);
    const size_t taps = node->run.kernel.area(), row = node->weights.size() / out.size();
    for (size_t m = 0; m < out.size(); ++m) {
      if (needed_[sets_.of(out[m])]) continue;
      std::fill_n(node->weights.begin() + static_cast<std::ptrdiff_t>(m * row), row, 0.0f);
      node->bias[m] = 0;
    }
    const std::vector<bool> rows = kept_of(node->output), columns = kept_of(node->inputs[0]);
    keep_parts(rows, row, &node->weights);
    keep_parts(rows, 1, &node->bias);
    node->run.m = static_cast<int>(std::count(rows.begin(), rows.end(), true));
    std::vector<bool> parts;
    for (int m = 0; m < node->run.m; ++m) parts.insert(parts.end(), columns.begin(), columns.end());
    keep_parts(parts, taps, &node->weights);
  }

  Graph& graph_;
  ChannelSets sets_;
  std::vector<std::vector<size_t>> channels_;  // by value: each channel's set
  std::vector<Constants> constants_;           // by value
  std::vector<std::vector<bool>> products_;    // by node: of convolutions that are chosen from
  std::vector<bool> needed_, kept_;            // by set
};

}  // namespace

void drop_unread_channels(Graph* graph, PlanReport* report) {
  const UnreadChannels found = ChannelDropper(graph).run();
  if (report) report->unread = found;
}

}  // namespace dvnn::plan
