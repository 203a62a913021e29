// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/report.h"

#include "base/json.h"
#include "tools/inspect/steps.h"
#include "tools/inspect/work_share.h"

namespace dvnn::tools {

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
