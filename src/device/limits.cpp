// SPDX-License-Identifier: Apache-2.0
#include "device/limits.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::device {
namespace {

constexpr int64_t kUnitBytes = 16;  // the unified buffer's word
constexpr int64_t kPoolTileElements = 67108864;

// Rounds up to the next value that leaves `rest` modulo 16.
int64_t raise(int64_t value, int64_t rest) {
  return value + ((rest - value) % 16 + 16) % 16;
}

int64_t chunks(int64_t channels) {
  return (channels + 7) / 8;
}

// Words of one chunk of 8 channels of `pixels` pixels: spread over the banks.
int64_t chunk_units(int64_t pixels, int64_t channels) {
  return raise((pixels * std::min<int64_t>(channels, 8) + 7) / 8, 2);
}

int64_t tensor_units(int64_t pixels, int64_t channels) {
  return raise(chunk_units(pixels, channels) * chunks(channels), 0);
}

int odd_kernel(const ConvRun& run) {
  return std::max(run.kernel.x, run.kernel.y) | 1;
}

int64_t windows(int64_t size, int64_t pad, int64_t window, int64_t stride, bool deconv) {
  if (deconv) return pad + (size - 1) * stride + 1 - window + 1;
  return (size + pad - window) / std::max<int64_t>(stride, 1) + 1;
}

int count_conv_tiles(const ConvRun& run, Dims in, bool lrn, int64_t halves) {
  const bool dilated = !lrn && (run.dilation.x > 1 || run.dilation.y > 1);
  const int p = lrn ? 1 : odd_kernel(run);
  const int m = lrn ? in.c : run.m;
  const int64_t kx = dilated ? (run.kernel.x - 1) * run.dilation.x + 1 : p;
  const int64_t ky = dilated ? (run.kernel.y - 1) * run.dilation.y + 1 : p;
  const bool narrow = !lrn && !dilated && in.c <= 8;  // streams without an output buffer
  if (narrow && m <= 8) return 1;
  const int64_t stride_x = lrn ? 1 : run.stride.x, stride_y = lrn ? 1 : run.stride.y;
  const Pad pad = lrn ? Pad{} : run.conv_pad;
  for (int t = 1; t <= in.w; ++t) {
    const int64_t width = (in.w + t - 1) / t + kx - 1;
    const int64_t input = 8 * tensor_units(width * in.h, in.c);
    const int64_t output = windows(width, pad.left + pad.right, kx, stride_x, is_deconv(run.conv)) *
                           windows(in.h, pad.top + pad.bottom, ky, stride_y, is_deconv(run.conv)) *
                           std::min(m, 8);
    if (input + (narrow ? 0 : output) <= halves) return t;
  }
  return 0;
}

}  // namespace

const char* dilation_problem(const ConvRun& run, Dims in) {
  if (run.dilation.x <= 1 && run.dilation.y <= 1) return nullptr;
  if (run.pool != PoolKind::kNone) return "a dilated convolution cannot pool";
  if (run.kernel.x % 2 == 0 || run.kernel.y % 2 == 0) {
    return "a dilated convolution needs an odd kernel";
  }
  if (is_deconv(run.conv) && (run.stride.x != 1 || run.stride.y != 1)) {
    return "a dilated deconvolution needs stride 1";
  }
  if (run.activation == Activation::kPrelu) return "a dilated convolution cannot apply PReLU";
  const Dims out = conv_output(run, in);
  if (out.w * run.stride.x != in.w || out.h * run.stride.y != in.h) {
    return "a dilated convolution needs pads that keep the input's size over the stride";
  }
  return nullptr;
}

int count_tiles(const ConvRun& run, Dims in, bool lrn, int unified_buffer_bytes) {
  if (is_depthwise(run.conv)) return 1;
  if (run.conv != ConvKind::kNone || lrn) {
    return count_conv_tiles(run, in, lrn, int64_t{unified_buffer_bytes / 1024} * 512);
  }
  const int64_t elements = int64_t{in.w} * in.h * std::min(in.c, 8);
  for (int t = 1; t <= in.w; ++t) {
    if (elements / t <= kPoolTileElements) return t;
  }
  return 0;
}

std::string misfit(const ConvRun& run, Dims in, const Limits& limits) {
  const Dims out = run_output(run, in), conv = conv_output(run, in);
  const struct {
    const char* what;
    int value, limit;
  } checks[] = {{"input width", in.w, limits.width},
                {"input height", in.h, limits.height},
                {"input channels", in.c, limits.channels},
                {"output width", std::max(out.w, conv.w), limits.width},
                {"output height", std::max(out.h, conv.h), limits.height},
                {"output channels", out.c, limits.channels}};
  for (const auto& check : checks) {
    if (check.value > check.limit) {
      return format("%s %d exceeds the device's limit of %d", check.what, check.value, check.limit);
    }
  }
  if (run.conv != ConvKind::kNone) {
    if (std::max(run.kernel.x, run.kernel.y) > limits.kernel) {
      return format("the kernel of %d x %d exceeds the device's %d x %d", run.kernel.x,
                    run.kernel.y, limits.kernel, limits.kernel);
    }
    if (const char* problem = dilation_problem(run, in)) return problem;
  }
  // The driver holds a pooling's window against the input of the convolution before it, too.
  const bool pools = run.pool == PoolKind::kMax || run.pool == PoolKind::kAverage;
  const Pad& pad = run.pool_pad;
  if (pools && (run.pool_size.x > pad.left + in.w + pad.right ||
                run.pool_size.y > pad.top + in.h + pad.bottom)) {
    return format("the pooling window of %d x %d exceeds the input of %d x %d", run.pool_size.x,
                  run.pool_size.y, in.w, in.h);
  }
  if (count_tiles(run, in, false, limits.unified_buffer_bytes) > 0) return "";
  return format(
      "an input of %d x %d x %d (width x height x channels) does not fit the device's unified "
      "buffer of %d bytes",
      in.w, in.h, in.c, limits.unified_buffer_bytes);
}

