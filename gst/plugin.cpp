// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "kernels/instruction_sets.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "meta/zoneshapesmeta.h"
#include "pluginelements.h"

namespace dvnn::gst {

static gboolean plugin_init(GstPlugin* plugin) {
  if (const std::string unfit = kernels::unfit_processor(); !unfit.empty()) {
    g_warning("gst-dvnn: %s", unfit.c_str());
    return FALSE;
  }
  connect_log();
  register_moved_areas();
  register_zone_shapes();
  return register_elements(plugin);
}

}  // namespace dvnn::gst

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dvnn,
                  "CNN video analytics on the DMP DV FPGA and its software device",
                  dvnn::gst::plugin_init, DVNN_VERSION, "Apache 2.0", "gst-dvnn", "gst-dvnn")
