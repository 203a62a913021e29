// SPDX-License-Identifier: Apache-2.0
// The one place that speaks to oneDNN, versions 2.6 to 3.x.
#pragma once

#include <memory>

#include "softdv/convolutions/convolution.h"

namespace dvnn::softdv {

/// Weights that convolutions of the same channels and kernel share where oneDNN wants them in the
/// same order. `weights` and `bias` as for plain_convolution(); they are copied.
class OneDnnWeights {
 public:
  OneDnnWeights(const ConvShape& shape, const float* weights, const float* bias);
  ~OneDnnWeights();

 private:
  friend class OneDnnConvolution;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Null where this version of oneDNN cannot do it.
std::unique_ptr<Convolution> onednn_convolution(const ConvShape& shape, ConvRelu relu,
                                                OneDnnWeights* weights);

}  // namespace dvnn::softdv
