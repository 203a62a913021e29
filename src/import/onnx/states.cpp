// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/import.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/whole_graph.h"
#include "import/options.h"
#include "plan/graph/graph.h"

namespace dvnn::import {
namespace {

// How exporters name a state's input and output: a common stem between these affixes.
struct Naming {
  const char *in_before, *in_after, *out_before, *out_after;
};
constexpr Naming kNamings[] = {
    {"", "i", "", "o"},             // r1i, r1o: RobustVideoMatting
    {"", "", "", "N"},              // state, stateN: Silero VAD
    {"", "", "", "n"},              // h, hn: PyTorch's examples
    {"", "0", "", "n"},             // h0, hn
    {"", "_0", "", "_n"},           // h_0, h_n
    {"", "_in", "", "_out"},        // cache_in, cache_out
    {"in_", "", "out_", ""},        // in_cache, out_cache
    {"input_", "", "output_", ""},  // input_state, output_state
    {"prev_", "", "next_", ""},     // prev_h, next_h
    {"past_", "", "present_", ""},  // past_key, present_key: Optimum
    {"past", "", "present", ""},    //
    {"", "", "new_", ""},           // cache, new_cache: sherpa
    {"", "", "next_", ""},          //
    {"", "", "", "_new"},           //
    {"", "", "", "_next"},          //
    {"", "", "", "_out"},           //
    {"", "_prev", "", "_next"},     //
};

// Returns what lies between the affixes; nothing if the name does not have them.
std::optional<std::string> stem(const std::string& name, const std::string& before,
                                const std::string& after) {
  const bool has = name.size() > before.size() + after.size() && starts_with(name, before) &&
                   ends_with(name, after);
  if (!has) return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

bool are_named_alike(const std::string& input, const std::string& output) {
  return std::any_of(std::begin(kNamings), std::end(kNamings), [&](const Naming& naming) {
    const auto in = stem(input, naming.in_before, naming.in_after);
    return in && in == stem(output, naming.out_before, naming.out_after);
  });
}

// Returns whether the output may be the input's next value, as far as the model says.
bool may_be_next(const onnx::ValueInfoProto& input, const onnx::ValueInfoProto& output) {
  const int64_t a = input.type().tensor_type().elem_type();
  const int64_t b = output.type().tensor_type().elem_type();
  if (a != b && a != 0 && b != 0) return false;
  const std::vector<int64_t> is = onnx_input_dims(input), becomes = onnx_input_dims(output);
  if (becomes.empty()) return true;  // its dimensions are not said
  return is.size() == becomes.size() &&
         std::equal(is.begin(), is.end(), becomes.begin(),
                    [](int64_t x, int64_t y) { return x == y || x < 0 || y < 0; });
}

class Finder {
 public:
  Finder(const onnx::GraphProto& proto, const ImportOptions& options)
      : proto_(proto), options_(options) {
    std::set<std::string> initializers;
    for (const auto& tensor : proto.initializer()) initializers.insert(tensor.name());
    for (const auto& info : proto.input()) {
      if (initializers.count(info.name()) > 0) continue;
      names_.push_back(info.name());
      if (!find_given(options, info.name())) open_.push_back(&info);
    }
  }

  Result<std::vector<OnnxState>> run() {
    for (const StateOption& option : options_.states) DVNN_TRY(add_named(option));
    find_usual();
    return std::move(states_);
  }

 private:
  Status add_named(const StateOption& option) {
    const std::string what = "--state " + option.output + "=" + option.input;
    const auto input = std::find_if(open_.begin(), open_.end(),
                                    [&](const auto* info) { return info->name() == option.input; });
    if (input == open_.end()) {
      const bool given = find_given(options_, option.input) != nullptr;
      return invalid_argument(what + (given ? ": --set gives the same input a value"
                                            : ": the model has no input '" + option.input +
                                                  "', it has " + some_names(names_)));
    }
    ImportOptions one;
    one.outputs = {option.output};
    auto output = wanted_outputs(proto_, one);
    if (!output.ok()) return invalid_argument(what + ": the model makes no such result");
    if (!inputs_.insert(option.input).second) {
      return invalid_argument(what + ": the input is another state already");
    }
    add(**input, output.value()[0], option.dims, false);
    return {};
  }

  // At least one input is left for the frame.
  void find_usual() {
    if (open_.size() < 2) return;
    std::set<std::string> taken;
    for (const OnnxState& state : states_) taken.insert(state.output);
    for (const auto* input : open_) {
      if (open_.size() - states_.size() < 2) return;
      const auto& live = options_.live;
      const bool is_live = std::find(live.begin(), live.end(), input->name()) != live.end();
      if (is_live || inputs_.count(input->name()) > 0) continue;
      for (const auto& output : proto_.output()) {
        if (taken.count(output.name()) > 0 || !are_named_alike(input->name(), output.name()) ||
            !may_be_next(*input, output)) {
          continue;
        }
        taken.insert(output.name());
        inputs_.insert(input->name());
        add(*input, output.name(), {}, true);
        break;
      }
    }
  }

  void add(const onnx::ValueInfoProto& input, const std::string& output,
           const std::vector<int64_t>& given, bool is_found) {
    OnnxState state = {input.name(), output, given, false, is_found};
    if (given.empty()) {
      state.dims = onnx_input_dims(input);
      if (state.dims.empty()) state.dims = {1};
      state.is_open =
          std::any_of(state.dims.begin(), state.dims.end(), [](int64_t d) { return d < 0; });
      std::replace_if(
          state.dims.begin(), state.dims.end(), [](int64_t d) { return d < 0; }, 1);
    }
    states_.push_back(std::move(state));
  }

  const onnx::GraphProto& proto_;
  const ImportOptions& options_;
  std::vector<std::string> names_;                 // of all inputs
  std::vector<const onnx::ValueInfoProto*> open_;  // those without given values
  std::set<std::string> inputs_;                   // those that are states
  std::vector<OnnxState> states_;
};

}  // namespace

Result<std::vector<OnnxState>> find_onnx_states(const onnx::GraphProto& proto,
                                                const ImportOptions& options) {
  return Finder(proto, options).run();
}

Result<bool> settle_onnx_states(const plan::Graph& graph, std::vector<OnnxState>* states) {
  bool settled = true;
  for (size_t i = 0; i < states->size(); ++i) {
    OnnxState& state = (*states)[i];
    const plan::ExtraInput& input = graph.extra_inputs[i];
    const Shape& is = graph.shape_of(input.value);
    const Shape& becomes = graph.shape_of(nth(graph.outputs, input.next));
    if (is == becomes) continue;
    if (!state.is_open || is.rank != becomes.rank) {
      return unsupported("state '" + state.input + "' is " + is.to_string() + ", its next value '" +
                         state.output + "' is " + becomes.to_string() +
                         (state.is_found ? ": --state OUT=IN names the right output, and --set " +
                                               state.input + "=0 makes it no state"
                                         : ": a state keeps its shape"));
    }
    state.dims = plan::dims_of(becomes);
    settled = false;
  }
  return settled;
}

std::string tell_of_states(const std::vector<OnnxState>& states) {
  std::string text;
  for (const OnnxState& state : states) {
    text += (text.empty() ? "'" : ", '") + state.output + "' as '" + state.input + "'" +
            (state.is_found ? " (found by its name)" : "");
  }
  return "the network has a memory: the next frame takes " + text + "; the first takes zeros";
}

}  // namespace dvnn::import
