// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/input_kind.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "convert/presets.h"
#include "decode/decoder.h"
#include "network/dvn_file.h"
#include "network/model_decoder.h"
#include "plan/replan.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

using Files = std::vector<std::string>;

// Plans a network file again, for another size of input.
Result<network::Model> replan_file(const Files& files, const convert::ConvertOptions& options,
                                   convert::Report*) {
  const std::string& path = files[0];
  DVNN_ASSIGN(network::Model model, network::read_dvn(path));
  if (options.import.width > 0) {
    auto replanned = plan::replan(model, options.import.width, options.import.height);
    if (!replanned.ok()) return replanned.error().within("'" + path + "'");
    model = std::move(replanned.value());
  }
  if (!options.name.empty()) model.name = options.name;
  if (!options.labels.empty()) model.labels = options.labels;
  if (!options.decoder.empty()) {
    model.decoder = {options.decoder, options.decoder_params};
    const Shape& input = model.tensor(model.input.tensor).desc.shape;
    if (input.rank == 4) {
      decode::set_input_size(options.decoder, {double(input.w()), double(input.h())},
                             &model.decoder.params);
    }
    const auto decoder = network::create_decoder(model, options.decoder_library.get());
    if (!decoder.ok()) return decoder.error().within("'" + path + "'");
  }
  return model;
}

const InputKind kInputKinds[] = {
    {"caffe",
     {".prototxt", ".caffemodel"},
     2,
     false,
     [](const Files& files, const convert::ConvertOptions& options, convert::Report* report) {
       return convert::convert_caffe(files[0], files[1], options, report);
     }},
    {"keras",
     {".h5", ".hdf5", ".keras"},
     1,
     false,
     [](const Files& files, const convert::ConvertOptions& options, convert::Report* report) {
       return convert::convert_keras(files[0], options, report);
     }},
    {"onnx",
     {".onnx"},
     1,
     false,
     [](const Files& files, const convert::ConvertOptions& options, convert::Report* report) {
       return convert::convert_onnx(files[0], options, report);
     }},
#ifdef DVNN_HAVE_TFLITE
    {"tflite",
     {".tflite", ".lite"},
     1,
     false,
     [](const Files& files, const convert::ConvertOptions& options, convert::Report* report) {
       return convert::convert_tflite(files[0], options, report);
     }},
#endif
    {"dvn", {".dvn"}, 1, true, replan_file},
};

}  // namespace

const InputKind* find_input_kind(const std::string& name) {
  for (const InputKind& kind : kInputKinds) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

const InputKind* guess_input_kind(const Files& files) {
  if (files.size() != 1) return find_input_kind("caffe");
  for (const InputKind& kind : kInputKinds) {
    for (const char* ending : kind.endings) {
      if (ends_with(files[0], ending)) return &kind;
    }
  }
  return find_input_kind("onnx");
}

std::string input_kind_names() {
  std::string names;
  for (const InputKind& kind : kInputKinds) {
    const bool last = &kind == std::end(kInputKinds) - 1;
    names += (names.empty() ? "" : last ? " and " : ", ") + std::string(kind.name);
  }
  return names;
}

namespace {

struct Stranger {
  const char* end;  // of the file's name
  const char* what;
  const char* advice;
};

constexpr Stranger kStrangers[] = {
    {".pt", "a PyTorch file", "export it as ONNX (torch.onnx.export, or yolo export format=onnx)"},
    {".pth", "a PyTorch file", "export it as ONNX (torch.onnx.export)"},
    {".ckpt", "a checkpoint", "export the model as ONNX or save it as Keras .h5"},
#ifndef DVNN_HAVE_TFLITE
    {".tflite", "a TensorFlow Lite model", "make ONNX of it (python -m tf2onnx.convert --tflite)"},
#endif
    {".pb", "a TensorFlow graph", "make ONNX of it (python -m tf2onnx.convert --graphdef)"},
    {".onnx.data", "the weights of an ONNX model", "name the .onnx file beside it"},
    {".engine", "a TensorRT plan", "convert the ONNX model that it was made of"},
    {".xml", "an OpenVINO model", "convert the ONNX model that it was made of"},
    {".param", "an ncnn model", "convert the ONNX or Caffe model that it was made of"},
    {".weights", "darknet weights", "export the model as ONNX"},
    {".cfg", "a darknet model", "export the model as ONNX"},
    {".zip", "an archive", "unpack it"},
    {".md", "text", "name a model file"},
    {".txt", "text", "name a model file; labels go with --labels"},
    {".names", "a list of labels", "give it as --labels"},
    {".jpg", "a picture", "convert a model first, then dvnet run NETWORK.dvn PICTURE"},
    {".png", "a picture", "convert a model first, then dvnet run NETWORK.dvn PICTURE"},
};

}  // namespace

void order_caffe_files(std::vector<std::string>* files) {
  if (files->size() != 2) return;
  if (ends_with((*files)[0], ".caffemodel") && ends_with((*files)[1], ".prototxt")) {
    std::swap((*files)[0], (*files)[1]);
  }
}

std::string advice_on(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const Stranger& stranger : kStrangers) {
      if (!ends_with(lower_case(file), stranger.end)) continue;
      return "'" + file + "' looks like " + stranger.what +
             ", which is not converted: " + stranger.advice;
    }
  }
  return "";
}

std::string advice_on_decoder(const std::string& name) {
  const std::vector<std::string> known = decode::decoder_names();
  const auto presets = convert::all_presets();
  if (name.empty() || !presets.ok() || std::count(known.begin(), known.end(), name) > 0) return "";
  std::string named;
  for (const convert::Preset& preset : presets.value()) {
    if (preset.name.rfind(lower_case(name), 0) != 0) continue;
    named += (named.empty() ? "" : ", ") + preset.name;
  }
  if (named.empty()) return "";
  return "there is no decoder '" + name + "', but there are presets: --preset " + named;
}

}  // namespace dvnn::tools
