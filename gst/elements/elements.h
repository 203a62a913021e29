// SPDX-License-Identifier: Apache-2.0
// All elements: src/meson.build has the list.
#pragma once

#include "elements/objectelement.h"

namespace dvnn::gst {

DVNN_ALL_ELEMENTS(GST_ELEMENT_REGISTER_DECLARE)

}  // namespace dvnn::gst
