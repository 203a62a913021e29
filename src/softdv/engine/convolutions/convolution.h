// SPDX-License-Identifier: Apache-2.0
// The interface of all convolutions: prepared once from shape and weights, run on any thread.
#pragma once

#include <memory>

#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

class Convolution {
 public:
  virtual ~Convolution() = default;
  /// Convolves the whole input `from`, which is in chunks. Each piece of the sums goes to `finish`,
  /// which writes it to the run's result.
  virtual void execute(const half_t* from, const Finish& finish, Team* team) const = 0;
};

/// Creates the fastest implementation that suits the shape. `weights` are in ConvShape's order;
/// they and `bias` are copied. `pooled`: a pooling follows, so neighbouring bands of rows overlap.
std::unique_ptr<Convolution> make_convolution(const ConvShape& shape, const float* weights,
                                              const float* bias, bool pooled);

}  // namespace dvnn::softdv
