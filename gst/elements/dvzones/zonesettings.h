// SPDX-License-Identifier: Apache-2.0
// dvzones's settings.
#pragma once

#include "elements/zonesource.h"

namespace dvnn::gst {

struct ZoneSettings : ZoneSource {
  guint leave_after_ms = 2000;
  bool count_predicted = false;
  bool post_messages = true;
};

/// Returns the rows of all properties.
Properties<ZoneSettings> zone_properties();

}  // namespace dvnn::gst
