// SPDX-License-Identifier: Apache-2.0
#include <gst/gst.h>

#include "elements/dvconvert/dvconvert.h"
#include "elements/dvdecode/dvdecode.h"
#include "elements/dvinfer/dvinfer.h"
#include "elements/dvmotion/dvmotion.h"
#include "elements/dvtrack/dvtrack.h"
#include "kernels/instruction_sets.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "meta/zoneshapesmeta.h"
#ifdef DVNN_HAVE_READ
#include "elements/dvread/dvread.h"
#endif
#ifdef DVNN_HAVE_OVERLAY
#include "elements/dvoverlay/dvoverlay.h"
#endif

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
