// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/dot.h"

#include <gio/gio.h>

#include "base/format.h"
#include "base/json.h"
#include "tools/inspect/steps.h"

namespace dvnn::tools {
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
