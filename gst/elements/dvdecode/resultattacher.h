// SPDX-License-Identifier: Apache-2.0
// Attaches what a network has found to a frame, as objects and as the metas that others read.
#pragma once

#include <string>
#include <vector>

#include "elements/dvdecode/decodesettings.h"
#include "elements/dvdecode/keptresults.h"
#include "elements/dvdecode/objectsmessage.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

/// For one thread at a time. Messages may be null.
class ResultAttacher {
 public:
  using Regions = std::vector<GstDvTensorMeta*>;

  void begin_frame(GstClockTime pts) { kept_.begin_frame(pts); }
  /// Attaches what `network` has found in `regions` of a writable frame, and what is known of
  /// objects that it was not shown this time. `refine`: what is found in an object takes its place.
  /// Returns how many results were new.
  guint attach(GstBuffer* frame, const gchar* network, const Regions& regions,
               const objects::Objects& found, bool refine, const DecodeSettings& settings,
               ObjectsMessage* message);
  /// Attaches what is known of the objects of a frame of which `network`, the last to have seen it,
  /// was shown none.
  void attach_known(GstBuffer* frame, const gchar* network, const DecodeSettings& settings,
                    ObjectsMessage* message);
  void reset() { kept_.reset(); }

 private:
  void replace(GstBuffer* frame, GstDvObjectsMeta* meta, const Regions& regions);
  void renew(GstDvObjectsMeta* meta, const gchar* network, const Regions& regions);
  void recall(GstBuffer* frame, GstDvObjectsMeta* meta, gint pass, const DecodeSettings& settings,
              ObjectsMessage* message);

  KeptResults kept_;
  std::string network_;  // whose results they are
};

}  // namespace dvnn::gst
