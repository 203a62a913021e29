// SPDX-License-Identifier: Apache-2.0
// Details that only some objects have: points, an outline, a mask, text, an embedding, numbers.
// Copies of an object share its details until one of them changes, because frames are copied more
// often than objects are changed. These functions are called from C, so their memory is GLib's,
// which does not throw.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"

namespace dvnn::gst {

/// Adds an owner of an object's details (may be null), and returns them.
gpointer share_details(gpointer details);
void release_details(gpointer details);

/// Moves points, outline and mask with the frame's pixels; a mask's cells are turned.
void move_details(const image::Transform& change, GstDvObject* object);

/// Removes points, outline and mask from an object.
void forget_detail_places(GstDvObject* object);

}  // namespace dvnn::gst
