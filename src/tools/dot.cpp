// SPDX-License-Identifier: Apache-2.0
#include "tools/dot.h"

#include <gio/gio.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "tools/step_text.h"

namespace dvnn::tools {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string dot_of(const network::Model& model) {
  std::string text;
  text += format("digraph %s {\n  node [shape=box];\n", quoted(model.name).c_str());
  // A tensor is known by the bytes it occupies: a step reads whatever last wrote them.
  auto overlaps = [&](int a, int b) {
    const auto& x = model.tensor(a);
    const auto& y = model.tensor(b);
    const uint64_t x_end = x.offset + static_cast<uint64_t>(x.desc.bytes());
    const uint64_t y_end = y.offset + static_cast<uint64_t>(y.desc.bytes());
    return x.storage == y.storage && x.offset < y_end && y.offset < x_end;
  };
  text += "  input [label=\"input\", shape=ellipse];\n";
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const network::Step& step = model.steps[i];
    text += format("  s%zu [label=%s%s];\n", i, quoted(step.name + "\n" + describe(step)).c_str(),
                   step.kind == network::StepKind::kCpu ? ", style=dashed" : "");
    for (int in : step.inputs) {
      bool found = false;
      uint64_t covered = 0;
      const uint64_t wanted = static_cast<uint64_t>(model.tensor(in).desc.bytes());
      for (size_t k = i; k-- > 0 && covered < wanted;) {
        for (int out : model.steps[k].outputs) {
          if (!overlaps(in, out)) continue;
          text += format("  s%zu -> s%zu;\n", k, i);
          covered += static_cast<uint64_t>(model.tensor(out).desc.bytes());
          found = true;
        }
      }
      if (!found) text += format("  input -> s%zu;\n", i);
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
