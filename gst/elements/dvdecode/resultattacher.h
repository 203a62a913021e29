// SPDX-License-Identifier: Apache-2.0
// Attaches a network's results to a frame, as objects and as other elements' metas.
#pragma once

#include <string>
#include <vector>

#include "elements/dvdecode/decodesettings.h"
#include "elements/dvdecode/keptresults.h"
#include "elements/dvdecode/objectsmessage.h"
#include "elements/settledtracks.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

/// For one thread at a time. `message` may be null.
class ResultAttacher {
 public:
  using Regions = std::vector<GstDvTensorMeta*>;

  void begin_frame(GstClockTime pts) { kept_.begin_frame(pts); }
  /// Attaches what `network` has found in `regions` of a writable frame, and earlier results on
  /// objects that it was not shown this time. `refine`: results replace the objects that they were
  /// found in. Returns the number of new results.
  guint attach(GstBuffer* frame, const gchar* network, const Regions& regions,
               const objects::Objects& found, bool refine, const DecodeSettings& settings,
               ObjectsMessage* message);
  /// Attaches earlier results to the objects of a frame whose last pass is by `network`, which was
  /// shown none of them.
  void attach_known(GstBuffer* frame, const gchar* network, const DecodeSettings& settings,
                    ObjectsMessage* message);
  void reset() { kept_.reset(); }
  /// Tracks of the last attach() whose looks were compared, and whether no more looks at them are
  /// needed. Those whose looks have never agreed are left out.
  const std::vector<SettledTrack>& settled() const { return settled_; }

 private:
  void replace(GstBuffer* frame, GstDvObjectsMeta* meta, const Regions& regions);
  void renew(GstDvObjectsMeta* meta, const gchar* network, const Regions& regions);
  void agree(GstDvObjectsMeta* meta, const Regions& regions, const DecodeSettings& settings);
  void recall(GstBuffer* frame, GstDvObjectsMeta* meta, gint pass, const DecodeSettings& settings,
              ObjectsMessage* message);

  KeptResults kept_;
  std::vector<SettledTrack> settled_;
  std::string network_;  // the network whose results are kept
};

}  // namespace dvnn::gst
