// SPDX-License-Identifier: Apache-2.0
// Looks up- and downstream of an element, as far as pads tell. The first two functions are there to
// warn about pipelines that cannot give results, and return true if they cannot know: an element
// that is not GStreamer's own, a pad with a probe, or an appsink may do anything.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Returns whether an element downstream of `src` may read a network's outputs off frames.
bool has_reader_of_outputs(GstPad* src);

/// Returns whether an element upstream of `sink` may attach a network's outputs to frames.
bool has_source_of_outputs(GstPad* sink);

/// Returns whether there is a dvtrack upstream of `sink`.
bool has_tracker(GstPad* sink);

}  // namespace dvnn::gst
