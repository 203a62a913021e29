// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "elements/dvzones/zonereport.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "meta/zoneshapesmeta.h"
#include "pluginelements.h"

static gboolean plugin_init(GstPlugin* plugin) {
  dvnn::gst::connect_log();
  dvnn::gst::register_moved_areas();
  dvnn::gst::register_zone_shapes();
  dvnn::gst::register_zones_meta();
  return dvnn::gst::register_elements(plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dvnnzones,
                  "Objects in video counted in areas and on lines", plugin_init, DVNN_VERSION,
                  "Apache 2.0", "gst-dvnn", "gst-dvnn")
