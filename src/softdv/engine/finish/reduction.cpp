// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/reduction.h"

#include <algorithm>

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

}  // namespace dvnn::softdv
