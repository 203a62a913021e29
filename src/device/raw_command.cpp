// SPDX-License-Identifier: Apache-2.0
#include "device/raw_command.h"

#include <cstring>

namespace dvnn::device {
namespace {

uint16_t pair(Extent e) {
  return static_cast<uint16_t>(e.x | e.y << 8);
}

uint32_t sides(const Pad& p) {
  return static_cast<uint32_t>(p.left) | static_cast<uint32_t>(p.right) << 8 |
         static_cast<uint32_t>(p.top) << 16 | static_cast<uint32_t>(p.bottom) << 24;
}

void fill_run(const ConvRun& run, dmp_dv_cmdraw_conv_v0_run* out) {
  const bool dilated = run.dilation.x > 1 || run.dilation.y > 1;
  out->conv_pad = sides(run.conv_pad);
  out->pool_pad = sides(run.pool_pad);
  out->m = static_cast<uint16_t>(run.m);
  out->conv_enable = static_cast<uint16_t>(run.conv);
  // The driver wants a valid kernel even if the run does not convolve.
  out->p = run.kernel.x == run.kernel.y ? static_cast<uint16_t>(run.kernel.x) : pair(run.kernel);
  out->pz = 1;
  out->conv_stride = pair(run.stride);
  out->conv_dilation = dilated ? pair(run.dilation) : 0;
  out->weight_fmt = static_cast<uint16_t>(run.weight_format);
  out->pool_enable = static_cast<uint16_t>(run.pool);
  out->pool_avg_param = float_to_half(run.pool_scale);
  out->pool_size = pair(run.pool_size);
  out->pool_stride = pair(run.pool_stride);
  out->actfunc = static_cast<uint16_t>(run.activation);
  out->actfunc_param = float_to_half(run.activation_param);
}

}  // namespace

dmp_dv_cmdraw_conv_v0 to_raw(const ConvCommand& command) {
  constexpr uint16_t kYMajor = 0x8000;
  dmp_dv_cmdraw_conv_v0 raw;
  std::memset(&raw, 0, sizeof raw);
  raw.header.size = sizeof raw;
  raw.header.device_type = DMP_DV_DEV_CONV;
  raw.header.version = 0;
  raw.topo = command.topo;
  raw.w = static_cast<uint16_t>(command.w);
  raw.h = static_cast<uint16_t>(command.h);
  raw.z = 1;
  raw.c = static_cast<uint16_t>(command.c);
  raw.input_circular_offset = command.hwc ? kYMajor : 0;
  raw.output_mode = command.eltwise_add ? 1 : 0;
  for (size_t i = 0; i < command.runs.size() && i < kMaxRuns; ++i) {
    fill_run(command.runs[i], &raw.run[i]);
  }
  return raw;
}

}  // namespace dvnn::device
