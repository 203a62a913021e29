// SPDX-License-Identifier: Apache-2.0
// Categories of GStreamer's debug log. Each element has one of its name; shared parts have their
// own: dvqueue (order of a dvinfer's stream, runs), dvslots (taking of slots), dvturns (sharing of
// a device), dvlate (results that come after their frame), dvcollect (frames kept for annotation),
// and those of src/base/log.h. "dv*" matches all of them; docs/troubleshooting.md explains how to
// read them.
//
// Levels: LOG for each decision of a frame, DEBUG for each change of state (negotiation, a flush,
// a load), INFO for what happens rarely, WARNING for what is wrong.
#pragma once

#include <gst/gst.h>

/// Defines `function()`, which returns the category. It is created at the first call, because
/// classes that log may be used without a plugin.
#define DVNN_LOG_CATEGORY(function, name, subject)     \
  static GstDebugCategory* function() {                \
    static GstDebugCategory* const category = [] {     \
      GstDebugCategory* made = nullptr;                \
      GST_DEBUG_CATEGORY_INIT(made, name, 0, subject); \
      return made;                                     \
    }();                                               \
    return category;                                   \
  }

namespace dvnn::gst {

/// Sends what the libraries below log (base/log.h) to GStreamer, in categories of the topics'
/// names. A plugin calls it when it is loaded.
void connect_log();

}  // namespace dvnn::gst
