// SPDX-License-Identifier: Apache-2.0
// Says how a frame is looked at, as dvconvert was told: a fact about the frame, which every copy of
// it carries, and which is scaled, cropped and turned with it as far as GStreamer tells metas. It
// is addressed to the next dvinfer, which takes it off.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <vector>

#include "image/view.h"
#include "infer/admission.h"
#include "infer/regiontag.h"

namespace dvnn::gst {

/// A region of a frame, and what it is.
struct RegionView {
  image::View view;
  RegionTag tag;
};
using RegionViews = std::vector<RegionView>;

struct FrameView {
  image::View view;
  // The regions of a frame that is looked at as a list, perhaps an empty one; `view` does not count
  // then.
  std::shared_ptr<const RegionViews> regions;
  std::optional<Verdict> verdict;  // what dvconvert was told about inference of the frame
};

/// Attaches `view` to a writable frame; it replaces an existing one.
void set_frame_view(GstBuffer* frame, const FrameView& view);
std::optional<FrameView> get_frame_view(GstBuffer* frame);
/// Takes it off a writable frame.
void remove_frame_view(GstBuffer* frame);

}  // namespace dvnn::gst
