// SPDX-License-Identifier: Apache-2.0
#include "elements/dvzones/zonesettings.h"

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

Status take_text(const std::string& text, ZoneSettings* settings) {
  if (text.empty()) {
    settings->of_text.reset();
    return {};
  }
  if (text.size() > kMostZoneBytes) {
    return too_large(format("zones has more than %zu bytes", kMostZoneBytes));
  }
  return take_zones(text, "zones", &settings->of_text);
}

Status take_file(const std::string& path, ZoneSettings* settings) {
  if (path.empty()) {
    settings->of_file.reset();
    return {};
  }
  DVNN_ASSIGN(const std::string text, read_file(path, kMostZoneBytes));
  if (text.empty()) return malformed("'" + path + "' is empty");
  return take_zones(text, "'" + path + "'", &settings->of_file);
}

}  // namespace

Properties<ZoneSettings> zone_properties() {
  Properties<ZoneSettings> table;
  table.text(
      &ZoneSettings::zones, When::kPlaying,
      {"zones", "Zones", "Areas and lines as JSON (docs/zones.md), instead of those of zones-file"},
      take_text);
  table.text(&ZoneSettings::zones_file, When::kPlaying,
             {"zones-file", "Zones file", "File with areas and lines as JSON"}, take_file);
  constexpr guint kLongest = 3600 * 1000;
  table.number(&ZoneSettings::leave_after_ms, When::kPlaying, 0, kLongest,
               {"leave-after-ms", "Leave after",
                "Milliseconds after which a track that is not seen has left; at least "
                "dvtrack's max-lost-ms"});
  table.boolean(&ZoneSettings::count_predicted, When::kPlaying,
                {"count-predicted", "Count predicted",
                 "Predicted objects count too, at once, although they may turn out to be wrong"});
  table.boolean(&ZoneSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-zone-event' for each event"});
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
