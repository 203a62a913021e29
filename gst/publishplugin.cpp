// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "log.h"
#include "pluginelements.h"

namespace dvnn::gst {

static gboolean plugin_init(GstPlugin* plugin) {
  connect_log();
  return register_elements(plugin);
}

}  // namespace dvnn::gst

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dvnnpublish,
                  "Messages and clips of what dvnn found in video", dvnn::gst::plugin_init,
                  DVNN_VERSION, "Apache 2.0", "gst-dvnn", "gst-dvnn")
