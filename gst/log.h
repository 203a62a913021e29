// SPDX-License-Identifier: Apache-2.0
// Categories of GStreamer's debug log. Each element has one of its name; the ideas that elements
// share have their own: dvqueue (order of a dvinfer's stream, runs), dvslots (what takes which
// slot), dvturns (whose turn the device is), dvlate (results that come after their frame), and
// those of src/base/log.h. So "dv*" is all there is; docs/troubleshooting.md reads it.
//
// Levels: LOG for each decision of a frame, DEBUG for each change of state (negotiation, a flush,
// a load), INFO for what happens rarely, WARNING for what is wrong.
#pragma once

#include <gst/gst.h>

/// Defines `function()`, which returns the category. It is made when it is first asked for, as
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
