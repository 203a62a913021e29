// SPDX-License-Identifier: Apache-2.0
// What is up- or downstream of an element, as far as pads tell: for warnings about pipelines of
// which nothing can come. Both functions are true where they cannot know: an element that is not
// GStreamer's own, a pad with a probe or an appsink may do anything.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Whether something that `src` leads to may read a network's outputs off frames.
bool has_reader_of_outputs(GstPad* src);

/// Whether something that leads to `sink` may attach a network's outputs to frames.
bool has_source_of_outputs(GstPad* sink);

}  // namespace dvnn::gst
