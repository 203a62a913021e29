// SPDX-License-Identifier: Apache-2.0
// Custom queries by which an element asks those upstream what frames do not tell. Any element may
// answer one with TRUE.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Asks whether objects have tracks: dvtrack answers, or any other tracker.
inline constexpr const char* kTrackedQuery = "dvnn-tracked";
/// Asks whether a network's outputs are attached to frames: dvinfer answers.
inline constexpr const char* kInferredQuery = "dvnn-inferred";

/// Sends `query` upstream from `sink`. Returns whether an element answered TRUE.
bool ask_upstream(GstPad* sink, const char* query);
/// Returns whether `query` is the one of that name.
bool asks(GstQuery* query, const char* name);

}  // namespace dvnn::gst
