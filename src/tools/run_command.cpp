// SPDX-License-Identifier: Apache-2.0
#include <glib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "base/log.h"
#include "decode/decoder.h"
#include "tools/commands.h"
#include "tools/found.h"
#include "tools/npy.h"
#include "tools/options.h"
#include "tools/pictures.h"
#include "tools/session.h"

namespace dvnn::tools {
namespace {

struct RunOptions {
  std::optional<double> threshold;  // nothing: the network's own, or kUsualThreshold
  bool json;
  std::string dump_folder;  // empty: no dump
  std::string draw_folder;  // empty: no pictures
};

// Numbers for one of the network's inputs.
struct NamedArray {
  std::string path, input;
  NpyArray array;
  int count;  // of frames, along the first axis
};

// Formats as ASCII, for terminals. Invalid UTF-8 in a file's name does not throw.
std::string json_line(const OrderedJson& value) {
  return json_text(value, -1, true);
}

std::vector<float> values_of(const ConstTensorView& view) {
  std::vector<float> values(view.desc.shape.count());
  read_nchw(view, values.data());
  return values;
}

// Returns the member "outputs", for networks without a decoder: each output's shape, sum and
// largest magnitude.
OrderedJson outputs_json(Session* session) {
  OrderedJson outputs = OrderedJson::object();
  const network::Model& model = session->model();
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const ConstTensorView view = session->slot().output(i);
    double sum = 0, absmax = 0;
    for (float v : values_of(view)) {
      sum += v;
      absmax = std::fmax(absmax, std::fabs(v));
    }
    const Shape& shape = view.desc.shape;
    outputs[model.outputs[i].name] = {
        {"shape", std::vector<int>(shape.dims, shape.dims + shape.rank)},
        {"sum", sum},
        {"absmax", absmax}};
  }
  return outputs;
}

// Writes the input tensor, and the input as the model defines it: without the layers that were
// folded into the conversion of pictures.
Status dump_input(Session* session, const std::string& stem) {
  const TensorDesc& desc = session->slot().network()->input_desc();
  std::vector<float> values = values_of({desc, session->slot().input().data()});
  DVNN_TRY(write_npy(stem + ".tensor.npy", desc.shape, values));
  unfold(session->model().input, desc.shape, &values);
  return write_npy(stem + ".input.npy", desc.shape, values);
}

// Writes the outputs for `count` inputs, consecutive along the first axis.
Status dump_outputs(Session* session, const std::string& folder, const std::string& picture,
                    const std::vector<std::vector<float>>& results, int count) {
  const network::Model& model = session->model();
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    std::string name = model.outputs[i].name;
    for (char& c : name) c = c == '/' || c == ':' ? '_' : c;
    Shape shape = session->slot().output(i).desc.shape;
    if (count > 1) shape[0] *= count;
    DVNN_TRY(write_npy(folder + "/" + base_name(picture) + "." + name + ".npy", shape, results[i]));
  }
  return {};
}

// Runs on the loaded input, and appends each output to `results`.
Status run_slot(Session* session, const std::string& path, const RunOptions& options,
                std::vector<std::vector<float>>* results) {
  if (!options.dump_folder.empty()) {
    DVNN_TRY(dump_input(session, options.dump_folder + "/" + base_name(path)));
  }
  DVNN_TRY(session->run(path));
  results->resize(session->model().outputs.size());
  for (size_t i = 0; i < results->size() && !options.dump_folder.empty(); ++i) {
    const std::vector<float> values = values_of(session->slot().output(i));
    (*results)[i].insert((*results)[i].end(), values.begin(), values.end());
  }
  return {};
}

