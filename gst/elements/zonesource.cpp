// SPDX-License-Identifier: Apache-2.0
#include "elements/zonesource.h"

#include <utility>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostZoneBytes = 1 << 20;

Status take_zones(const std::string& text, const std::string& what, SharedZones* zones) {
  DVNN_ASSIGN(zones::Config config, zones::parse_config(text, what));
  *zones = std::make_shared<const zones::Config>(std::move(config));
  return {};
}

}  // namespace

Status take_zone_text(const std::string& text, ZoneSource* source) {
  if (text.empty()) {
    source->of_text.reset();
    return {};
  }
  if (text.size() > kMostZoneBytes) {
    return too_large(format("zones has more than %zu bytes", kMostZoneBytes));
  }
  return take_zones(text, "zones", &source->of_text);
}

Status take_zone_file(const std::string& path, ZoneSource* source) {
  if (path.empty()) {
    source->of_file.reset();
    return {};
  }
  DVNN_ASSIGN(const std::string text, read_file(path, kMostZoneBytes));
  if (text.empty()) return malformed("'" + path + "' is empty");
  return take_zones(text, "'" + path + "'", &source->of_file);
}

}  // namespace dvnn::gst
