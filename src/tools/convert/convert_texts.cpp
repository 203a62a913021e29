// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/convert_texts.h"

#include <sstream>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "convert/presets.h"
#include "objects/label_file.h"
#include "plan/replan.h"
#include "tools/npy.h"

namespace dvnn::tools {
namespace {

// "NAME=VALUE" or "NAME=FILE.npy". Names of inputs may contain '=', values do not.
Result<import::GivenInput> parse_given(const std::string& text) {
  const size_t equals = text.rfind('=');
  import::GivenInput given;
  given.name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (ends_with(value, ".npy")) {
    DVNN_ASSIGN(NpyArray array, read_npy(value));
    given.dims = array.dims;
    given.values.assign(array.values.begin(), array.values.end());
    return given;
  }
  char* end = nullptr;
  given.values = {g_ascii_strtod(value.c_str(), &end)};
  if (!value.empty() && *end == '\0' && !given.name.empty()) return given;
  return Error{ErrorCode::kInvalidArgument,
               "--set '" + text + "' is not NAME=NUMBER or NAME=FILE.npy"};
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Status fill_ends(const ConvertTexts& texts, import::ImportOptions* options) {
  options->outputs = parts_of(texts.outputs.text());
  for (const std::string& text : texts.set.texts()) {
    DVNN_ASSIGN(import::GivenInput given, parse_given(text));
    options->inputs.push_back(std::move(given));
  }
  if (!texts.size.given()) return {};
  auto size = plan::parse_size(texts.size.text());
  if (!size.ok()) return size.error().within("--size");
  options->width = size.value().width;
  options->height = size.value().height;
  return {};
}

Status take_preset(const std::string& name, convert::ConvertOptions* options) {
  DVNN_ASSIGN(convert::Preset preset, convert::find_preset(name));
  options->preset = name;
  options->picture = preset.picture;
  options->labels = std::move(preset.labels);
  options->preset_labels = !options->labels.empty();
  options->decoder = std::move(preset.decoder);
  options->decoder_params = std::move(preset.params);
  return {};
}

// Options of the command line take precedence over a preset.
Status fill_picture(const ConvertTexts& texts, InputSpec* picture) {
  const bool plain = !texts.preset.given();
  if (plain || texts.order.given()) {
    DVNN_ASSIGN(picture->order, parse_channel_order(texts.order.text("bgr")));
  }
  if (plain || texts.resize.given()) {
    DVNN_ASSIGN(picture->resize, parse_resize_rule(texts.resize.text("stretch")));
  }
  DVNN_ASSIGN(const auto mean, parse_triple("--mean", texts.mean.text("0")));
  DVNN_ASSIGN(const auto scale, parse_triple("--scale", texts.scale.text("1")));
  DVNN_ASSIGN(const auto pad, parse_triple("--pad-value", texts.pad.text("0")));
  for (size_t i = 0; i < 3; ++i) {
    if (pad[i] < 0 || pad[i] > 255) {
      return Error{ErrorCode::kInvalidArgument, format("--pad-value %g is not 0..255", pad[i])};
    }
    if (scale[i] == 0) {
      return Error{ErrorCode::kInvalidArgument, "--scale 0 would make every pixel the same"};
    }
    if (plain || texts.mean.given()) picture->mean[i] = mean[i];
    if (plain || texts.scale.given()) picture->scale[i] = scale[i];
    if (plain || texts.pad.given()) picture->pad_value[i] = static_cast<uint8_t>(pad[i]);
  }
  return {};
}

// The file keeps the library's name alone: where it lies is another matter on another machine.
Status take_decoder_library(const std::string& path, convert::ConvertOptions* options) {
  if (options->decoder.empty() || !options->decoder_params.is_object()) {
    return Error{ErrorCode::kInvalidArgument,
                 "--decoder-library '" + path + "' goes with --decoder, the name of one in it"};
  }
  DVNN_ASSIGN(options->decoder_library, decode::CustomDecoders::open(path));
  options->decoder_params["library"] = base_name(path);
  return {};
}

}  // namespace

Status fill_options(const ConvertTexts& texts, convert::ConvertOptions* options) {
  if (texts.preset.given()) DVNN_TRY(take_preset(texts.preset.text(), options));
  DVNN_TRY(fill_picture(texts, &options->picture));
  const bool preset = texts.preset.given();
  options->given = {texts.order.given() || preset, texts.resize.given() || preset,
                    texts.mean.given() || preset, texts.scale.given() || preset,
                    texts.pad.given() || preset};
  options->name = texts.name.text();
  if (texts.labels.given()) {
    DVNN_ASSIGN(options->labels, objects::read_labels(texts.labels.text()));
    options->preset_labels = false;
  }
  if (texts.decoder.given()) {
    options->decoder = texts.decoder.text();
    options->decoder_params = Json::object();
  }
  if (texts.params.given()) {
    if (options->decoder.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   "--decoder-params are those of a decoder: name it by --decoder, or by --preset"};
    }
    DVNN_ASSIGN(const std::string json, json_argument(texts.params.text()));
    DVNN_ASSIGN(Json params, parse_json(json, "--decoder-params"));
    // Options of the command line change a preset's parameters one by one.
    options->decoder_params.merge_patch(params);
  }
  if (texts.decoder_library.given()) {
    DVNN_TRY(take_decoder_library(texts.decoder_library.text(), options));
  }
  const std::string layout = texts.layout.text("whc");
  if (layout != "whc" && layout != "hwc") {
    return Error{ErrorCode::kInvalidArgument, "--layout '" + layout + "' is not whc or hwc"};
  }
  options->hwc = layout == "hwc";
  if (texts.layer_types.given()) {
    constexpr size_t kMaxBytes = 1 << 20;
    DVNN_ASSIGN(const std::string text, read_file(texts.layer_types.text(), kMaxBytes));
    auto declared = import::parse_custom_layers(text);
    if (!declared.ok()) return declared.error().within("'" + texts.layer_types.text() + "'");
    options->import.custom_layers = std::move(declared.value());
  }
  return fill_ends(texts, &options->import);
}

}  // namespace dvnn::tools
