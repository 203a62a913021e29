// SPDX-License-Identifier: Apache-2.0
// What all convolutions are: prepared once from shape and weights, then run on any thread.
#pragma once

#include <memory>

#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

class Convolution {
 public:
  virtual ~Convolution() = default;
  /// Convolves the whole input `from`, which lies in chunks, and hands each piece of the sums to
  /// `finish`, which takes it to the run's result.
  virtual void execute(const half_t* from, const Finish& finish, Team* team) const = 0;
};

/// Chooses the fastest kind that suits the shape. `weights` are as ConvShape says, and are copied
/// as `bias` is. `pooled`: a pooling follows, for which bands of rows overlap.
std::unique_ptr<Convolution> make_convolution(const ConvShape& shape, const float* weights,
                                              const float* bias, bool pooled);

}  // namespace dvnn::softdv
