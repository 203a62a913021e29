// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/convert_outputs.h"

#include <glib.h>
#include <glib/gstdio.h>

#include "base/file.h"
#include "base/json.h"
#include "emit/emit_cpp.h"
#include "layers/attributes.h"
#include "network/dvn_file.h"
#include "network/network.h"
#include "tools/inspect/estimates.h"
#include "tools/inspect/steps.h"
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

namespace {

Json accuracy_to_json(const Accuracy& accuracy) {
  Json outputs = Json::array();
  for (const Accuracy::Output& o : accuracy.outputs) {
    if (o.rows_of_boxes) {
      outputs.push_back({{"name", o.name}, {"compared_as", "boxes"}});
      continue;
    }
    outputs.push_back(
        {{"name", o.name}, {"worst", o.worst}, {"largest", o.largest}, {"cosine", o.cosine}});
  }
  Json out = {{"pictures", accuracy.pictures},
              {"reference", "the imported graph in FP32, by dvnet itself"},
              {"outputs", outputs}};
  if (!accuracy.compared.empty()) {
    out["agreement"] = {
        {"of", accuracy.compared}, {"agreeing", accuracy.agreeing}, {"out_of", accuracy.out_of}};
    if (accuracy.compared == "boxes" && accuracy.agreeing > 0) {
      out["agreement"]["least_iou"] = accuracy.least_iou;
      out["agreement"]["worst_confidence"] = accuracy.worst_confidence;
    }
  }
  return out;
}

}  // namespace

Json report_to_json(const network::Model& model, const convert::Report& report,
                    const Accuracy& accuracy) {
  Json steps = Json::array();
  int64_t macs = 0;
  size_t next = 0;  // index of the next step; notes on layers that take no step are in between
  for (const plan::StepNote& note : report.steps) {
    Json entry = {{"where", note.where}, {"why", note.why}, {"layers", note.layers}};
    if (note.where != "in place") {
      const network::Step& step = model.steps[next++];
      const int64_t own = network::step_macs(model, step);
      macs += own;
      entry["does"] = describe(step);
      entry["macs"] = own;
      entry["work"] = network::step_work(model, step);
      if (step.kind == network::StepKind::kDevice) entry["weight_bytes"] = weight_bytes(step);
    }
    steps.push_back(std::move(entry));
  }
  Json out = {{"network", model.name},
              {"source", model.source},
              {"macs", macs},
              {"device_share", to_json(share_of(model, device::Hardware()))},
              {"weight_bytes", model.weights.size()},
              {"io_bytes", report.io_peak_bytes},
              {"io_bytes_without_reuse", report.io_sum_bytes},
              {"constant_bytes", model.constant_bytes},
              {"warnings", report.warnings},
              {"skipped", report.skipped},
              {"steps", std::move(steps)}};
  if (accuracy.pictures > 0) out["accuracy"] = accuracy_to_json(accuracy);
  return out;
}

}  // namespace dvnn::tools