// Returns how many inputs of this shape an array has along its first axis, which are a batch or
// frames: networks take one at a time. Returns 1 if it is not so.
int batch_of(const NpyArray& array, const Shape& shape) {
  const bool one_more = array.dims.size() == shape.axes() + 1;
  if (array.dims.empty() || !(one_more || (array.dims.size() == shape.axes() && shape[0] == 1))) {
    return 1;
  }
  const int64_t count = array.dims[0];
  const bool whole =
      count > 1 && static_cast<int64_t>(array.values.size()) == count * shape.elements();
  return whole ? static_cast<int>(count) : 1;
}

// Returns element `i` of a batch.
NpyArray element_of(const NamedArray& from, int i) {
  if (from.count == 1) return from.array;
  const auto each = static_cast<std::ptrdiff_t>(from.array.values.size()) / from.count;
  const auto begin = from.array.values.begin() + i * each;
  NpyArray one = {from.array.dims, {begin, begin + each}};
  one.dims[0] = 1;
  return one;
}

// Runs on numbers that are the inputs as the model defines them, so there is no picture to find
// objects in. An input of one element is the same for all of the others' elements.
Status run_arrays(Session* session, const std::vector<NamedArray>& arrays,
                  const RunOptions& options) {
  int count = 1;
  for (const NamedArray& array : arrays) count = std::max(count, array.count);
  const std::string& path = arrays[0].path;
  std::vector<std::vector<float>> results;
  for (int i = 0; i < count; ++i) {
    for (const NamedArray& array : arrays) {
      NpyArray one = element_of(array, array.count > 1 ? i : 0);
      DVNN_TRY(session->load(array.path, array.input, &one));
    }
    DVNN_TRY(run_slot(session, path, options, &results));
    const OrderedJson result = {{"numbers", base_name(path)}, {"outputs", outputs_json(session)}};
    if (options.json) {
      std::printf("%s\n", json_line(result).c_str());
    } else {
      std::printf("%s: %s\n", printable(path).c_str(), json_line(result.at("outputs")).c_str());
    }
  }
  if (options.dump_folder.empty()) return {};
  return dump_outputs(session, options.dump_folder, path, results, count);
}

// Returns what the last run has found, as dvdecode would without properties unless --threshold is
// given.
Result<objects::Objects> found_objects(Session* session, const RunOptions& options) {
  decode::ClassThresholds own;
  if (!options.threshold) {
    DVNN_ASSIGN(own, decode::read_class_thresholds(session->model().decoder.params));
  }
  const auto others = static_cast<float>(options.threshold.value_or(decode::kUsualThreshold));
  DVNN_ASSIGN(objects::Objects found, session->decode(decode::least_threshold(own, others)));
  if (own.empty()) return found;
  found.remove_if([&](const objects::Object& object) {
    return object.confidence < decode::threshold_of(own, object.label, others);
  });
  return found;
}

// Returns the shape of the input of that name; null if there is none that the caller writes.
const Shape* shape_of_input(const network::Model& model, const std::string& name) {
  const network::TensorInfo& first = model.tensor(model.input.tensor);
  if (first.name == name) return &first.desc.shape;
  for (const network::ExtraInput& extra : model.extra_inputs) {
    if (extra.name == name && !extra.is_state()) return &model.tensor(extra.tensor).desc.shape;
  }
  return nullptr;
}

const std::string& first_input(const network::Model& model) {
  return model.tensor(model.input.tensor).name;
}

Status run_numbers(Session* session, const std::string& path, const RunOptions& options) {
  const network::Model& model = session->model();
  const std::string& input = first_input(model);
  DVNN_ASSIGN(NpyArray array, read_npy(path));
  const int count = batch_of(array, *shape_of_input(model, input));
  return run_arrays(session, {{path, input, std::move(array), count}}, options);
}

// Splits "NAME=FILE.npy", if NAME is an input of the network.
std::optional<std::pair<std::string, std::string>> named_file(const network::Model& model,
                                                              const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || !ends_with(text, ".npy")) return std::nullopt;
  const std::string name = text.substr(0, equals);
  if (!shape_of_input(model, name)) return std::nullopt;
  return std::pair(name, text.substr(equals + 1));
}

