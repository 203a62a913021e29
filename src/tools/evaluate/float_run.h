// SPDX-License-Identifier: Apache-2.0
// Runs a network in FP32 on the CPU, without a device: the operations and weights that its file
// holds, none of whose results are rounded to 16 bits.
#pragma once

#include <memory>

#include "decode/custom_decoders.h"
#include "network/model.h"
#include "objects/object.h"
#include "tools/pictures.h"

namespace dvnn::tools {

class FloatRun {
 public:
  virtual ~FloatRun() = default;
  /// Runs on an 8-bit BGR picture, and decodes. Boxes are in pixels of the picture, not clipped.
  virtual Result<objects::Objects> run(const Bitmap& bgr, float threshold) = 0;
};

/// Creates one of a model with its weights, as they are in the file. `custom_layers` is the path of
/// a library, or empty; `decoders` may be null. Error: kUnsupported if the model does not hold its
/// graph, or if this dvnet was built without the converter.
Result<std::unique_ptr<FloatRun>> create_float_run(network::Model model,
                                                   const std::string& custom_layers,
                                                   const decode::CustomDecoders* decoders);

}  // namespace dvnn::tools
