// SPDX-License-Identifier: Apache-2.0
// From what decoders find to what frames carry.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Adds what was found to `meta`: all but its names and its parent. The result lives as long as the
/// buffer.
GstDvObject* add_found_object(const objects::Object& found, GstDvObjectsMeta* meta);

}  // namespace dvnn::gst
