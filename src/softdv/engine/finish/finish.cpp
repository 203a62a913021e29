// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/finish.h"

#include <algorithm>

#include "base/aligned.h"
#include "kernels/arithmetic/elementwise.h"

namespace dvnn::softdv {

using device::PoolKind;

RowShape row_shape(device::Dims dims, bool hwc) {
  return hwc ? RowShape{dims.h, dims.w, dims.c} : RowShape{dims.w, dims.h, dims.c};
}

Reduction::Reduction(const Run& run, bool hwc)
    : kind_(run.run.pool),
      scale_(run.run.pool_scale),
      normalises_(run.lrn & 1),
      prescale_(run.lrn >> 8 & 0xf) {
  const device::Extent &size = run.run.pool_size, &stride = run.run.pool_stride;
  const device::Pad& pad = run.run.pool_pad;
  window_ = hwc ? PoolWindow{size.y, size.x, stride.y, stride.x, pad.top, pad.left}
                : PoolWindow{size.x, size.y, stride.x, stride.y, pad.left, pad.top};
  // Commands that only add ask for an average of one pixel, which changes nothing.
  const bool is_whole = run.conv.w == run.out.w && run.conv.h == run.out.h;
  if (kind_ == PoolKind::kAverage && is_whole && size.x == 1 && size.y == 1 && scale_ == 1 &&
      pad.left == 0 && pad.top == 0) {
    kind_ = PoolKind::kNone;
  }
}

bool Reduction::halves(const RowShape& in, const RowShape& out) const {
  const PoolWindow& w = window_;
  const bool side_by_side = w.size_rows == 2 && w.size_cols == 2 && w.stride_rows == 2 &&
                            w.stride_cols == 2 && w.pad_rows == 0 && w.pad_cols == 0;
  return kind_ == PoolKind::kMax && side_by_side && 2 * out.rows <= in.rows &&
         2 * out.cols <= in.cols;
}

Band Reduction::input_rows(const RowShape& in, Band band) const {
  if (normalises_) return band;
  if (kind_ == PoolKind::kUpsample) return {band.first / 2, (band.last - 1) / 2 + 1};
  const Band reached = window_rows(in, window_, band);
  if (reached.first < reached.last) return reached;
  const int row = std::min(reached.first, in.rows - 1);  // all windows lie in the padding
  return {row, row + 1};
}

void Reduction::apply(RowsView from, const RowShape& in, float* to, const RowShape& out,
                      Band band) const {
  switch (kind_) {
    case PoolKind::kMax:
      max_pool(from, in, window_, to, out, band);
      break;
    case PoolKind::kAverage:
      average_pool(from, in, window_, scale_, to, out, band);
      break;
    case PoolKind::kUpsample:
      upsample(from, in, to, out, band);
      break;
    case PoolKind::kNone:
      lrn(from, in, prescale_, to, band);
      break;
  }
}

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