// Runs on numbers for each input, which the files name as NAME=FILE.npy.
Status run_named(Session* session, const std::vector<std::string>& files,
                 const RunOptions& options) {
  const network::Model& model = session->model();
  std::vector<NamedArray> arrays;
  int count = 1;
  for (const std::string& file : files) {
    const auto named = named_file(model, file);
    const bool twice = named && std::any_of(arrays.begin(), arrays.end(), [&](const auto& other) {
                         return other.input == named->first;
                       });
    if (!named || twice) {
      return invalid_argument(
          "'" + file + "'" +
          (twice ? " gives the same input a second array: one holds all frames"
                 : " is not NAME=FILE.npy, with an input's name, as the others are"));
    }
    NamedArray array = {named->second, named->first, {}, 1};
    DVNN_ASSIGN(array.array, read_npy(array.path));
    array.count = batch_of(array.array, *shape_of_input(model, array.input));
    if (array.count > 1 && count > 1 && array.count != count) {
      return invalid_argument(
          format("'%s' has %d frames, another input %d", array.path.c_str(), array.count, count));
    }
    count = std::max(count, array.count);
    arrays.push_back(std::move(array));
  }
  const size_t wanted =
      1 + static_cast<size_t>(std::count_if(model.extra_inputs.begin(), model.extra_inputs.end(),
                                            [](const auto& extra) { return !extra.is_state(); }));
  if (arrays.size() == wanted) return run_arrays(session, arrays, options);
  const std::string others = network::live_inputs_text(model);
  return invalid_argument(
      format("the network has %zu inputs, '%s'%s: name an .npy file for each, such as %s=FILE.npy",
             wanted, first_input(model).c_str(), others.empty() ? "" : (", " + others).c_str(),
             first_input(model).c_str()));
}

Status run_picture(Session* session, const std::string& path, const RunOptions& options) {
  DVNN_ASSIGN(const Bitmap picture, read_picture(path));
  DVNN_TRY(session->load(picture));
  std::vector<std::vector<float>> results;
  DVNN_TRY(run_slot(session, path, options, &results));
  if (!options.dump_folder.empty()) {
    DVNN_TRY(dump_outputs(session, options.dump_folder, path, results, 1));
  }
  OrderedJson result = {
      {"image", base_name(path)}, {"width", picture.width}, {"height", picture.height}};
  decode::Decoder* decoder = session->decoder();
  if (decoder) {
    const bool classes = decoder->kind() == objects::Kind::kClassification;
    // The best classes are chosen by their number, not by confidence.
    DVNN_ASSIGN(const auto found,
                classes ? session->decode(0.0f) : found_objects(session, options));
    if (!options.json) print_objects(path, found, picture.width, picture.height);
    result[classes ? "top5" : "detections"] = objects_json(found, picture.width, picture.height);
    if (!options.draw_folder.empty()) {
      DVNN_TRY(write_drawn(options.draw_folder, path, picture, found));
    }
  } else {
    result["outputs"] = outputs_json(session);
    if (!options.draw_folder.empty()) {
      const Status drawn = write_output_picture(options.draw_folder, path, session);
      // This is not an error: the numbers are printed anyway.
      const bool nothing = !drawn.ok() && drawn.error().code == ErrorCode::kUnsupported;
      if (!nothing) DVNN_TRY(drawn);
      if (nothing) std::fprintf(stderr, "dvnet: warning: %s\n", drawn.error().message.c_str());
    }
    if (!options.json)
      std::printf("%s: %s\n", printable(path).c_str(), json_line(result["outputs"]).c_str());
  }
  if (options.json) std::printf("%s\n", json_line(result).c_str());
  return {};
}

