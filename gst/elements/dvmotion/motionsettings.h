// SPDX-License-Identifier: Apache-2.0
// dvmotion's settings.
#pragma once

#include "elements/zonesource.h"
#include "motion/motion_watch.h"

namespace dvnn::gst {

struct MotionSettings : ZoneSource {
  gfloat contrast = 8;                      // levels of 255
  gfloat min_size = 0.02f, margin = 0.03f;  // of the frame's height
  guint hold_ms = 1000, verify_ms = 10000;
  bool post_messages = true;

  motion::MotionRules rules() const;
};

/// Returns the rows of all properties.
Properties<MotionSettings> motion_properties();

}  // namespace dvnn::gst
