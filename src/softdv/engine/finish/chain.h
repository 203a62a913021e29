// SPDX-License-Identifier: Apache-2.0
// A chain of elementwise functions after a run, on its results as floats before they are rounded:
// device/soft_extension.h describes its interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/arithmetic/curves.h"
#include "kernels/arithmetic/elementwise.h"
#include "softdv/engine/finish/chain_curves.h"
#include "tensor/half.h"

namespace dvnn::softdv {

class Chain {
 public:
  enum class Kind : uint8_t { kSums, kTensor, kChannels, kSingle };
  struct Operand {
    Kind kind = Kind::kSums;
    const half_t* tensor = nullptr;  // of the result's size and layout
    std::vector<float> values;       // kChannels: one per channel; kSingle: one
  };
  struct Step {
    bool combines = false;  // `operation` of x and y; else `curve` of x
    kernels::Curve curve = kernels::Curve::kLine;
    float a = 0, b = 0;
    kernels::Operation operation = kernels::Operation::kAdd;
    size_t x = 0, y = 0;            // indices of operands, or after those of earlier steps
    std::optional<Gate> gate = {};  // of x, instead of a curve: several steps joined
  };
  static constexpr size_t kMostValues = 24;  // operands and steps

  /// `to` and the operands' tensors are of the whole batch. With `keeps_own`, the run's own result
  /// is stored, too, rounded by itself.
  Chain(std::vector<Operand> operands, std::vector<Step> steps, half_t* to, bool keeps_own);

  bool keeps_own() const { return keeps_own_; }

  /// Applies the chain to `count` sums of a chunk of `channels` channels, from `first_channel` on,
  /// and writes elements `at` and following of the result. The sums begin with a pixel; they are
  /// overwritten.
  void finish(size_t first_channel, size_t channels, size_t at, size_t count, float* values) const;

 private:
  void join_steps();
  bool multiplies(const Step& step, size_t x, size_t y) const;
  std::optional<Step> joined_swish() const;
  std::optional<Step> joined_gate() const;
  std::optional<Step> joined_gelu() const;
  static void compute(const Step& step, const float* const* values, size_t count, float* to,
                      half_t* halves);

  std::vector<Operand> operands_;
  std::vector<Step> steps_;
  half_t* to_;
  bool keeps_own_;
};

}  // namespace dvnn::softdv
