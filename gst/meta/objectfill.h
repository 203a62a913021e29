// SPDX-License-Identifier: Apache-2.0
// Fills the objects that frames carry from those that decoders find.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Adds what was found to `meta`: all but its names and its parent. The result lives as long as the
/// buffer.
GstDvObject* add_found_object(const objects::Object& found, GstDvObjectsMeta* meta);

/// Makes what was found of an object (Kind::kAttributes: points, text, an embedding, numbers) the
/// object's own. False, and nothing is changed, where it would replace what the object has.
bool add_found_attributes(const objects::Object& found, GstDvObject* object);

}  // namespace dvnn::gst
