// SPDX-License-Identifier: Apache-2.0
// Looks up- and downstream of an element, as far as pads tell. Two functions are there to warn
// about pipelines that cannot give results, and return true if they cannot know: an element that is
// not GStreamer's own, a pad with a probe, or an appsink may do anything. What a stream depends on
// is never guessed: elements are asked for it.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Returns whether an element downstream of `src` may read a network's outputs off frames.
bool has_reader_of_outputs(GstPad* src);

/// Returns whether an element upstream of `sink` may attach a network's outputs to frames.
bool has_source_of_outputs(GstPad* sink);

/// Asks upstream of `sink` whether its objects are tracked: by a query of that name, which dvtrack,
/// or any other tracker, answers with TRUE.
bool is_tracked(GstPad* sink);
/// Returns whether `query` asks that.
bool asks_for_tracks(GstQuery* query);

}  // namespace dvnn::gst
