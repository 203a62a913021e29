// SPDX-License-Identifier: Apache-2.0
// From a document back to a frame's objects.
#pragma once

#include <gst/gst.h>

#include "image/view.h"
#include "publish/document.h"

namespace dvnn::gst {

/// Adds what a frame's document tells to a writable frame: the networks that have seen it, and the
/// objects, with new ids. Places are scaled from the document's frame to `size`, the frame's.
/// Throws std::bad_alloc.
void attach_facts(const publish::Document& document, const image::Size& size, GstBuffer* frame);

}  // namespace dvnn::gst
