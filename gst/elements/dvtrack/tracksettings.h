// SPDX-License-Identifier: Apache-2.0
// dvtrack's settings.
#pragma once

#include <string>

#include "elements/exports.h"
#include "properties.h"
#include "track/tracker.h"

namespace dvnn::gst {

struct TrackSettings {
  gfloat sure = 0.5f, start = 0.6f, weak = 0.1f;
  guint confirm = 80, probation = 200, lost = 2000, coast = 0;  // milliseconds
  gfloat appearance = 0.5f;
  std::string labels;
  bool predict = true;
  bool smooth = true;
  bool post_messages = true;
  guint exports = kDefaultExports;

  track::Settings tracker() const;
};

/// The rows of all settings.
Properties<TrackSettings> track_properties();

}  // namespace dvnn::gst