bool works_by_pixel(const ConvRun& run) {
  const auto alone = [](Extent size, Extent stride, const Pad& pad) {
    return size.x == 1 && size.y == 1 && stride.x == 1 && stride.y == 1 &&
           pad.left + pad.right + pad.top + pad.bottom == 0;
  };
  const bool convolves_alone =
      run.conv == ConvKind::kNone ||
      (!is_deconv(run.conv) && alone(run.kernel, run.stride, run.conv_pad));
  const bool pools_alone =
      run.pool == PoolKind::kNone ||
      (run.pool == PoolKind::kAverage && alone(run.pool_size, run.pool_stride, run.pool_pad));
  return convolves_alone && pools_alone;
}

Dims fold_pixels(const ConvRun& run, Dims in, const Limits& limits) {
  const int64_t pixels = int64_t{in.w} * in.h;
  // The widest that fits has the fewest rows, and the device splits widths by itself.
  for (int w = static_cast<int>(std::min<int64_t>(limits.width, pixels)); w > 0; --w) {
    if (pixels % w != 0) continue;
    if (pixels / w > limits.height) return {};
    const Dims folded = {w, static_cast<int>(pixels / w), in.c};
    if (misfit(run, folded, limits).empty()) return folded;
  }
  return {};
}

int64_t unified_buffer_use(const std::vector<ConvRun>& runs, uint32_t topo, Dims in) {
  struct Record {
    int64_t offset, bytes;
  };
  const Record command = {0, tensor_units(int64_t{in.w} * in.h, in.c) * kUnitBytes};
  const int branches = __builtin_popcount(topo);
  Record at = command;
  Dims size = in;
  int64_t most = 0;
  int branch = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const ConvRun& run = runs[i];
    const bool external = writes_memory(topo, i), average = run.pool == PoolKind::kAverage;
    const bool up = run.pool == PoolKind::kUpsample;
    const bool pools = run.pool == PoolKind::kMax;
    bool convolves = run.conv != ConvKind::kNone;
    Extent kernel = run.kernel, stride = run.stride;
    Pad pad = run.conv_pad;
    if (average) {  // counted as a convolution
      kernel = {run.pool_size.x, run.pool_size.x};
      stride = run.pool_stride;
      pad = run.pool_pad;
      convolves = true;
    }
    const int p = std::max(kernel.x, kernel.y) | 1;
    pad.right += p - kernel.x;
    pad.top += p - kernel.y;
    if (!average) {
      if (!convolves) pad = {}, stride = {1, 1};
      if (pools || up) {
        pad.left += stride.x * run.pool_pad.left;
        pad.right += stride.x * run.pool_pad.right;
        pad.top += stride.y * run.pool_pad.top;
        pad.bottom += stride.y * run.pool_pad.bottom;
      }
    }
    const int64_t w = pad.left + size.w + pad.right;
    const int64_t h = pad.top + size.h + pad.bottom;
    const int64_t conv_w = (w - p) / std::max(stride.x, 1) + 1;
    const int64_t conv_h = (h - p) / std::max(stride.y, 1) + 1;
    // The driver counts pooling windows also where nothing pools; a stride of 0 would divide by 0.
    const Extent step = {std::max(run.pool_stride.x, 1), std::max(run.pool_stride.y, 1)};
    int64_t pixels = conv_w * conv_h;
    if (!convolves) {
      pixels = up ? 4 * w * h
                  : ((w - run.pool_size.x) / step.x + 1) * ((h - run.pool_size.y) / step.y + 1);
    }
    const bool in_place = branch == branches - 1 && !convolves;
    const Record out = {at.offset + (in_place ? 0 : at.bytes),
                        tensor_units(pixels, run.m) * kUnitBytes};
    const int64_t own = external ? chunk_units(pixels, run.m) * kUnitBytes : out.bytes;
    most = std::max(most, (branches == 1 ? at.bytes : out.offset) + own);
    // uint16 as in the driver's records.
    int64_t out_w = convolves ? conv_w : w, out_h = convolves ? conv_h : h;
    if (up) out_w *= 2, out_h *= 2;
    if (pools) {
      out_w = (out_w - run.pool_size.x) / step.x + 1;
      out_h = (out_h - run.pool_size.y) / step.y + 1;
    }
    size = external ? in : Dims{static_cast<uint16_t>(out_w), static_cast<uint16_t>(out_h), run.m};
    at = external ? command : out;
    branch += external;
  }
  return most;
}

}  // namespace dvnn::device
