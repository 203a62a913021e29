// SPDX-License-Identifier: Apache-2.0
// Objects as frames carry them (GstDvObject), and as all other code has them (objects::Object).
// Only these functions know every detail of both.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Adds `found` to `meta`, without its names, region and network. The result lives as long as the
/// buffer. Throws std::bad_alloc.
GstDvObject* write_object(const objects::Object& found, GstDvObjectsMeta* meta);

/// Adds the points, text, embedding or numbers, and the agreement, of `found` (Kind::kAttributes)
/// to an object. Returns false, and changes nothing, if the object already has one of them.
bool write_attributes(const objects::Object& found, GstDvObject* object);

/// Tells an object how it moves on the ground.
void write_ground(const objects::Movement& ground, GstDvObject* object);

/// Sets how far looks at an object agree; 0 looks change nothing. Of several networks that read
/// something on an object, the one whose looks agree least counts.
void write_agreement(const objects::Agreement& agreement, GstDvObject* object);

/// Reads an object of `meta`, with the name of its network and those details that `details`
/// (objects::Detail) asks for. The cells of a mask are shared with the frame. Frames hold no region
/// indices, raw scores or confidences of characters. Throws std::bad_alloc.
void read_object(const GstDvObject& object, const GstDvObjectsMeta* meta, unsigned details,
                 objects::Object* value);

/// Says who an object is, unless nobody knows.
void write_identity(const objects::Identity& identity, GstDvObject* object);

}  // namespace dvnn::gst
