// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/json.h"
#include "convert/presets.h"
#include "tools/commands.h"
#include "tools/options.h"

namespace dvnn::tools {

namespace {

int list_presets(const Arguments& arguments) {
  const std::vector<std::string>& names = arguments.files();
  if (names.size() > 1) return wrong_usage(arguments.command(), "takes one name at the most");
  auto presets = convert::all_presets();
  if (!presets.ok()) return fail(presets.error());
  if (names.empty()) {
    for (const convert::Preset& preset : presets.value()) {
      std::printf("%-24s %-16s %s\n", preset.name.c_str(), preset.decoder.c_str(),
                  preset.about.c_str());
    }
    return 0;
  }
  const auto found = convert::find_preset(names[0]);
  if (!found.ok()) return fail(found.error());
  const convert::Preset& preset = found.value();
  if (arguments.given("params")) {
    std::printf("%s\n", json_text(preset.params, 1).c_str());
    return 0;
  }
  const InputSpec& picture = preset.picture;
  std::printf("%s: %s\n", preset.name.c_str(), preset.about.c_str());
  std::printf(
      "picture: --order %s --mean %g,%g,%g --scale %g,%g,%g --resize %s --pad-value %d,%d,%d\n",
      to_string(picture.order), double{picture.mean[0]}, double{picture.mean[1]},
      double{picture.mean[2]}, double{picture.scale[0]}, double{picture.scale[1]},
      double{picture.scale[2]}, to_string(picture.resize), picture.pad_value[0],
      picture.pad_value[1], picture.pad_value[2]);
  std::printf("decoder: --decoder %s --decoder-params '%s'\n", preset.decoder.c_str(),
              json_text(preset.params, -1, true).c_str());
  std::printf("labels: %zu\n", preset.labels.size());
  return 0;
}

constexpr Option kPresetsOptions[] = {
    {"params", 0, Takes::kNothing, nullptr,
     "Print only the decoder's parameters, for --decoder-params"}};

}  // namespace

const Command kPresetsCommand = {
    "presets",
    "list what convert --preset knows",
    "[NAME]",
    "Lists the presets of dvnet convert --preset, or shows one: its picture, decoder and "
    "parameters.",
    kPresetsOptions,
    list_presets};

}  // namespace dvnn::tools
