// SPDX-License-Identifier: Apache-2.0
// Imports LSTM, GRU and RNN as one layer for each direction.
#include <algorithm>

#include "base/format.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using Layer = layers::RecurrentAttributes;
using Kind = Layer::Kind;
using Function = Layer::Function;

Kind kind_of(const std::string& type) {
  return type == "LSTM" ? Kind::kLstm : type == "GRU" ? Kind::kGru : Kind::kRnn;
}

Result<Function> function_of(const std::string& name) {
  const std::string known = lower_case(name);
  if (known == "sigmoid") return Function::kSigmoid;
  if (known == "tanh") return Function::kTanh;
  if (known == "relu") return Function::kRelu;
  if (known == "hardsigmoid") return Function::kHardSigmoid;
  return unsupported("activation '" + name +
                     "' is not supported: Sigmoid, Tanh, Relu and HardSigmoid are");
}

// Returns the layer of one direction with its functions: those given, else the kind's defaults.
Result<Layer> layer_of(const OnnxNode& node, size_t direction) {
  Layer layer;
  layer.kind = kind_of(node.type());
  const size_t own = layer.kind == Kind::kLstm ? 3 : layer.kind == Kind::kGru ? 2 : 1;
  if (layer.kind == Kind::kRnn) layer.activations[0] = Function::kTanh;
  const std::vector<std::string> names = node.texts("activations");
  if (!names.empty() && names.size() < (direction + 1) * own) {
    return malformed(format("%zu activations", names.size()));
  }
  for (size_t i = 0; i < own && !names.empty(); ++i) {
    DVNN_ASSIGN(layer.activations[i], function_of(names[direction * own + i]));
  }
  if (node.has_attribute("activation_alpha") || node.has_attribute("activation_beta")) {
    return unsupported("activations with parameters are not supported");
  }
  layer.clip = node.number("clip", 0);
  layer.reset_after = node.integer("linear_before_reset", 0) != 0;
  layer.coupled = node.integer("input_forget", 0) != 0;
  layer.reverse = direction == 1 || node.text("direction", "forward") == "reverse";
  return layer;
}

struct Sequence {
  int64_t steps, batch, hidden, directions;
};

// Checks the sequences' lengths: they must be absent, or known to equal the input's.
Status check_lengths(const OnnxNode& node, const Sequence& sequence) {
  if (!node.has(4)) return {};
  DVNN_ASSIGN(const auto lengths, node.constant(4));
  for (int64_t length : lengths->ints()) {
    if (length == sequence.steps) continue;
    return unsupported(
        format("a sequence of %lld steps among those of %lld: all must have one length",
               static_cast<long long>(length), static_cast<long long>(sequence.steps)));
  }
  return {};
}

// Returns one direction's part of an input (directions, ...); zeros if the input is absent.
Result<int> part_of(const OnnxNode& node, int input, size_t direction,
                    const std::vector<int64_t>& dims, const char* what) {
  GraphBuilder& b = node.builder();
  const std::string name = node.name() + format("_%s%zu", what, direction);
  if (!node.has(input)) {
    constexpr int64_t kMost = int64_t{1} << 26;
    int64_t count = 1;
    for (int64_t d : dims) {
      if ((count *= d) > kMost) return too_large("has impossible dimensions");
    }
    return b.constant(name, dims, std::vector<float>(static_cast<size_t>(count), 0.0f));
  }
  DVNN_ASSIGN(int value, node.value(input));
  std::vector<int64_t> all = dims_of(b.shape_of(value));
  if (all.empty() || static_cast<int64_t>(direction) >= all[0]) {
    return malformed(format("input %d lacks direction %zu", input, direction + 1));
  }
  if (all[0] > 1) {
    std::vector<int64_t> begin(all.size(), 0);
    begin[0] = static_cast<int64_t>(direction);
    all[0] = 1;
    DVNN_ASSIGN(value,
                b.slice(name + "_part", value, begin, std::vector<int64_t>(all.size(), 1), all));
  }
  return b.reshape(name, value, dims);
}

// Returns a state (batch, 1, hidden), the form of layout 1, without its direction.
Result<int> whole_state(const OnnxNode& node, int input, const std::vector<int64_t>& dims) {
  DVNN_ASSIGN(const int value, node.value(input));
  return node.builder().reshape(node.name() + format("_input%d", input), value, dims);
}

