// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "elements/elements.h"
#include "kernels/instruction_sets.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "meta/zoneshapesmeta.h"

static gboolean plugin_init(GstPlugin* plugin) {
  if (const std::string unfit = dvnn::kernels::unfit_processor(); !unfit.empty()) {
    g_warning("gst-dvnn: %s", unfit.c_str());
    return FALSE;
  }
  dvnn::gst::connect_log();
  dvnn::gst::register_moved_areas();
  dvnn::gst::register_zone_shapes();
  gboolean good = GST_ELEMENT_REGISTER(dvconvert, plugin);
  good &= GST_ELEMENT_REGISTER(dvinfer, plugin);
  good &= dvnn::gst::register_element(plugin, dvnn::gst::dvmotion());
  good &= dvnn::gst::register_element(plugin, dvnn::gst::dvdecode());
  good &= dvnn::gst::register_element(plugin, dvnn::gst::dvtrack());
#ifdef DVNN_HAVE_READ
  good &= dvnn::gst::register_element(plugin, dvnn::gst::dvread());
#endif
#ifdef DVNN_HAVE_OVERLAY
  good &= dvnn::gst::register_element(plugin, dvnn::gst::dvoverlay());
#endif
  return good;
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dvnn,
                  "CNN video analytics on the DMP DV FPGA and its software device", plugin_init,
                  DVNN_VERSION, "Apache 2.0", "gst-dvnn", "gst-dvnn")
