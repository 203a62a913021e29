// SPDX-License-Identifier: Apache-2.0
// Layers of SSD heads.
#pragma once

#include "kernels/boxes/prior_box.h"
#include "kernels/boxes/ssd.h"
#include "layers/attributes/layer_type.h"

namespace dvnn::layers {

/// SSD post-processing: inputs loc, conf, priors {1, 2, 4P}; output {1, 1, N, 7}, rows (image_id,
/// label, confidence, x0, y0, x1, y1), image_id -1 in unused rows. Parameters: parse_ssd_params.
struct DetectionOutputAttributes {
  DVNN_LAYER_TYPE_IN_JSON(DetectionOutputAttributes, "DetectionOutput");
  kernels::SsdParams ssd;
};

/// Default boxes: output {1, 2, 4P}, row 0 boxes, row 1 variances. See kernels/boxes/prior_box.h.
struct PriorBoxAttributes {
  DVNN_LAYER_TYPE_IN_JSON(PriorBoxAttributes, "PriorBox");
  kernels::PriorBoxParams prior;
  bool grid_of_input = false;  // takes the grid's size from the first input
};

}  // namespace dvnn::layers
