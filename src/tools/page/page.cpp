// SPDX-License-Identifier: Apache-2.0
#include "tools/page/page.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "plan/replan.h"
#include "tools/inspect/steps.h"
#include "tools/page_text.h"

namespace dvnn::tools {
namespace {

using network::Model;
using network::Step;
using network::StepKind;

// The range of a step's weights.
struct WeightRange {
  bool known = false;  // whether the step has packed weights that the model contains
  float least = 0, most = 0;
  double rms = 0;
  float largest_bias = 0;  // magnitude
  double zeros = 0;        // share of zero weights, 0..1
  bool quantised = false;  // 8-bit indices
};

// Returns the range over all runs of a device step.
WeightRange weight_range(const network::Model& model, const network::Step& step) {
  WeightRange range;
  double squares = 0;
  size_t count = 0, zeros = 0;
  device::for_each_run(step.command, [&](const device::ConvRun& run, const device::RunWalk& walk) {
    if (run.conv == device::ConvKind::kNone) return;
    const PackedGeometry geometry = device::run_geometry(run, walk.in().c);
    // Generated sources have their weights in another file.
    if (run.weight_offset + packed_weights_size(geometry) > model.weights.size()) return;
    std::vector<float> weights(geometry.weights());
    std::vector<float> bias(geometry.outputs());
    unpack_weights(geometry, model.weights.data() + run.weight_offset, weights.data(), bias.data(),
                   nullptr);
    for (const float w : weights) {
      range.least = count ? std::min(range.least, w) : w;
      range.most = count ? std::max(range.most, w) : w;
      squares += double{w} * double{w};
      zeros += w == 0;
      ++count;
    }
    for (const float b : bias) range.largest_bias = std::max(range.largest_bias, std::fabs(b));
    range.quantised |= geometry.quantised;
  });
  if (count == 0) return range;
  range.known = true;
  range.rms = std::sqrt(squares / static_cast<double>(count));
  range.zeros = static_cast<double>(zeros) / static_cast<double>(count);
  return range;
}

OrderedJson tensor_json(const Model& model, int index) {
  const network::TensorInfo& tensor = model.tensor(index);
  return {{"shape", tensor.desc.shape.to_string()},
          {"type", to_string(tensor.desc.type)},
          {"layout", to_string(tensor.desc.layout)},
          {"bytes", tensor.desc.bytes()}};
}

OrderedJson input_json(const Model& model) {
  const InputSpec& picture = model.input.picture;
  OrderedJson input = tensor_json(model, model.input.tensor);
  input["order"] = to_string(picture.order);
  input["mean"] = picture.mean;
  input["scale"] = picture.scale;
  input["resize"] = to_string(picture.resize);
  if (picture.transposed) input["transposed"] = true;
  input["pad_value"] = picture.pad_value;
  return input;
}

// A tensor in the I/O buffer, and the steps during which its bytes are needed.
struct Life {
  int tensor = 0;
  int born = 0, dies = 0;  // step that writes it (kFromInput: the input), last step that reads it
};

std::vector<Life> lives_of(const Model& model, const std::vector<std::vector<int>>& sources) {
  const int end = static_cast<int>(model.steps.size());
  std::vector<int> last(model.steps.size());
  int input_last = 0;
  for (int i = 0; i < end; ++i) {
    nth(last, i) = i;
    for (const int from : nth(sources, i)) {
      (from == kFromInput ? input_last : nth(last, from)) = i;
    }
  }
  auto covers = [&](const network::TensorInfo& written, const network::TensorInfo& output) {
    return written.storage == output.storage &&
           written.offset < output.offset + output.desc.bytes() &&
           output.offset < written.offset + written.desc.bytes();
  };
  std::vector<Life> lives = {{model.input.tensor, kFromInput, input_last}};
  for (int i = 0; i < end; ++i) {
    for (const int out : nth(model.steps, i).outputs) {
      lives.push_back({out, i, nth(last, i)});
    }
  }
  // The application reads outputs after the last step: for each byte the last one that was written.
  for (const network::OutputInfo& output : model.outputs) {
    const network::TensorInfo& read = model.tensor(output.tensor);
    uint64_t covered = 0;
    for (size_t i = lives.size(); i-- > 0 && covered < read.desc.bytes();) {
      if (!covers(model.tensor(lives[i].tensor), read)) continue;
      lives[i].dies = end;
      covered += model.tensor(lives[i].tensor).desc.bytes();
    }
  }
  return lives;
}

OrderedJson memory_json(const Model& model, const std::vector<std::vector<int>>& sources) {
  OrderedJson blocks = OrderedJson::array();
  for (const Life& life : lives_of(model, sources)) {
    const network::TensorInfo& tensor = model.tensor(life.tensor);
    if (tensor.storage != network::Storage::kIo) continue;
    blocks.push_back({{"name", tensor.name},
                      {"shape", tensor.desc.shape.to_string()},
                      {"offset", tensor.offset},
                      {"bytes", tensor.desc.bytes()},
                      {"born", life.born},
                      {"dies", life.dies}});
  }
  return blocks;
}

OrderedJson range_json(const WeightRange& range) {
  return {{"least", range.least},       {"most", range.most},   {"rms", range.rms},
          {"bias", range.largest_bias}, {"zeros", range.zeros}, {"bits", range.quantised ? 8 : 16}};
}

// Collects the warnings at the top of the page.
class Warnings {
 public:
  void add(const char* grave, const std::string& text) {
    list_.push_back({{"grave", grave}, {"text", text}});
  }
  OrderedJson take() { return std::move(list_); }

