// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/chain.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace dvnn::softdv {
namespace {

using kernels::Curve;
using kernels::Operation;

// Elements of a span: a multiple of every number of channels from 1 to 8, so a span has whole
// pixels of any chunk. The spans of a few values fit the first-level cache.
constexpr size_t kSpan = 840;

bool is_curve(const Chain::Step& step, Curve curve) {
  return !step.combines && step.curve == curve;
}

}  // namespace

Chain::Chain(std::vector<Operand> operands, std::vector<Step> steps, bool keeps_own)
    : operands_(std::move(operands)), steps_(std::move(steps)), keeps_own_(keeps_own) {
  join_steps();
}

void Chain::place(const std::vector<const half_t*>& tensors, half_t* to) {
  auto next = tensors.begin();
  for (Operand& operand : operands_) {
    if (operand.kind == Kind::kTensor) operand.tensor = *next++;
  }
  to_ = to;
}

// Replaces a known series of steps by one step, in one pass.
void Chain::join_steps() {
  for (Step& step : steps_) {
    if (is_curve(step, Curve::kGelu)) step.a = 1;  // which the layer does not have
  }
  std::optional<Step> joined = joined_swish();
  if (!joined) joined = joined_gate();
  if (!joined) joined = joined_gelu();
  if (joined) steps_ = {*joined};
}

bool Chain::multiplies(const Step& step, size_t x, size_t y) const {
  return step.combines && step.operation == Operation::kMul &&
         ((step.x == x && step.y == y) || (step.x == y && step.y == x));
}

// Swish: x times the sigmoid of x.
std::optional<Chain::Step> Chain::joined_swish() const {
  if (steps_.size() != 2 || !is_curve(steps_[0], Curve::kSigmoid)) return std::nullopt;
  if (!multiplies(steps_[1], steps_[0].x, operands_.size())) return std::nullopt;
  Step swish;
  swish.curve = Curve::kSwish;
  swish.a = 1;
  swish.x = steps_[0].x;
  return swish;
}

// Gate: x times a clamped line of x; a positive factor may follow the clamp or the product.
std::optional<Chain::Step> Chain::joined_gate() const {
  const size_t count = steps_.size(), line = operands_.size(), clip = line + 1;
  if (count != 3 && count != 4) return std::nullopt;
  if (!is_curve(steps_[0], Curve::kLine) || !is_curve(steps_[1], Curve::kClip)) {
    return std::nullopt;
  }
  const size_t x = steps_[0].x;
  float factor = 1;
  bool joins = steps_[1].x == line && multiplies(steps_[2], x, clip);
  if (count == 4) {
    const bool last = is_curve(steps_[3], Curve::kLine) && steps_[3].x == clip + 1;
    const bool third = is_curve(steps_[2], Curve::kLine) && steps_[2].x == clip &&
                       steps_[1].x == line && multiplies(steps_[3], x, clip + 1);
    const Step& scales = steps_[third ? 2 : 3];
    joins = (third || (joins && last)) && scales.b == 0;
    factor = scales.a;
  }
  if (!joins || !(factor > 0) || !(steps_[1].a <= steps_[1].b)) return std::nullopt;
  Step gated;
  gated.x = x;
  gated.gate =
      Gate{steps_[0].a * factor, steps_[0].b * factor, steps_[1].a * factor, steps_[1].b * factor};
  return gated;
}

// GELU: x times a line of the error function of x by the root of 2, c (1 + erf(x / root of 2)); a
// factor may follow. Exporters write it so, and fold its 1/2 into what is near.
std::optional<Chain::Step> Chain::joined_gelu() const {
  const size_t count = steps_.size(), scaled = operands_.size();
  constexpr float kRootHalf = 0.70710678f, kRoundings = 1e-6f;
  if (count != 4 && count != 5) return std::nullopt;
  const Step &scale = steps_[0], &error = steps_[1], &line = steps_[2];
  const size_t x = scale.x;
  const bool joins = is_curve(scale, Curve::kLine) && scale.b == 0 &&
                     std::fabs(scale.a - kRootHalf) < kRoundings && is_curve(error, Curve::kErf) &&
                     error.x == scaled && is_curve(line, Curve::kLine) && line.x == scaled + 1 &&
                     line.a == line.b && multiplies(steps_[3], x, scaled + 2);
  if (!joins) return std::nullopt;
  Step gelu;
  gelu.curve = Curve::kGelu;
  gelu.x = x;
  gelu.a = 2 * line.a;
  if (count == 4) return gelu;
  const Step& last = steps_[4];
  if (!is_curve(last, Curve::kLine) || last.x != scaled + 3 || last.b != 0) return std::nullopt;
  gelu.a *= last.a;
  return gelu;
}

// Computes one step of `count` elements to `to` or, if `halves` is not null, rounded to `halves`;
// `to` may be overwritten then, too.
void Chain::compute(const Step& step, const float* const* values, size_t count, float* to,
                    half_t* halves) {
  if (step.gate) return short_gate(*step.gate, values[step.x], count, to, halves);
  if (!step.combines && is_short(step.curve)) {
    return short_curve(step.curve, step.a, values[step.x], count, to, halves);
  }
  if (step.combines) {
    kernels::operate(step.operation, values[step.x], values[step.y], to, count);
  } else {
    kernels::apply(step.curve, step.a, step.b, values[step.x], to, count);
  }
  if (halves) float_to_half(to, halves, count);
}

void Chain::finish(size_t first_channel, size_t channels, size_t at, size_t count,
                   float* values) const {
  alignas(64) float spans[kMostValues][kSpan];
  const float* made[kMostValues];
  for (size_t done = 0; done < count; done += kSpan) {
    const size_t some = std::min(kSpan, count - done);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      made[i] = spans[i];
      if (operand.kind == Kind::kSums) {
        made[i] = values + done;
      } else if (operand.kind == Kind::kTensor) {
        half_to_float(operand.tensor + at + done, spans[i], some);
      } else if (done == 0 && operand.kind == Kind::kSingle) {
        std::fill_n(spans[i], some, operand.values[0]);
      } else if (done == 0) {
        const float* const pixel = operand.values.data() + first_channel;
        for (size_t k = 0; k < some; k += channels) std::copy_n(pixel, channels, spans[i] + k);
      }
    }
    size_t next = operands_.size();
    for (const Step& step : steps_) {
      const bool last = &step == &steps_.back();
      // The last result overwrites the sums, which no later step reads.
      float* const to = last ? values + done : spans[next];
      compute(step, made, some, to, last ? to_ + at + done : nullptr);
      made[next++] = to;
    }
  }
}

}  // namespace dvnn::softdv
