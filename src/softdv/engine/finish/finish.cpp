// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/finish.h"

#include "kernels/arithmetic/elementwise.h"
#include "softdv/engine/aligned_floats.h"

namespace dvnn::softdv {

Finish::Finish(const Run& run, bool hwc, const float* slopes, const half_t* operand, half_t* to,
               const Chain* chain, size_t sample)
    : run_(run),
      slopes_(slopes),
      reduction_(run, hwc),
      before_(row_shape(run.conv, hwc)),
      after_(row_shape(run.out, hwc)),
      operand_(operand),
      to_(to),
      chain_(chain),
      sample_(sample) {}

std::optional<RegisterFinish> Finish::in_registers(bool pools) const {
  using device::Activation;
  if (chain_) return std::nullopt;
  const Activation activation = run_.run.activation;
  RegisterFinish finish = {};
  finish.to = to_;
  finish.addend = operand_;
  finish.plane = after_.pixels() * kChunk;
  finish.slope = run_.run.activation_param;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      finish.activation =
          finish.slope == 0 ? RegisterActivation::kRelu : RegisterActivation::kSloped;
      break;
    case Activation::kPrelu:
      finish.activation = RegisterActivation::kSloped;
      finish.slopes = slopes_;
      break;
    case Activation::kRelu6:
      finish.activation = RegisterActivation::kRelu6;
      break;
    default:
      return std::nullopt;
  }
  if (run_.absolute && activation != Activation::kRelu) return std::nullopt;
  if (!reduction_.on()) return finish;
  if (!pools || operand_ || !reduction_.halves(before_, after_)) return std::nullopt;
  return finish;
}

void Finish::pixels(int chunk, size_t pixel, size_t count, float* values) const {
  const size_t channels = part(after_, chunk).pixel();
  const size_t at = offset(after_, chunk) + pixel * channels;
  if (!reduction_.follows_addition()) add(at, count * channels, values);
  store(chunk, at, count, values);
}

void Finish::rows(int chunk, Band band, Band made, float* values) const {
  const RowShape in = part(before_, chunk), out = part(after_, chunk);
  add_before(offset(before_, chunk) + made.before() * in.row(), made.count() * in.row(), values);
  static thread_local AlignedFloats buffer;
  float* const reduced = buffer.room(band.count() * out.row());
  reduction_.apply({values, made.first}, in, reduced, out, band);
  const size_t row = out.row_pixels();
  pixels(chunk, band.before() * row, band.count() * row, reduced);
}

void Finish::add(size_t at, size_t count, float* values) const {
  if (!operand_) return;
  static thread_local AlignedFloats buffer;
  float* const floats = buffer.room(count);
  half_to_float(operand_ + at, floats, count);
  kernels::operate(kernels::Operation::kAdd, values, floats, values, count);
}

void Finish::store(int chunk, size_t at, size_t pixels, float* values) const {
  const RowShape shape = {1, static_cast<int>(pixels), part(after_, chunk).channels};
  activate(run_.run.activation, run_.run.activation_param,
           slopes_ ? slopes_ + chunk * kChunk : nullptr, run_.absolute, shape, {0, 1}, values);
  if (!chain_ || chain_->keeps_own()) float_to_half(values, to_ + at, shape.size());
  if (!chain_) return;
  chain_->finish(static_cast<size_t>(chunk) * kChunk, shape.pixel(), sample_ + at, shape.size(),
                 values);
}

}  // namespace dvnn::softdv
