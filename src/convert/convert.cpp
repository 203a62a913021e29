// SPDX-License-Identifier: Apache-2.0
#include "convert/convert.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "base/nth.h"
#include "convert/guess.h"
#include "convert/presets.h"
#include "import/caffe/import.h"
#include "import/keras/files.h"
#include "import/keras/import.h"
#include "import/model_file.h"
#include "import/onnx/import.h"
#ifdef DVNN_HAVE_TFLITE
#include "import/tflite/import.h"
#endif
#include "layers/attributes.h"
#include "network/model.h"
#include "network/model_decoder.h"
#include "plan/plan.h"

namespace dvnn::convert {
namespace {

// Returns a name that is fit for a network file and terminals: printable, and no longer than a
// file's name may be.
std::string clean_name(const std::string& name) {
  return short_text(name, network::kMaxNameBytes);
}

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
      std::string note =
          "the outputs are those of " + guess->family + ": decoder '" + guess->decoder + "'";
      // Shapes tell neither.
      if (!options.exported) note += "; --preset " + guess->preset + " has its picture and labels";
      report->warnings.push_back(std::move(note));
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

// The last steps of every conversion, whatever framework the graph is from: plans the graph that
// was imported from the file `path`, and chooses its decoder. `kind` names the framework in the
// network's source. Errors name the file. `report` may be null.
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

Metadata metadata_of(const onnx::ModelProto& model) {
  Metadata metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  return metadata;
}

// Fills in what the user has not given about the picture, from how the model was trained.
void fill_picture(const InputSpec& trained, const PictureGiven& given, InputSpec* picture) {
  if (!given.order) picture->order = trained.order;
  if (!given.resize) picture->resize = trained.resize;
  if (!given.mean) picture->mean = trained.mean;
  if (!given.scale) picture->scale = trained.scale;
  if (!given.pad) picture->pad_value = trained.pad_value;
}

// Takes labels, size and picture from the model's file, unless the user has given them.
Status take_exported(const Metadata& metadata, ConvertOptions* options, Report* report) {
  options->exported = read_exported(metadata);
  if (!options->exported) return {};
  const Exported& exported = *options->exported;
  if (options->import.width == 0) {
    options->import.open_width = exported.width;
    options->import.open_height = exported.height;
  }
  if (!exported.labels.empty() && (options->labels.empty() || options->preset_labels)) {
    options->labels = exported.labels;
    options->preset_labels = false;
  }
  const bool whole = exported.task == Task::kClassify;
  DVNN_ASSIGN(const Preset preset, find_preset(whole ? "yolov8-cls" : "yolov8"));
  fill_picture(preset.picture, options->given, &options->picture);
  if (report) {
    const std::string what = exported.description.empty() ? "of Ultralytics" : exported.description;
    report->warnings.push_back("the file says what it is (" + what +
                               "): picture and labels are as it was trained");
  }
  return {};
}

// The file's weights are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_onnx_file(const std::string& path, ConvertOptions* options,
                                     Report* report) {
  DVNN_ASSIGN(onnx::ModelProto proto, import::read_onnx(path));
  DVNN_TRY(take_exported(metadata_of(proto), options, report));
  return import::import_onnx(std::move(proto), folder_name(path), options->import,
                             report ? &report->warnings : nullptr);
}

// The file's weights are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_keras_file(const std::string& path, const ConvertOptions& options) {
  if (import::is_keras_archive(path)) {
    DVNN_ASSIGN(const auto archive, import::read_keras_archive(path));
    return import::import_keras3(archive.config, *archive.weights, options.import);
  }
  DVNN_ASSIGN(const auto file, import::Hdf5File::open(path));
  return import::import_keras(*file, options.import);
}

// The files are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_caffe_files(const std::string& prototxt, const std::string& caffemodel,
                                       const ConvertOptions& options, Report* report) {
  DVNN_ASSIGN(const caffe::NetParameter net,
              import::read_prototxt(prototxt, report ? &report->skipped : nullptr));
  DVNN_ASSIGN(const caffe::NetParameter weights, import::read_caffemodel(caffemodel));
  return import::import_caffe(net, weights, options.import);
}

}  // namespace

Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report) {
  ConvertOptions own = options;
  auto graph = import_onnx_file(path, &own, report);
  return finish(std::move(graph), "onnx", path, own, report);
}

Result<network::Model> convert_keras(const std::string& path, const ConvertOptions& options,
                                     Report* report) {
  auto graph = import_keras_file(path, options);
  return finish(std::move(graph), "keras", path, options, report);
}

Result<network::Model> convert_keras(const import::Hdf5File& file, const std::string& path,
                                     const ConvertOptions& options, Report* report) {
  return finish(import::import_keras(file, options.import), "keras", path, options, report);
}

Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report) {
  auto graph = import_caffe_files(prototxt_path, caffemodel_path, options, report);
  auto model = finish(std::move(graph), "caffe", prototxt_path, options, report);
  if (model.ok()) {
    model.value().source = clean_name(model.value().source + ", " + base_name(caffemodel_path));
  }
  return model;
}

#ifdef DVNN_HAVE_TFLITE

namespace {

std::array<float, 3> of_channels(const std::vector<float>& values) {
  std::array<float, 3> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[values.size() == all.size() ? i : 0];
  return all;
}

// The file's metadata replaces options that were not given.
void take_metadata(const import::TfliteMetadata& metadata, ConvertOptions* options,
                   std::vector<std::string>* notes) {
  InputSpec* picture = &options->picture;
  if (!options->given.order) picture->order = ChannelOrder::kRgb;  // as TensorFlow reads pictures
  const bool scaled = !metadata.mean.empty() && !options->given.mean && !options->given.scale;
  if (scaled) {
    picture->mean = of_channels(metadata.mean);
    picture->scale = of_channels(metadata.scale);
    notes->push_back(format("the file says how a picture becomes its input: mean %g, scale %g",
                            static_cast<double>(picture->mean[0]),
                            static_cast<double>(picture->scale[0])));
  }
  if (!metadata.labels.empty() && (options->labels.empty() || options->preset_labels)) {
    options->labels = metadata.labels;
    options->preset_labels = false;
    notes->push_back(format("the file has %zu labels", metadata.labels.size()));
  }
  if (!metadata.problem.empty()) notes->push_back(metadata.problem);
}

// The file is in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_tflite_file(const std::string& path, ConvertOptions* options,
                                       std::vector<std::string>* notes) {
  DVNN_ASSIGN(const auto model, import::TfliteModel::read(path));
  take_metadata(import::read_tflite_metadata(model, path), options, notes);
  return import::import_tflite(model, options->import, notes);
}

}  // namespace

Result<network::Model> convert_tflite(const std::string& path, const ConvertOptions& options,
                                      Report* report) {
  ConvertOptions own = options;
  std::vector<std::string> notes;
  auto graph = import_tflite_file(path, &own, &notes);
  if (report) report->warnings.insert(report->warnings.end(), notes.begin(), notes.end());
  return finish(std::move(graph), "tflite", path, own, report);
}
#endif  // DVNN_HAVE_TFLITE

}  // namespace dvnn::convert
