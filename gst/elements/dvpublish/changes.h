// SPDX-License-Identifier: Apache-2.0
// Decides whether a frame gets a document: its turn has come, and it tells something new.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "elements/dvpublish/publishsettings.h"
#include "publish/document.h"

namespace dvnn::gst {

class Changes {
 public:
  /// Returns whether a frame at this running time is due; called before its facts are collected.
  bool is_due(GstClockTime time, const PublishSettings& settings) const;
  /// Returns whether the frame's objects are new enough, after is_due(). If so the frame is
  /// published, and later frames are compared with it.
  bool is_new(GstClockTime time, const std::vector<publish::FrameObject>& objects, double height,
              const PublishSettings& settings);
  void reset() { *this = {}; }

 private:
  GstClockTime last_ = GST_CLOCK_TIME_NONE, due_ = 0;
  std::vector<objects::Object> told_;  // where changes have to be large enough
};

}  // namespace dvnn::gst
