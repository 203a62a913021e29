// SPDX-License-Identifier: Apache-2.0
// Reads what dvrecord tells of a clip: the structure "dvnn-clip".
#pragma once

#include <gst/gst.h>

#include <optional>

#include "publish/document.h"

namespace dvnn::gst {

publish::ClipFacts clip_facts(const GstStructure* fields);
/// Returns the times of the clip's first frame.
publish::Times clip_times(const GstStructure* fields);
/// Returns the clip's picture, which is in a file; nothing if it has none.
std::optional<publish::Picture> clip_picture(const GstStructure* fields);

}  // namespace dvnn::gst
