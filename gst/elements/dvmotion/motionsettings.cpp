// SPDX-License-Identifier: Apache-2.0
#include "elements/dvmotion/motionsettings.h"

namespace dvnn::gst {

motion::MotionRules MotionSettings::rules() const {
  motion::MotionRules rules;
  rules.contrast = static_cast<double>(contrast);
  rules.least = static_cast<double>(min_size);
  rules.margin = static_cast<double>(margin);
  rules.hold = static_cast<int64_t>(hold_ms) * GST_MSECOND;
  rules.verify = static_cast<int64_t>(verify_ms) * GST_MSECOND;
  return rules;
}

Properties<MotionSettings> motion_properties() {
  Properties<MotionSettings> table;
  table.number(&MotionSettings::contrast, When::kPlaying, 1.0f, 255.0f,
               {"contrast", "Contrast",
                "Least difference from the background that is motion, in levels of brightness of "
                "255; noise raises it by itself"});
  table.number(&MotionSettings::min_size, When::kPlaying, 0.0f, 1.0f,
               {"min-size", "Least size",
                "Least width or height of what moves, as a fraction of the frame's height"});
  table.number(
      &MotionSettings::margin, When::kPlaying, 0.0f, 1.0f,
      {"margin", "Margin", "Margin around what moves, as a fraction of the frame's height"});
  table.number(&MotionSettings::hold_ms, When::kPlaying, 0, kMostMilliseconds,
               {"hold-ms", "Hold", "Milliseconds for which a place is looked at after motion"});
  table.number(&MotionSettings::verify_ms, When::kPlaying, 0, kMostMilliseconds,
               {"verify-ms", "Verify",
                "Milliseconds from one look at the whole frame to the next, even if nothing moves; "
                "0 for none"});
  add_zone_source(
      "Masks, where motion does not count, as JSON (docs/motion.md), instead of those "
      "of zones-file",
      "File with masks as JSON; it may be that of dvzones", &table);
  table.boolean(&MotionSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post element messages 'dvnn-motion-started' and 'dvnn-motion-ended'"});
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
