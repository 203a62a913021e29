// SPDX-License-Identifier: Apache-2.0
// dvconvert's settings for a frame: which part the network is shown, and how. Every copy of the
// frame carries them, and they are scaled, cropped and turned with it as far as GStreamer tells
// metas. The next dvinfer uses and removes them.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <vector>

#include "gst/dvnn/gstdvtensormeta.h"
#include "image/view.h"
#include "infer/admission.h"

namespace dvnn::gst {

/// Tells dvdecode what a region of a frame is; the element that chose the region sets it.
struct RegionTag {
  GstDvRegionKind kind = GST_DV_REGION_FRAME;
  GQuark name = 0;     // name of a region in a list
  guint64 object = 0;  // id of the object that the region shows
};

/// A region of a frame, and where it comes from.
struct RegionView {
  image::View view;
  RegionTag tag;
};
using RegionViews = std::vector<RegionView>;

struct FrameView {
  image::View view;
  // The frame's list of regions, which may be empty; null: no list, and `view` counts. `view` is
  // ignored if there is a list.
  std::shared_ptr<const RegionViews> regions;
  std::optional<Verdict>
      verdict;  // the decision whether the frame is inferred, if dvconvert was told
};

/// Attaches `view` to a writable frame; it replaces an existing one.
void set_frame_view(GstBuffer* frame, const FrameView& view);
std::optional<FrameView> get_frame_view(GstBuffer* frame);
/// Removes the view from a writable frame.
void remove_frame_view(GstBuffer* frame);

}  // namespace dvnn::gst
