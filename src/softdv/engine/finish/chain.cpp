// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/chain.h"

#include <algorithm>
#include <utility>

#include "softdv/engine/finish/chain_curves.h"

namespace dvnn::softdv {
namespace {

using kernels::Curve;
using kernels::Operation;

// Elements of a span, which holds whole pixels of any chunk, of 1 to 8 channels. Those of a few
// values stay in the first-level cache.
constexpr size_t kSpan = 840;

}  // namespace

Chain::Chain(std::vector<Operand> operands, std::vector<Step> steps, half_t* to, bool keeps_own)
    : operands_(std::move(operands)), steps_(std::move(steps)), to_(to), keeps_own_(keeps_own) {
  join_steps();
}

// x times the sigmoid of x is a curve, with the same bits: one pass instead of two.
void Chain::join_steps() {
  if (steps_.size() != 2) return;
  const Step first = steps_[0], second = steps_[1];
  const size_t made = operands_.size();
  if (first.combines || first.curve != Curve::kSigmoid || !second.combines ||
      second.operation != Operation::kMul) {
    return;
  }
  const bool by_itself =
      (second.x == first.x && second.y == made) || (second.y == first.x && second.x == made);
  if (!by_itself) return;
  Step swish;
  swish.curve = Curve::kSwish;
  swish.a = 1;
  swish.x = first.x;
  steps_ = {swish};
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
      half_t* const halves = last ? to_ + at + done : nullptr;
      // The last result takes the place of the sums, which nothing reads after it.
      float* const to = last ? values + done : spans[next];
      if (!step.combines && is_short(step.curve)) {
        short_curve(step.curve, step.a, made[step.x], some, to, halves);
        made[next++] = to;
        continue;
      }
      if (step.combines) {
        kernels::operate(step.operation, made[step.x], made[step.y], to, some);
      } else {
        kernels::apply(step.curve, step.a, step.b, made[step.x], to, some);
      }
      if (last) float_to_half(to, halves, some);
      made[next++] = to;
    }
  }
}

}  // namespace dvnn::softdv
