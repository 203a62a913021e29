// SPDX-License-Identifier: Apache-2.0
// The settings of front ends, beside the model's files.
#pragma once

#include "import/custom_layers.h"

namespace dvnn::import {

struct ImportOptions {
  int width = 0, height = 0;  // of the input instead of the model's own; 0: the model's
  CustomLayers custom_layers;
};

}  // namespace dvnn::import
