// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "../import/onnx_fixture.h"
#include "check_suite.h"
#include "convert/ini_file.h"

namespace dvnn::test::ini_tests {

DVNN_SUITE(convert_ini);

using namespace dvnn::convert;
using dvnn::test::TemporaryFile;

namespace {

constexpr const char* kGood =
    "# a network\n"
    "[INPUT]\n"
    "name = Net  ; the class\n"
    "definition = models/net.prototxt\n"
    "data = \"/elsewhere/net.caffemodel\"\n"
    "origin = Caffe\n"
    "width_override = 320\n"
    "height_override = 240\n"
    "[OUTPUT]\n"
    "output_folder = out\n"
    "generate_source = 1\n"
    "quantization = 0\n"
    "transpose_weight = 0\n"
    "colour = blue\n"
    "[OPTIONAL]\n"
    "verbose = 1\n";

Result<IniFile> read(const std::string& text) {
  const TemporaryFile file(text);
  return read_ini(file.path);
}

std::string with(const char* line, const char* instead) {
  std::string text = kGood;
  return text.replace(text.find(line), std::string(line).size(), instead);
}

void refused(const std::string& text, const char* word) {
  const auto ini = read(text);
  ck_assert(!ini.ok());
  ck_assert_msg(ini.error().message.find(word) != std::string::npos, "no '%s' in: %s", word,
                ini.error().message.c_str());
}

}  // namespace

DVNN_TEST(options_are_read) {
  const auto ini = read(kGood);
  ck_assert_msg(ini.ok(), "%s", ini.ok() ? "" : ini.error().message.c_str());
  const IniFile& i = ini.value();
  ck_assert_str_eq(i.name.c_str(), "Net");
  ck_assert_str_eq(i.definition.c_str(), "/tmp/models/net.prototxt");
  ck_assert_str_eq(i.data.c_str(), "/elsewhere/net.caffemodel");
  ck_assert_str_eq(i.output_folder.c_str(), "/tmp/out");
  ck_assert(!i.keras && !i.quantise && !i.hwc && i.width == 320 && i.height == 240);
  ck_assert(i.generates_source && !i.generates_dot && i.verbose);
  ck_assert_uint_eq(i.notes.size(), 1);  // colour
  const auto custom = read(with("origin = Caffe", "origin = CAFFE\ncustom_layer = mine.py"));
  ck_assert(custom.ok() && custom.value().custom_layer == "mine.py");
}

DVNN_TEST(defaults_are_the_tools) {
  const auto ini =
      read("[INPUT]\nname=N\ndefinition=n.h5\norigin=KERAS\n[OUTPUT]\noutput_folder=o\n");
  ck_assert(ini.ok());
  const IniFile& i = ini.value();
  ck_assert(i.keras && i.quantise && i.hwc && i.width == 0 && i.data == i.definition);
  ck_assert_uint_eq(i.notes.size(), 1);  // transpose_weight, which older files mean otherwise
}

DVNN_TEST(what_is_wrong_is_named) {
  refused(with("name = Net  ; the class\n", ""), "INPUT.name");
  refused(with("origin = Caffe", "origin = TORCH"), "TORCH");
  refused(with("width_override = 320", "width_override = wide"), "wide");
  refused(with("width_override = 320", "width_override = 0"), "positive");
  refused(with("output_folder = out\n", ""), "OUTPUT.output_folder");
  refused(with("colour = blue", "python_module = x"), "python_module");
  refused(with("[INPUT]", "nonsense"), "line 2");
  refused(with("name = Net", "name = ../Net"), "'/'");
}

}  // namespace dvnn::test::ini_tests
