// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/mistakes.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "convert/presets.h"
#include "decode/decoder.h"
#include "tools/options.h"

namespace dvnn::tools {
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
