// SPDX-License-Identifier: Apache-2.0
#include "convert/finish.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "convert/guess.h"
#include "convert/presets.h"
#include "layers/attributes.h"
#include "network/model_decoder.h"
#include "network/model_limits.h"
#include "plan/plan.h"

namespace dvnn::convert {
namespace {

image::Size input_size(const network::Model& model) {
  const Shape& shape = model.tensor(model.input.tensor).desc.shape;
  if (!plan::is_picture(shape)) return {1, 1};
  return {static_cast<double>(shape.w()), static_cast<double>(shape.h())};
}

const Exported* exported_of(const ConvertOptions& options) {
  return options.exported ? &*options.exported : nullptr;
}

// Returns the step that computes a value which others may have reshaped; null: none does.
const network::Step* step_behind(const network::Model& model, int value) {
  const network::Step* found = nullptr;
  for (auto step = model.steps.rbegin(); step != model.steps.rend(); ++step) {
    if (step->outputs[0] != value) continue;
    found = &*step;
    if (!step->layer || !step->layer->as<layers::ReshapeAttributes>()) break;
    value = step->inputs[0];
  }
  return found;
}

// Whether a softmax would bend numbers that are probabilities already.
bool are_probabilities(const network::Step& step) {
  if (!step.layer) {
    return step.command.runs.back().activation == device::Activation::kSigmoid;
  }
  const auto* elementwise = step.layer->as<layers::ElementwiseAttributes>();
  if (!elementwise) return layers::type_of(*step.layer) == "Softmax";
  const auto& last = elementwise->steps.back();
  return !last.combines && last.curve == kernels::Curve::kSigmoid;
}

// Chooses a decoder that fits the outputs, or else the last layer, if the user has named none.
Status choose_decoder(const ConvertOptions& options, network::Model* model, Report* report) {
  DVNN_ASSIGN(auto guess, guess_decoder(network::named_outputs(*model), input_size(*model),
                                        exported_of(options)));
  if (guess) {
    model->decoder = {guess->decoder, std::move(guess->params)};
    if (report) {
      report->warnings.push_back("the outputs are those of " + guess->family + ": decoder '" +
                                 guess->decoder + "'");
    }
    return {};
  }
  if (model->outputs.size() != 1) return {};
  const int output = model->outputs[0].tensor;
  const network::Step* last = step_behind(*model, output);
  const std::string type = last && last->layer ? layers::type_of(*last->layer) : "";
  const Shape& shape = nth(model->tensors, output).desc.shape;
  if (type == "DetectionOutput") {
    model->decoder.name = "detection-output";
  } else if (shape.rank >= 2 && shape.elements() == shape[1]) {
    model->decoder.name = "classification";
    // The softmax of one number is always 1.
    model->decoder.params = {{"softmax", shape[1] > 1 && !(last && are_probabilities(*last))}};
  }
  return {};
}

// If the user's preset is of a family with several forms of outputs, uses the parameters of this
// form.
Status choose_form(const ConvertOptions& options, network::Model* model) {
  if (options.preset.empty()) return {};
  DVNN_ASSIGN(const Preset preset, find_preset(options.preset));
  if (options.decoder != preset.decoder || options.decoder_params != preset.params) return {};
  DVNN_ASSIGN(auto guess, guess_decoder(network::named_outputs(*model), input_size(*model),
                                        exported_of(options)));
  if (guess && guess->preset == options.preset) model->decoder.params = std::move(guess->params);
  return {};
}

// Returns how many outputs the parameters' parts refer to, or -1 for other kinds of decoders.
int outputs_read(const Json& params) {
  const auto count = [&](const char* name) {
    return params.contains(name) && params.at(name).is_array()
               ? static_cast<int>(params.at(name).size())
               : 0;
  };
  const int parts = count("parts"), strides = count("strides");
  if (parts == 0) return -1;
  return parts * std::max(strides, 1) + (params.contains("mask_count") ? 1 : 0);
}

// Refuses an unfit decoder at once, rather than when the network is used.
Status check_decoder(const ConvertOptions& options, network::Model* model, Report* report) {
  const auto decoder = network::create_decoder(*model, options.decoder_library.get());
  if (!decoder.ok()) return decoder.error();
  if (report && !options.preset.empty()) {
    DVNN_ASSIGN(std::string doubt,
                doubt_preset(network::named_outputs(*model), input_size(*model), options.preset,
                             model->decoder.params, exported_of(options)));
    if (!doubt.empty()) report->warnings.push_back(std::move(doubt));
  }
  if (!decoder.value() || !options.preset_labels) return {};
  const auto classes = static_cast<size_t>(decoder.value()->class_count());
  if (classes == 0 || classes == model->labels.size()) return {};
  const int read = outputs_read(model->decoder.params);
  if (read > 0 && static_cast<size_t>(read) < model->outputs.size()) {
    return invalid_argument(
        format("preset '%s' finds %zu classes in %d of the network's %zu outputs, and knows %zu: "
               "these are no outputs of its family, or some of another",
               options.preset.c_str(), classes, read, model->outputs.size(), model->labels.size()));
  }
  if (report) {
    report->warnings.push_back(
        format("the network has %zu classes and the preset %zu labels: give your own by --labels",
               classes, model->labels.size()));
  }
  model->labels.clear();
  return {};
}

// Sets one channel to gray unless the user gave an order, and checks the order against the
// channels.
Status fit_picture(const Shape& input, bool order_given, InputSpec* picture) {
  const int channels = plan::is_picture(input) ? input.c() : 0;
  if (!order_given && channels == 1) picture->order = ChannelOrder::kGray;
  if (channels == 0 || (channels == 1) == (picture->order == ChannelOrder::kGray)) return {};
  return invalid_argument(
      channels == 1
          ? format("the input has one channel, whose order is gray, not %s",
                   to_string(picture->order))
          : format("the input has %d channels, whose order is rgb or bgr, not gray", channels));
}

Result<network::Model> convert_graph(plan::Graph graph, const ConvertOptions& options,
                                     Report* report) {
  InputSpec picture = options.picture;
  const Shape input = graph.shape_of(graph.input);
  DVNN_TRY(fit_picture(input, options.given.order, &picture));
  if (report && report->keep_imported)
    report->imported = std::make_shared<const plan::Graph>(graph);
  plan::PlanOptions planning = options;
  if (options.read_samples && plan::is_picture(input)) {
    DVNN_ASSIGN(planning.samples, options.read_samples(input, picture));
  }
  DVNN_ASSIGN(network::Model model, plan::plan(std::move(graph), planning, picture, report));
  if (!options.name.empty()) model.name = options.name;
  model.labels = options.labels;
  if (options.decoder.empty()) {
    DVNN_TRY(choose_decoder(options, &model, report));
  } else {
    model.decoder = {options.decoder, options.decoder_params};
    DVNN_TRY(choose_form(options, &model));
    decode::set_input_size(options.decoder, input_size(model), &model.decoder.params);
  }
  DVNN_TRY(check_decoder(options, &model, report));
  DVNN_TRY(network::validate(model));
  return model;
}

void clean_names(plan::Graph* graph) {
  graph->name = clean_name(graph->name);
  for (plan::Node& node : graph->nodes) {
    node.name = clean_name(node.name);
    for (std::string& layer : node.layers) layer = clean_name(layer);
  }
  for (plan::Value& value : graph->values) value.name = clean_name(value.name);
  for (std::string& name : graph->output_names) name = clean_name(name);
}

}  // namespace

std::string clean_name(const std::string& name) {
  return short_text(name, network::kMaxNameBytes);
}

Result<network::Model> finish(Result<plan::Graph> graph, const std::string& kind,
                              const std::string& path, const ConvertOptions& options,
                              Report* report) {
  if (!graph.ok()) {
    const Error error{graph.error().code, printable(graph.error().message)};
    // Readers of files name the file, too.
    const std::string file = "'" + path + "'";
    return starts_with(error.message, printable(file)) ? error : error.within(file);
  }
  if (kind != "onnx" && !(options.import.states.empty() && options.import.live.empty())) {
    return unsupported(
               "states and several live inputs (--state, --live) are read from ONNX models only")
        .within("'" + path + "'");
  }
  clean_names(&graph.value());
  auto model = convert_graph(std::move(graph.value()), options, report);
  if (!model.ok()) return model.error().within("'" + path + "'");
  model.value().source = clean_name(kind + ": " + base_name(path));
  if (model.value().name.empty()) model.value().name = clean_name(base_name(path));
  return model;
}

}  // namespace dvnn::convert
