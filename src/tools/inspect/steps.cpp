// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/steps.h"

#include <gio/gio.h>

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "layers/attributes.h"

namespace dvnn::tools {

using network::Step;
using network::StepKind;

size_t weight_bytes(const Step& step) {
  size_t bytes = 0;
  device::for_each_run(step.command, [&](const device::ConvRun& run, const device::RunWalk& walk) {
    if (run.conv == device::ConvKind::kNone) return;
    bytes += packed_weights_size(device::run_geometry(run, walk.in().c));
  });
  return bytes;
}

std::string describe(const Step& step) {
  if (step.kind == StepKind::kCpu) return layers::type_of(*step.layer);
  static constexpr const char* kConv[] = {"", "conv",   "", "depthwise",
                                          "", "deconv", "", "dw-deconv"};
  static constexpr const char* kPool[] = {"", "max", "avg", "", "upsample"};
  static constexpr const char* kAct[] = {"", "tanh", "relu", "sigmoid", "prelu", "elu", "relu6"};
  std::string text;
  for (const device::ConvRun& run : step.command.runs) {
    if (!text.empty()) text += " | ";
    if (run.conv != device::ConvKind::kNone) {
      text += format("%s %dx%d", kConv[static_cast<int>(run.conv)], run.kernel.x, run.kernel.y);
      if (run.stride.x > 1 || run.stride.y > 1) text += format("/%d", run.stride.x);
      if (run.dilation.x > 1 || run.dilation.y > 1) text += format(" dil%d", run.dilation.x);
    }
    if (step.command.eltwise_add) text += "+add";
    if (run.pool != device::PoolKind::kNone) {
      text += format("%s%s %dx%d/%d", text.empty() || text.back() == ' ' ? "" : "+",
                     kPool[static_cast<int>(run.pool)], run.pool_size.x, run.pool_size.y,
                     run.pool_stride.x);
    }
    if (run.activation != device::Activation::kNone) {
      text += format("+%s", kAct[static_cast<int>(run.activation)]);
    }
  }
  return text;
}

namespace {

uint64_t end_of(const network::TensorInfo& tensor) {
  return tensor.offset + tensor.desc.bytes();
}

// Tensors are identified by their bytes: a step reads what was last written there.
bool overlap(const network::TensorInfo& a, const network::TensorInfo& b) {
  return a.storage == b.storage && a.offset < end_of(b) && b.offset < end_of(a);
}

void add_once(int step, std::vector<int>* sources) {
  if (std::find(sources->begin(), sources->end(), step) == sources->end()) {
    sources->push_back(step);
  }
}

}  // namespace

std::vector<std::vector<int>> step_sources(const network::Model& model) {
  std::vector<std::vector<int>> all(model.steps.size());
  for (size_t i = 0; i < model.steps.size(); ++i) {
    for (const int in : model.steps[i].inputs) {
      const network::TensorInfo& read = model.tensor(in);
      bool found = false;
      uint64_t covered = 0;
      for (size_t k = i; k-- > 0 && covered < read.desc.bytes();) {
        for (const int out : model.steps[k].outputs) {
          const network::TensorInfo& written = model.tensor(out);
          if (!overlap(read, written)) continue;
          add_once(static_cast<int>(k), &all[i]);
          covered += written.desc.bytes();
          found = true;
        }
      }
      if (!found) add_once(kFromInput, &all[i]);
    }
  }
  return all;
}

namespace {

std::string quoted(const std::string& text) {
  return json_text(Json(text));
}

}  // namespace

std::string dot_of(const network::Model& model) {
  std::string text;
  text += format("digraph %s {\n  node [shape=box];\n", quoted(model.name).c_str());
  const auto sources = step_sources(model);
  text += "  input [label=\"input\", shape=ellipse];\n";
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const network::Step& step = model.steps[i];
    text += format("  s%zu [label=%s%s];\n", i, quoted(step.name + "\n" + describe(step)).c_str(),
                   step.kind == network::StepKind::kCpu ? ", style=dashed" : "");
    for (const int from : sources[i]) {
      text += from == kFromInput ? format("  input -> s%zu;\n", i)
                                 : format("  s%d -> s%zu;\n", from, i);
    }
  }
  return text + "}\n";
}

Result<std::string> svg_of(const network::Model& model) {
  GError* error = nullptr;
  auto failed = [&error](ErrorCode code, const char* what) {
    const Error failure{code, what + std::string(error ? error->message : "it failed")};
    g_clear_error(&error);
    return failure;
  };
  const auto flags =
      static_cast<GSubprocessFlags>(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  GSubprocess* dot = g_subprocess_new(flags, &error, "dot", "-Tsvg", nullptr);
  if (!dot) return failed(ErrorCode::kNotFound, "SVG needs Graphviz (Debian: graphviz): ");
  const std::string text = dot_of(model);
  char* svg = nullptr;
  const bool done =
      g_subprocess_communicate_utf8(dot, text.c_str(), nullptr, &svg, nullptr, &error) &&
      g_subprocess_get_successful(dot) && svg;
  const std::string result = svg ? svg : "";
  g_free(svg);
  g_object_unref(dot);
  if (!done) return failed(ErrorCode::kIo, "Graphviz' dot: ");
  return result;
}

}  // namespace dvnn::tools
