// SPDX-License-Identifier: Apache-2.0
// A chain of elementwise functions after a run, on its results as floats before they are rounded:
// device/soft_extension.h describes its interface. Its curves become binary16: they are accurate to
// that, in fewer steps than kernels/arithmetic/elementwise.h has, and rounded in the same pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/arithmetic/elementwise.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// x times (a x + b, clamped to `least` and `most`): hard-swish in any of its forms.
struct Gate {
  float a, b, least, most;
};

/// Writes x times its gate for `count` floats, to outputs as short_curve() does; `least` must not
/// exceed `most`.
void short_gate(const Gate& gate, const float* from, size_t count, float* to, half_t* halves);

/// Returns whether short_curve() has a curve: sigmoid, swish, and GELU in both forms.
bool is_short(kernels::Curve curve);

/// Writes the curve, with its parameter `a` (a factor of GELU's), of `count` floats: rounded to
/// `halves` or, if that is null, to `to`, which may be `from`. Before rounding, the error is within
/// 2^-20 of the result (2^-18 of GELU by the error function), or 2^-24 for small results. NaN
/// gives NaN.
void short_curve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                 half_t* halves);

/// The functions of one chain, and where its result goes.
class Chain {
 public:
  enum class Kind : uint8_t { kSums, kTensor, kChannels, kSingle };
  struct Operand {
    Kind kind = Kind::kSums;
    const half_t* tensor = nullptr;  // kTensor: of the result's size and layout; see place()
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

  /// With `keeps_own`, the run's own result is stored, too, rounded by itself.
  Chain(std::vector<Operand> operands, std::vector<Step> steps, bool keeps_own);

  bool keeps_own() const { return keeps_own_; }
  /// Sets where the whole batch's tensors, in the order of the operands, and the result are.
  void place(const std::vector<const half_t*>& tensors, half_t* to);

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
  half_t* to_ = nullptr;
  bool keeps_own_;
};

}  // namespace dvnn::softdv
