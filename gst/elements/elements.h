// SPDX-License-Identifier: Apache-2.0
// All elements, for the plugins that register them.
#pragma once

#include "elements/objectelement.h"

namespace dvnn::gst {

GST_ELEMENT_REGISTER_DECLARE(dvaudio)
GST_ELEMENT_REGISTER_DECLARE(dvconvert)
GST_ELEMENT_REGISTER_DECLARE(dvinfer)
GST_ELEMENT_REGISTER_DECLARE(dvrecall)
GST_ELEMENT_REGISTER_DECLARE(dvrecord)
const ElementClass& dvdecode();
const ElementClass& dvmatch();
const ElementClass& dvmotion();
const ElementClass& dvoverlay();
const ElementClass& dvpublish();
const ElementClass& dvread();
const ElementClass& dvtrack();
const ElementClass& dvzones();

}  // namespace dvnn::gst
