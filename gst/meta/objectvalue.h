// SPDX-License-Identifier: Apache-2.0
// Objects as frames carry them, and as the value that decoders make and everybody else reads
// (objects::Object). Only these functions know every detail of both.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Adds what was found to `meta`: all but its names, its region and its network. The result lives
/// as long as the buffer. Throws std::bad_alloc.
GstDvObject* write_object(const objects::Object& found, GstDvObjectsMeta* meta);

/// Makes what was found of an object (Kind::kAttributes: points, text, an embedding, numbers) the
/// object's own. False, and nothing is changed, where it would replace what the object has.
bool write_attributes(const objects::Object& found, GstDvObject* object);

/// Reads an object of `meta`, whose networks it names; of its details those of `details`
/// (objects::Detail). A mask's cells stay the frame's, which are shared. Indices of regions and raw
/// scores are not in frames. Throws std::bad_alloc.
void read_object(const GstDvObject& object, const GstDvObjectsMeta* meta, unsigned details,
                 objects::Object* value);

}  // namespace dvnn::gst
