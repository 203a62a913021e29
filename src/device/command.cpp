// SPDX-License-Identifier: Apache-2.0
#include "device/command.h"

namespace dvnn::device {
namespace {

// Source: dv-sdk driver, output sizes of a run; integer division, windows that fit only.
int windows(int size, int pad, int window, int stride) {
  const int room = size + pad - window;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

Dims conv_output(const ConvRun& run, Dims in) {
  if (run.conv == ConvKind::kNone) return in;
  const Pad& p = run.conv_pad;
  const int kx = (run.kernel.x - 1) * run.dilation.x + 1;
  const int ky = (run.kernel.y - 1) * run.dilation.y + 1;
  if (is_deconv(run.conv)) {  // deconvolution: stride - 1 zeros between samples
    return {windows((in.w - 1) * run.stride.x + 1, p.left + p.right, kx, 1),
            windows((in.h - 1) * run.stride.y + 1, p.top + p.bottom, ky, 1), run.m};
  }
  return {windows(in.w, p.left + p.right, kx, run.stride.x),
          windows(in.h, p.top + p.bottom, ky, run.stride.y), run.m};
}

Dims run_output(const ConvRun& run, Dims in) {
  const Dims conv = conv_output(run, in);
  const Pad& p = run.pool_pad;
  switch (run.pool) {
    case PoolKind::kNone:
      return conv;
    case PoolKind::kUpsample:
      return {conv.w * 2, conv.h * 2, conv.c};
    case PoolKind::kMax:
    case PoolKind::kAverage:
      break;
  }
  return {windows(conv.w, p.left + p.right, run.pool_size.x, run.pool_stride.x),
          windows(conv.h, p.top + p.bottom, run.pool_size.y, run.pool_stride.y), conv.c};
}

PackedGeometry run_geometry(const ConvRun& run, int input_channels) {
  PackedGeometry g;
  g.m = run.m;
  g.c = is_depthwise(run.conv) ? 1 : input_channels;
  g.kx = run.kernel.x;
  g.ky = run.kernel.y;
  g.quantised = run.weight_format == WeightFormat::kQuantised;
  g.prelu = run.activation == Activation::kPrelu;
  g.dilated = run.dilation.x > 1 || run.dilation.y > 1;
  return g;
}

}  // namespace dvnn::device