// Returns the last step of a direction's result: (1, batch, hidden).
Result<int> last_of(const OnnxNode& node, const std::string& name, int all, bool reverse,
                    const Sequence& sequence) {
  return node.builder().slice(name, all, {reverse ? 0 : sequence.steps - 1, 0, 0}, {1, 1, 1},
                              {1, sequence.batch, sequence.hidden});
}

bool wants(const OnnxNode& node, int output) {
  return output < node.outputs() && !node.output_name(output).empty();
}

// Joins the directions' results along `axis`; with layout 1 the batch comes first.
Status finish(const OnnxNode& node, int output, const std::vector<int>& parts, int64_t axis,
              const std::vector<int64_t>& batch_first) {
  GraphBuilder& b = node.builder();
  const std::string name = node.name() + (output == 0 ? "" : format("_output%d", output));
  int joined = parts[0];
  if (parts.size() > 1) {
    DVNN_ASSIGN(joined, b.concat(name + "_directions", parts, axis));
  }
  if (node.integer("layout", 0) == 0) return node.done_at(output, joined);
  return node.done_at(output, b.permute(name, joined, batch_first));
}

}  // namespace

Status import_onnx_recurrent(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  const bool batch_first = node.integer("layout", 0) != 0;
  DVNN_ASSIGN(int in, node.value(0));
  if (b.shape_of(in).rank != 3) {
    return malformed("reads " + b.shape_of(in).to_string() + ", no sequence");
  }
  if (batch_first) {
    DVNN_ASSIGN(in, b.permute(name + "_steps", in, {1, 0, 2}));
  }
  const Shape shape = b.shape_of(in);
  DVNN_ASSIGN(const int recurrence, node.value(2));
  const Shape matrix = b.shape_of(recurrence);
  if (matrix.rank != 3) return malformed("R has not three dimensions");
  const Sequence sequence = {shape[0], shape[1], matrix[2], matrix[0]};
  DVNN_TRY(check_lengths(node, sequence));
  std::vector<int> all, last, cells;
  for (size_t d = 0; d < static_cast<size_t>(std::min<int64_t>(sequence.directions, 2)); ++d) {
    DVNN_ASSIGN(Layer layer, layer_of(node, d));
    const int64_t hidden = sequence.hidden, rows = layer.gates() * hidden;
    std::vector<int> inputs = {in};
    const std::vector<std::vector<int64_t>> dims = {
        {rows, shape[2]},         {rows, hidden},           {2 * rows},
        {sequence.batch, hidden}, {sequence.batch, hidden}, {3 * hidden}};
    const int places[] = {1, 2, 3, 5, 6, 7};
    const char* const names[] = {"weights", "recurrence", "bias", "state", "cell", "peepholes"};
    for (size_t i = 0; i < dims.size(); ++i) {
      // Layout 1 has states of (batch, directions, hidden).
      const bool moved = batch_first && (places[i] == 5 || places[i] == 6) && node.has(places[i]);
      if (moved && sequence.directions > 1) {
        return unsupported("layout 1 with states of two directions");
      }
      DVNN_ASSIGN(const int part, moved ? whole_state(node, places[i], dims[i])
                                        : part_of(node, places[i], d, dims[i], names[i]));
      inputs.push_back(part);
    }
    const std::string own = name + (sequence.directions > 1 ? format("_direction%zu", d) : "_all");
    DVNN_ASSIGN(const int made, b.cpu(own, layer, inputs));
    DVNN_ASSIGN(const int apart,
                b.reshape(own + "_apart", made, {sequence.steps, 1, sequence.batch, hidden}));
    all.push_back(apart);
    if (wants(node, 1)) {
      DVNN_ASSIGN(const int end, last_of(node, own + "_last", made, layer.reverse, sequence));
      last.push_back(end);
    }
    if (wants(node, 2)) {
      layer.cell = true;
      DVNN_ASSIGN(const int cell, b.cpu(own + "_cell", layer, inputs));
      DVNN_ASSIGN(const int end, last_of(node, own + "_last_cell", cell, layer.reverse, sequence));
      cells.push_back(end);
    }
  }
  if (all.empty()) return malformed("has no direction");
  if (wants(node, 0)) DVNN_TRY(finish(node, 0, all, 1, {2, 0, 1, 3}));
  if (wants(node, 1)) DVNN_TRY(finish(node, 1, last, 0, {1, 0, 2}));
  if (wants(node, 2)) DVNN_TRY(finish(node, 2, cells, 0, {1, 0, 2}));
  return {};
}

}  // namespace dvnn::import
