// SPDX-License-Identifier: Apache-2.0
// What dvoverlay draws on a frame: its objects, and other elements' regions of interest and
// analytics metas. On frames that were passed without inference it draws the objects of the last
// frame that was inferred.
#pragma once

#include <gst/video/video.h>

#include <map>
#include <string>
#include <vector>

#include "elements/overlaypainter.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

struct SceneSettings {
  bool labels = true;
  bool confidence = true;
  GstClockTime hold = 0;
};

/// Streaming thread only.
class OverlayScene {
 public:
  /// The drawings for `frame` at the running time `time`; without a time, nothing is held.
  std::vector<Drawing> read(GstBuffer* frame, GstClockTime time, const SceneSettings& settings);
  /// Forgets held objects, because the stream jumps or its frames change.
  void reset() { held_.clear(); }

 private:
  struct Held {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    std::vector<Drawing> drawings;
  };

  void read_objects(const GstDvObjectsMeta* meta, GstClockTime time, const SceneSettings& settings,
                    std::vector<Drawing>* scene);
  void hold_or_recall(const GstDvPass& pass, std::vector<Drawing> drawings, GstClockTime time,
                      GstClockTime hold, std::vector<Drawing>* scene);

  std::map<std::string, Held> held_;  // by the name of the network
};

}  // namespace dvnn::gst