 private:
  OrderedJson list_ = OrderedJson::array();
};

void warn_of_use(const Model& model, const PageFacts& facts, Warnings* warnings) {
  if (!facts.decoder_error.empty()) {
    warnings->add("error", "The decoder does not fit: " + facts.decoder_error);
  } else if (model.decoder.name.empty()) {
    const std::string remedy = facts.generated ? "Name one in DVNN_NETWORK()'s second argument."
                                               : "Convert it with --preset or --decoder.";
    warnings->add("warning",
                  "No decoder is named, so dvdecode refuses this network, and dvnet run prints "
                  "tensors instead of objects. " +
                      remedy);
  } else if (model.labels.empty()) {
    warnings->add("note", "There are no labels: objects are called by their class's number.");
  }
  const InputSpec& picture = model.input.picture;
  const bool as_it_is =
      picture.mean == std::array<float, 3>{} && picture.scale == std::array<float, 3>{{1, 1, 1}};
  if (as_it_is && model.input.folded_scale.empty()) {
    warnings->add(
        "note",
        "Pixels enter as they are, 0 to 255. If nothing sensible is found, the model may want " +
            std::string(facts.generated ? "an \"input\" in DVNN_NETWORK()'s second argument."
                                        : "--mean and --scale."));
  }
}

void warn_of_weights(const Step& step, const WeightRange& range, Warnings* warnings) {
  constexpr float kNearLimit = 32768;  // half of binary16's largest number
  if (!range.known) return;
  const float largest = std::max({std::fabs(range.least), std::fabs(range.most)});
  if (largest == 0) {
    warnings->add("warning", "All weights of '" + step.name + "' are zero.");
  } else if (std::max(largest, range.largest_bias) > kNearLimit) {
    warnings->add("warning",
                  format("'%s' has weights or biases of up to %g; 16 bits end at 65504.",
                         step.name.c_str(), double{std::max(largest, range.largest_bias)}));
  }
}

void warn_of_places(const Model& model, Warnings* warnings) {
  const auto on_cpu = std::count_if(model.steps.begin(), model.steps.end(),
                                    [](const Step& s) { return s.kind == StepKind::kCpu; });
  if (on_cpu == 0) return;
  warnings->add("note",
                format("%zu of %zu steps do not run on the device; the graph shows which, and why.",
                       static_cast<size_t>(on_cpu), model.steps.size()));
}

}  // namespace

OrderedJson page_data(const Model& model, const PageFacts& facts) {
  const auto sources = step_sources(model);
  const auto notes = plan::explain(model);
  Warnings warnings;
  warn_of_use(model, facts, &warnings);
  warn_of_places(model, &warnings);
  if (facts.generated) {
    warnings.add("note",
                 "The network is C++ code, so steps, weights and memory are not known here. dvnet "
                 "inspect without --html lists its layers.");
  } else if (!notes.ok()) {
    warnings.add("note", "Why steps run where they do is not known: " + notes.error().message);
  }
  OrderedJson steps = OrderedJson::array();
  double us = 0;
  int64_t macs = 0;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    const bool on_device = step.kind == StepKind::kDevice;
    OrderedJson entry = {{"name", step.name},
                         {"does", describe(step)},
                         {"where", on_device ? "device" : "CPU"},
                         {"layers", step.layers},
                         {"from", sources[i]},
                         {"macs", network::step_macs(model, step)},
                         {"inputs", OrderedJson::array()},
                         {"outputs", OrderedJson::array()}};
    for (const int in : step.inputs) entry["inputs"].push_back(tensor_json(model, in));
    for (const int out : step.outputs) entry["outputs"].push_back(tensor_json(model, out));
    if (notes.ok()) {
      entry["where"] = notes.value()[i].where;
      entry["why"] = notes.value()[i].why;
    }
    if (on_device) {
      const device::Estimate estimate = device::estimate(step.command, facts.hardware);
      entry["weight_bytes"] = weight_bytes(step);
      entry["us"] = estimate.microseconds;
      entry["bound"] = estimate.waits_for_memory ? "memory" : "multipliers";
      us += estimate.microseconds;
      const WeightRange range = weight_range(model, step);
      if (range.known) entry["weights"] = range_json(range);
      warn_of_weights(step, range, &warnings);
    }
    if (i < facts.step_ms.size()) entry["measured_us"] = facts.step_ms[i] * 1e3;
    macs += network::step_macs(model, step);
    steps.push_back(std::move(entry));
  }
  OrderedJson outputs = OrderedJson::array();
  for (const auto& output : model.outputs) {
    OrderedJson entry = {{"name", output.name}};
    entry.update(tensor_json(model, output.tensor));
    outputs.push_back(std::move(entry));
  }
  return {{"name", model.name},
          {"producer", model.producer},
          {"source", model.source},
          {"warnings", warnings.take()},
          {"input", input_json(model)},
          {"outputs", outputs},
          {"decoder", {{"name", model.decoder.name}, {"params", model.decoder.params}}},
          {"labels", model.labels},
          {"macs", macs},
          {"weight_bytes", model.weights.size()},
          {"io_bytes", model.io_bytes},
          {"constant_bytes", model.constant_bytes},
          {"board", format("%d multipliers at %g MHz, %g bytes per clock", facts.hardware.macs,
                           facts.hardware.clock_mhz, facts.hardware.bus_bytes)},
          {"estimate_us", us},
          {"measured_on", facts.measured_on},
          {"steps", steps},
          {"memory", memory_json(model, sources)}};
}

namespace {

// Prevents a model's names from ending the page's script element.
std::string in_script(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

void put(const std::string& mark, const std::string& text, std::string* page) {
  const size_t at = page->find(mark);
  if (at != std::string::npos) page->replace(at, mark.size(), text);
}

}  // namespace

std::string assemble_page(const std::string& html, Span<const char* const> styles,
                          Span<const char* const> scripts, const std::string& data) {
  std::string page = html, style, script;
  for (const char* part : styles) style += part;
  for (const char* part : scripts) script += part;
  put("<!--style-->", "<style>\n" + style + "</style>", &page);
  put("<!--script-->", "<script>\n" + script + "</script>", &page);
  // The data is inserted last, so that its contents are not searched for marks.
  put("<!--data-->",
      "<script type=\"application/json\" id=\"data\">" + in_script(data) + "</script>", &page);
  return page;
}

std::string page_of(const network::Model& model, const PageFacts& facts) {
  return assemble_page(kPageHtml, kPageStyles, kPageScripts,
                       json_text(page_data(model, facts), -1, true));
}

}  // namespace dvnn::tools
