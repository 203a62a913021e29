// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elements/objectelement.h"

namespace dvnn::gst {

const ElementClass& dvmotion();

}  // namespace dvnn::gst
