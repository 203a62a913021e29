// SPDX-License-Identifier: Apache-2.0
// A network's text on its way into C++ sources: names that would become code, and their escapes.
#include <sstream>

#include "../../layers/named_layer.h"
#include "base/format.h"
#include "base/json.h"
#include "check_suite.h"
#include "emit/emit_cpp.h"
#include "grid_network.h"

namespace dvnn::test::hostile_names_tests {

DVNN_SUITE(hostile_names);

using emit::emit_cpp;
using network::Model;

namespace {

// Every line of the sources that is neither empty nor begins as generated code does.
bool has_line(const std::string& sources, const std::string& begin) {
  std::istringstream lines(sources);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, begin.size(), begin) == 0) return true;
  }
  return false;
}

Model with_custom_layer(const Json& params) {
  Model model = test::grid_network();
  network::Step& step = model.steps[2];
  step.layer = test::layer_of("Mine", params);
  const int out = step.outputs[0];
  model.tensor(out).desc = {ElementType::kFloat32, Layout::kNchw, {1, 32}};
  return model;
}

}  // namespace

DVNN_TEST(names_with_line_ends_are_not_emitted) {
  for (size_t place = 0; place < 4; ++place) {
    Model model = test::grid_network();
    const std::string evil = "a\n#error INJECTED\nint pwn(){return 1;}";
    if (place == 0) model.steps[0].name = evil;
    if (place == 1) model.steps[0].layers = {evil};
    if (place == 2) model.outputs[0].name = evil;
    if (place == 3) model.steps[2].layer = test::layer_of(evil, {});
    ck_assert(!emit_cpp(model).ok());
  }
}

DVNN_TEST(marks_that_continue_lines_or_end_texts_are_escaped) {
  Model model = test::grid_network();
  model.steps[0].layers = {"back\\", "trigraph ?\?/", "end */ /*"};
  model.steps[0].name = "quote\" ; #error \xc3\xa9 ?\?/";
  const auto sources = emit_cpp(model);
  ck_assert_msg(sources.ok(), "%s", sources.ok() ? "" : sources.error().message.c_str());
  const std::string& text = sources.value().source;
  ck_assert(text.find("//   back/\n") != std::string::npos);
  ck_assert(text.find("?\?/") == std::string::npos);
  ck_assert(text.find("*/") == std::string::npos);
  ck_assert(text.find("\"quote\\\" ; #error \\303\\251 \\077\\077/\"") != std::string::npos);
  ck_assert(!has_line(text, "#error"));
  for (char c : text) ck_assert(c == '\n' || (c >= ' ' && c <= '~'));
}

DVNN_TEST(parameters_that_hold_text_are_not_emitted) {
  ck_assert(emit_cpp(with_custom_layer({{"n", 1}, {"list", {1, 2}}})).ok());
  for (const Json& value :
       {Json("text"), Json({1, "}; int pwn(); int x[] = {"}), Json({1, {2}}), Json({{"a", 1}})}) {
    ck_assert(!emit_cpp(with_custom_layer({{"p", value}})).ok());
  }
  // Different names, one identifier.
  ck_assert(!emit_cpp(with_custom_layer({{"a b", 1}, {"a;b", 2}})).ok());
}

DVNN_TEST(text_of_files_is_made_printable) {
  dvnn_assert_text(printable("a\tb\x1b[2J\x7f"), "a?b?[2J?");
  dvnn_assert_text(printable("\xc2\x9b"
                             "2J\xc3\xa9"),
                   "?2J\xc3\xa9");
  dvnn_assert_text(printable("\xe2\x80\xae\xe2\x81\xa6\xe2\x82\xac"), "??\xe2\x82\xac");
  dvnn_assert_text(printable("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xd8\x9d\xe2\x80\x90"),
                   "???\xd8\x9d\xe2\x80\x90");  // U+200E, U+200F, U+061C and their neighbours
  dvnn_assert_text(printable("\xff\xc3"), "??");
  ck_assert(is_printable("caf\xc3\xa9") && !is_printable("\x07") && !is_printable("\xc2\x85"));
  dvnn_assert_text(short_text("abcdefgh", 8), "abcdefgh");
  dvnn_assert_text(short_text("abcdefghi", 8), "abcde...");
  dvnn_assert_text(short_text("abcd\xc3\xa9"
                              "fghi",
                              8),
                   "abcd...");
}

}  // namespace dvnn::test::hostile_names_tests
