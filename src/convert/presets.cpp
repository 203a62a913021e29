// SPDX-License-Identifier: Apache-2.0
#include "convert/presets.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "convert/presets_text.h"

namespace dvnn::convert {
namespace {

// Returns a value itself, or the entry of `named` whose name it is.
Result<const Json*> resolved(const Json& value, const Json& named, const std::string& what) {
  if (!value.is_string()) return &value;
  const auto found = named.find(value.get<std::string>());
  if (found != named.end()) return &*found;
  return malformed("presets: no " + what + " '" + value.get<std::string>() + "'");
}

// Reads three numbers, or one for all channels.
void take_triple(JsonReader* in, const char* name, std::array<float, 3>* to) {
  const std::vector<float> numbers = in->numbers(name, 3);
  for (size_t i = 0; i < 3 && !numbers.empty(); ++i) {
    (*to)[i] = numbers[numbers.size() == 3 ? i : 0];
  }
}

Result<InputSpec> read_picture(const Json& value) {
  JsonReader in(value, "the picture");
  InputSpec picture;
  const auto order = parse_channel_order(in.text("order", "bgr"));
  const auto resize = parse_resize_rule(in.text("resize", "stretch"));
  take_triple(&in, "mean", &picture.mean);
  take_triple(&in, "scale", &picture.scale);
  std::array<float, 3> pad{{0, 0, 0}};
  take_triple(&in, "pad", &pad);
  picture.transposed = in.boolean("transposed", false);
  DVNN_TRY(in.status());
  DVNN_TRY(order);
  DVNN_TRY(resize);
  picture.order = order.value();
  picture.resize = resize.value();
  for (size_t i = 0; i < 3; ++i) picture.pad_value[i] = static_cast<uint8_t>(pad[i]);
  return picture;
}

Result<Preset> read_preset(const std::string& name, const Json& value, const Json& all) {
  Preset preset;
  preset.name = name;
  JsonReader in(value, "preset '" + name + "'");
  preset.about = in.text("about");
  preset.decoder = in.text("decoder");
  const Json* params = in.member("params");
  const Json* picture = in.member("picture");
  const Json* labels = in.member("labels");
  if (!params || !picture) in.fail("params", "required but missing, and 'picture', too");
  DVNN_TRY(in.status());
  preset.params = Json(*params);
  DVNN_ASSIGN(const Json* own_picture, resolved(*picture, all.at("pictures"), "picture"));
  DVNN_ASSIGN(preset.picture, read_picture(*own_picture));
  if (!labels) return preset;
  DVNN_ASSIGN(const Json* own_labels, resolved(*labels, all.at("labels"), "list of labels"));
  for (const Json& label : *own_labels) {
    if (label.is_string()) preset.labels.push_back(label.get<std::string>());
  }
  return preset;
}

// Most edits between a mistyped name and the preset that an error suggests.
constexpr size_t kMostSlips = 2;

// Returns the Levenshtein distance of two names.
size_t slips_between(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t exchanged = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({exchanged, row[k] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<std::vector<Preset>> all_presets() {
  DVNN_ASSIGN(Json all, parse_json(kPresetsText, "the presets"));
  std::vector<Preset> presets;
  for (const auto& [name, value] : all["presets"].items()) {
    DVNN_ASSIGN(Preset preset, read_preset(name, value, all));
    presets.push_back(std::move(preset));
  }
  return presets;
}

Result<Preset> find_preset(const std::string& name) {
  DVNN_ASSIGN(std::vector<Preset> presets, all_presets());
  std::string known, nearest;
  size_t nearest_distance = kMostSlips + 1;
  for (Preset& preset : presets) {
    if (preset.name == name) return std::move(preset);
    known += (known.empty() ? "" : ", ") + preset.name;
    const size_t distance = slips_between(short_text(name, 64), preset.name);
    if (distance >= nearest_distance) continue;
    nearest_distance = distance;
    nearest = preset.name;
  }
  const std::string meant = nearest.empty() ? "" : "; is '" + nearest + "' meant?";
  return Error{ErrorCode::kNotFound,
               "no preset '" + short_text(name, 64) + "'" + meant + " (known: " + known + ")"};
}

}  // namespace dvnn::convert
