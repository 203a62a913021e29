// SPDX-License-Identifier: Apache-2.0
// Questions that an element asks of those upstream, where frames do not say it: custom queries,
// which any element may answer with TRUE.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Whether objects have tracks: dvtrack answers, or any other tracker.
inline constexpr const char* kTrackedQuery = "dvnn-tracked";
/// Whether a network's outputs are attached to frames: dvinfer answers.
inline constexpr const char* kInferredQuery = "dvnn-inferred";

/// Asks that of what is upstream of `sink`.
bool ask_upstream(GstPad* sink, const char* query);
/// Returns whether `query` is that question.
bool asks(GstQuery* query, const char* name);

}  // namespace dvnn::gst
