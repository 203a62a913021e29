// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elements/elements.h"

namespace dvnn::gst {

/// Registers the elements of the plugin that includes this. Returns whether that went well.
static gboolean register_elements(GstPlugin* plugin) {
  gboolean good = TRUE;
#define DVNN_REGISTER(name) good &= GST_ELEMENT_REGISTER(name, plugin);
  DVNN_PLUGIN_ELEMENTS(DVNN_REGISTER)
#undef DVNN_REGISTER
  return good;
}

}  // namespace dvnn::gst
