// SPDX-License-Identifier: Apache-2.0
// dvzones's settings.
#pragma once

#include <memory>
#include <string>

#include "properties.h"
#include "zones/zones.h"

namespace dvnn::gst {

using SharedZones = std::shared_ptr<const zones::Config>;

struct ZoneSettings {
  std::string zones, zones_file;
  SharedZones of_text, of_file;  // read from `zones` and `zones_file`; null: empty
  guint leave_after_ms = 2000;
  bool count_predicted = false;
  bool post_messages = true;

  /// Returns the zones of the text if it is set, else those of the file.
  const SharedZones& chosen() const { return of_text ? of_text : of_file; }
};

/// Returns the rows of all properties.
Properties<ZoneSettings> zone_properties();

}  // namespace dvnn::gst
