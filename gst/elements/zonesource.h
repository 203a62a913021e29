// SPDX-License-Identifier: Apache-2.0
// The two properties by which elements get areas, lines and masks: as text, and as a file.
#pragma once

#include <memory>
#include <string>

#include "properties.h"
#include "zones/config.h"

namespace dvnn::gst {

using SharedZones = std::shared_ptr<const zones::Config>;

struct ZoneSource {
  std::string zones, zones_file;
  SharedZones of_text, of_file;  // read from `zones` and `zones_file`; null: empty

  /// Returns the zones of the text if it is set, else those of the file.
  const SharedZones& chosen() const { return of_text ? of_text : of_file; }
};

/// Reads a value of the property `zones`, or of `zones-file`, into `source`.
Status take_zone_text(const std::string& text, ZoneSource* source);
Status take_zone_file(const std::string& path, ZoneSource* source);

/// Adds the rows of both. The blurbs say what the element takes from the zones.
template <typename Settings>
void add_zone_source(const char* text_blurb, const char* file_blurb, Properties<Settings>* table) {
  table->text(&Settings::zones, When::kPlaying, {"zones", "Zones", text_blurb},
              [](const std::string& text, Settings* settings) -> Status {
                return take_zone_text(text, settings);
              });
  table->text(&Settings::zones_file, When::kPlaying, {"zones-file", "Zones file", file_blurb},
              [](const std::string& path, Settings* settings) -> Status {
                return take_zone_file(path, settings);
              });
}

}  // namespace dvnn::gst
