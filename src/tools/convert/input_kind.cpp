// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/input_kind.h"

#include "base/format.h"
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

}  // namespace dvnn::tools
