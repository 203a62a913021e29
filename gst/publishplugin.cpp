// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "elements/elements.h"
#include "log.h"

static gboolean plugin_init(GstPlugin* plugin) {
  dvnn::gst::connect_log();
  return dvnn::gst::register_element(plugin, dvnn::gst::dvpublish());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dvnnpublish,
                  "Messages to brokers, webhooks and files of what dvnn found in video",
                  plugin_init, DVNN_VERSION, "Apache 2.0", "gst-dvnn", "gst-dvnn")
