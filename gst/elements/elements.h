// SPDX-License-Identifier: Apache-2.0
// All elements, for the plugins that register them.
#pragma once

#include "elements/objectelement.h"

GST_ELEMENT_REGISTER_DECLARE(dvconvert)
GST_ELEMENT_REGISTER_DECLARE(dvinfer)

namespace dvnn::gst {

const ElementClass& dvdecode();
const ElementClass& dvmotion();
const ElementClass& dvoverlay();
const ElementClass& dvpublish();
const ElementClass& dvread();
const ElementClass& dvtrack();
const ElementClass& dvzones();

}  // namespace dvnn::gst
