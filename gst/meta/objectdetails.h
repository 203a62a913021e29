// SPDX-License-Identifier: Apache-2.0
// Details that only some objects have: points, an outline, a mask, text, an embedding, numbers.
// Copies of an object share its details until one of them changes, because frames are copied more
// often than objects are changed. C calls these functions: memory is GLib's, which does not throw.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"

namespace dvnn::gst {

/// Another owner of an object's details, which may be null.
gpointer share_details(gpointer details);
void release_details(gpointer details);

/// Moves points, the outline and the mask as the frame's pixels moved; the mask's cells are turned.
void move_details(const image::Transform& change, GstDvObject* object);

/// Takes points, outline and mask off an object.
void forget_detail_places(GstDvObject* object);

}  // namespace dvnn::gst