// Replaces folders by the files in them.
std::vector<std::string> with_folders_opened(const std::vector<std::string>& named) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : named) {
    std::error_code error;
    if (!fs::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(name, error)) {
      if (entry.is_regular_file(error)) files.push_back(entry.path());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

// Writes all levels of the libraries' log to stderr from now on.
void log_to_stderr() {
  static constexpr log::Sink kSink = {
      [](log::Topic, log::Level) { return true; },
      [](log::Topic topic, log::Level, const char*, int, const char* text) {
        std::fprintf(stderr, "%s: %s\n", log::name_of(topic), printable(text).c_str());
      }};
  log::connect(&kSink);
}

int run_network(const Arguments& arguments) {
  RunOptions options = {std::nullopt, arguments.given("json"), arguments.text("dump"),
                        arguments.text("draw")};
  if (arguments.given("threshold")) options.threshold = arguments.fraction("threshold");
  const std::vector<std::string> files = with_folders_opened(arguments.files());
  const Command& command = arguments.command();
  if (files.size() < 2) {
    return wrong_usage(command, "needs a network file and a picture or an .npy file");
  }
  if (options.threshold && !(*options.threshold >= 0 && *options.threshold <= 1)) {
    return wrong_usage(command, format("--threshold %g is not in 0..1", *options.threshold));
  }
  if (arguments.given("verbose")) log_to_stderr();
  for (const auto& [option, path] :
       {std::pair("--dump", options.dump_folder), std::pair("--draw", options.draw_folder)}) {
    if (path.empty() || g_mkdir_with_parents(path.c_str(), 0777) == 0) continue;
    return fail({ErrorCode::kIo, std::string(option) + " '" + path + "' cannot be made"});
  }
  auto session = open_session(files[0], arguments);
  if (!session.ok()) return fail(session.error());
  if (!arguments.given("apart")) session.value()->follow_frames();
  const network::Model& model = session.value()->model();
  const std::vector<std::string> inputs(files.begin() + 1, files.end());
  const bool named = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& file) {
    return named_file(model, file).has_value();
  });
  if (named || !network::live_inputs_text(model).empty()) {
    const Status ran = run_named(session.value().get(), inputs, options);
    return ran.ok() ? 0 : fail(ran.error());
  }
  int status = 0;
  for (size_t i = 1; i < files.size(); ++i) {
    const auto run = ends_with(files[i], ".npy") ? run_numbers : run_picture;
    if (Status s = run(session.value().get(), files[i], options); !s.ok()) status = fail(s.error());
  }
  return status;
}

constexpr Option kRunOptions[] = {
    kWeightsOption,
    kCustomLayersOption,
    kDecoderLibraryOption,
    kSizeOption,
    kDeviceOption,
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object per picture"},
    {"threshold", 't', Takes::kFraction, "C",
     "Least confidence of a detection, 0..1 (default: the network's own of its class, else 0.5)"},
    {"dump", 0, Takes::kFile, "FOLDER",
     "Write the input tensor, the input as the model defines it and every raw output as .npy into "
     "this folder"},
    {"apart", 0, Takes::kNothing, nullptr,
     "Each input begins anew, if the network has a memory; else they are frames of one stream"},
    {"draw", 0, Takes::kFile, "FOLDER",
     "Write each picture with what was found on it, or the picture that the network makes, as .png "
     "into this folder"},
    {"verbose", 'v', Takes::kNothing, nullptr,
     "Say on stderr which device is opened, and what takes how long"}};

}  // namespace

const Command kRunCommand = {
    "run",
    "run a network on pictures and print what it finds",
    "NETWORK.dvn|NETWORK.so PICTURE|FOLDER|INPUT.npy|NAME=INPUT.npy...",
    "Runs a network on pictures and prints the detections or the top 5; or on arrays of numbers, "
    "which have the names of inputs where there are several. A network with a memory takes them, "
    "and the elements of an array, as frames of one stream, in this order.",
    kRunOptions,
    run_network};

}  // namespace dvnn::tools
