// SPDX-License-Identifier: Apache-2.0
// Where something has moved in a frame, from dvmotion to the elements that save work by it. The
// areas follow the frame when it is scaled, cropped or turned, as far as GStreamer tells metas;
// otherwise they are dropped, and the frame is as any other.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <vector>

#include "image/view.h"

namespace dvnn::gst {

/// Areas in pixels of the frame; none: the frame is still, and needs no look.
using MovedAreas = std::shared_ptr<const std::vector<image::Corners>>;

/// Registers the meta; call it before the other functions. Plugins that know the meta call it when
/// they are loaded, one at a time, and use the meta that the first one registered.
void register_moved_areas();
/// Attaches areas (not null) to a writable frame, instead of those that it has.
void set_moved_areas(GstBuffer* frame, const MovedAreas& areas);
/// Returns the frame's areas; null if nobody has looked for motion.
MovedAreas moved_areas(GstBuffer* frame);

/// Whether it is known that nothing has moved in the frame.
inline bool is_still(GstBuffer* frame) {
  const MovedAreas areas = moved_areas(frame);
  return areas && areas->empty();
}
/// Whether nothing in `box` has moved; null areas tell nothing.
bool is_at_rest(const MovedAreas& areas, const image::Corners& box);

}  // namespace dvnn::gst
