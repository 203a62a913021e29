// SPDX-License-Identifier: Apache-2.0
// A layer whose results are elements of its inputs, or one value: they are moved once, as they are.
#pragma once

#include <memory>
#include <vector>

#include "layers/attributes.h"
#include "layers/moves.h"

namespace dvnn::layers {

class MoveLayer final : public CpuLayer {
 public:
  /// Nothing is moved until parts are added, which together are the whole output.
  MoveLayer(Span<const TensorDesc> inputs, const TensorDesc& output);
  /// A part of the output that comes from the `input`-th input.
  void add(size_t input, const MovedPart& part) { moves_[input].add(part); }
  /// All of the output but the box of `count` elements at `begin` along each axis is `value`.
  void add_border(const MovedPart::Axes& begin, const MovedPart::Axes& count, float value);

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override;

 private:
  const uint8_t* source(const ConstTensorView& input, Span<const TensorView> outputs) const;

  TensorDesc output_;         // in the form in which it is moved
  std::vector<Moves> moves_;  // by input
  std::vector<Moves> border_;
  uint32_t value_ = 0;  // the border's, in the output's type
  std::vector<const uint8_t*> sources_;
};

/// The layer of one input that is moved as one part.
LayerResult make_move_layer(const TensorDesc& input, const TensorDesc& output,
                            const MovedPart& part);

}  // namespace dvnn::layers
