// SPDX-License-Identifier: Apache-2.0
// Custom queries by which an element asks those upstream what frames do not tell. Any element may
// answer one with TRUE.
#pragma once

#include <gst/gst.h>

#include "refs.h"

namespace dvnn::gst {

/// Asks whether objects have tracks: dvtrack answers, or any other tracker.
inline constexpr const char* kTrackedQuery = "dvnn-tracked";
/// Asks whether a network's outputs are attached to frames: dvinfer answers.
inline constexpr const char* kInferredQuery = "dvnn-inferred";

/// Sends `query` upstream from `sink`. Returns whether an element answered TRUE.
inline bool ask_upstream(GstPad* sink, const char* query) {
  const QueryPtr asked(gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(query)));
  return gst_pad_peer_query(sink, asked.get());
}

/// Returns whether `query` is the one of that name.
inline bool asks(GstQuery* query, const char* name) {
  return GST_QUERY_TYPE(query) == GST_QUERY_CUSTOM &&
         gst_structure_has_name(gst_query_get_structure(query), name);
}

}  // namespace dvnn::gst
