// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/convert_outputs.h"

#include <glib.h>
#include <glib/gstdio.h>

#include "base/file.h"
#include "base/json.h"
#include "emit/emit_cpp.h"
#include "layers/attributes.h"
#include "network/dvn_file.h"
#include "network/model_json.h"
#include "network/network.h"
#include "tools/inspect/dot.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

Status write_cpp(const network::Model& model, const std::string& folder) {
  DVNN_ASSIGN(const emit::CppSources sources, emit::emit_cpp(model));
  if (g_mkdir_with_parents(folder.c_str(), 0777) != 0) {
    return Error{ErrorCode::kIo, "'" + folder + "' cannot be made"};
  }
  const std::string path = folder + "/" + sources.name;
  DVNN_TRY(replace_file(path + "_gen.h", {sources.header}));
  DVNN_TRY(replace_file(path + "_gen.cpp", {sources.source}));
  DVNN_TRY(replace_file(path + "_dvinfer.cpp", {sources.glue}));
  return replace_file(path + "_weights.bin", {bytes_as_text(model.weights)});
}

}  // namespace

Status check_written(const std::string& path, const network::Model& model) {
  for (const network::Step& step : model.steps) {
    if (step.layer && step.layer->as<layers::CustomAttributes>()) return {};
  }
  auto loaded = [&]() -> Status {
    DVNN_ASSIGN(network::Model again, network::read_dvn(path));
    DVNN_ASSIGN(auto device, device::Device::open("soft"));
    DVNN_ASSIGN(auto network, network::Network::create(std::move(again), std::move(device)));
    DVNN_ASSIGN(const auto slot, network->create_slot());
    return {};
  };
  Status status = loaded();
  if (status.ok() || status.error().code == ErrorCode::kNotFound) return {};
  g_remove(path.c_str());
  return status.error().within("the network that was made does not load");
}

Status write_outputs(const ConvertOutputs& outputs, const network::Model& model) {
  DVNN_TRY(network::write_dvn(model, outputs.network));
  if (!outputs.cpp_folder.empty()) DVNN_TRY(write_cpp(model, outputs.cpp_folder));
  if (!outputs.dot.empty()) DVNN_TRY(replace_file(outputs.dot, {dot_of(model)}));
  if (!outputs.json.empty()) {
    const Json json = network::model_to_json(model);
    const std::string text = json_text(json, 1);
    DVNN_TRY(replace_file(outputs.json, {text + "\n"}));
  }
  if (!outputs.svg.empty()) {
    DVNN_ASSIGN(const std::string svg, svg_of(model));
    DVNN_TRY(replace_file(outputs.svg, {svg}));
  }
  return {};
}

}  // namespace dvnn::tools
