// SPDX-License-Identifier: Apache-2.0
// A chain of functions of single elements behind a run, on its results as floats, before they are
// rounded: device/soft_extension.h says what callers ask for.
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
    const half_t* tensor = nullptr;  // as large as the result, and in its layout
    std::vector<float> values;       // of kChannels, one for each channel; of kSingle, one
  };
  struct Step {
    bool combines = false;  // `operation` of x and y; else `curve` of x
    kernels::Curve curve = kernels::Curve::kLine;
    float a = 0, b = 0;
    kernels::Operation operation = kernels::Operation::kAdd;
    size_t x = 0, y = 0;            // numbers of operands, and after them of earlier steps
    std::optional<Gate> gate = {};  // of x, in place of a curve: what several steps become
  };
  static constexpr size_t kMostValues = 24;  // operands and steps

  /// `to` is the result, of the whole batch, as `operands` are. With `keeps_own`, what the run
  /// makes is stored, too, rounded by itself.
  Chain(std::vector<Operand> operands, std::vector<Step> steps, half_t* to, bool keeps_own);

  bool keeps_own() const { return keeps_own_; }

  /// Takes `count` sums of a chunk of `channels` channels, from `first_channel` on, to elements
  /// `at` .. of the result. They begin with a pixel; the floats are changed.
  void finish(size_t first_channel, size_t channels, size_t at, size_t count, float* values) const;

 private:
  void join_steps();
  bool multiplies(const Step& step, size_t x, size_t y) const;
  std::optional<Step> joined_swish() const;
  std::optional<Step> joined_gate() const;
  static void compute(const Step& step, const float* const* values, size_t count, float* to,
                      half_t* halves);

  std::vector<Operand> operands_;
  std::vector<Step> steps_;
  half_t* to_;
  bool keeps_own_;
};

}  // namespace dvnn::softdv
