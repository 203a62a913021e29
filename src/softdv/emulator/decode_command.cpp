// SPDX-License-Identifier: Apache-2.0
// Raw convolution and fully connected commands -> SoftCommand, with the driver's checks in the
// driver's order.
#include <cerrno>
#include <utility>

#include "softdv/emulator/conv_command.h"

namespace dvnn::softdv {
namespace {

using device::ConvKind;
using device::Dims;
using device::Extent;
using device::Pad;
using device::PoolKind;

constexpr uint16_t kYMajor = 0x8000;
constexpr uint64_t kTableChannels = 3;

Extent low_high(uint16_t v) {
  return {v & 0xff, v >> 8};
}

Pad sides(uint32_t v) {
  return {static_cast<int>(v & 0x7f), static_cast<int>(v >> 8 & 0xff),
          static_cast<int>(v >> 16 & 0x7f), static_cast<int>(v >> 24)};
}

uint64_t bytes_of(Dims d) {
  return uint64_t{2} * static_cast<uint64_t>(d.w) * static_cast<uint64_t>(d.h) *
         static_cast<uint64_t>(d.c);
}

int decode_run(const dmp_dv_cmdraw_conv_v0_run& raw, bool hwc, Dims in, SoftRun* out) {
  device::ConvRun& run = out->run;
  run.m = raw.m;
  run.kernel = low_high(raw.p);
  if (run.kernel.y == 0) run.kernel.y = run.kernel.x;
  run.stride = low_high(raw.conv_stride);
  run.dilation = low_high(raw.conv_dilation);
  if (run.dilation.x == 0) run.dilation.x = 1;
  if (run.dilation.y == 0) run.dilation.y = 1;
  run.conv_pad = sides(raw.conv_pad);
  run.pool_pad = sides(raw.pool_pad);
  run.pool_size = low_high(raw.pool_size);
  run.pool_stride = low_high(raw.pool_stride);
  run.pool_scale = half_to_float(raw.pool_avg_param);
  run.activation_param = half_to_float(raw.actfunc_param);
  out->absolute = raw.rectifi_en != 0;
  out->lrn = raw.lrn;
  out->in = in;
  if (raw.conv_enable != 0 && raw.conv_enable != 1 && raw.conv_enable != 3 &&
      raw.conv_enable != 5 && raw.conv_enable != 7) {
    return refuse("conv_enable must be 0, 1, 3, 5 or 7", raw.conv_enable);
  }
  run.conv = static_cast<ConvKind>(raw.conv_enable);
  if (raw.pool_enable > 4 || raw.pool_enable == 3) {
    return refuse("pool_enable must be 0, 1, 2 or 4", raw.pool_enable);
  }
  run.pool = static_cast<PoolKind>(raw.pool_enable);
  if (raw.actfunc > 6) return refuse("actfunc must be 0..6", raw.actfunc);
  run.activation = static_cast<device::Activation>(raw.actfunc);
  if (run.conv != ConvKind::kNone && raw.pz == 0) return refuse("pz must be positive", raw.pz);
  if (run.conv != ConvKind::kNone && raw.pz > 1) {
    return refuse("kernels with depth are not supported, pz", raw.pz);
  }
  if (run.conv != ConvKind::kNone && raw.pool_enable > 1) {
    return refuse("only maximum pooling goes with a convolution, pool_enable", raw.pool_enable);
  }
  if (run.conv == ConvKind::kNone && run.pool == PoolKind::kNone && raw.actfunc == 0 &&
      !(raw.lrn & 1)) {
    return refuse("the run has no operation, conv_enable", raw.conv_enable);
  }
  if (run.kernel.x < 1 || run.kernel.x > device::kMaxKernel || run.kernel.y < 1 ||
      run.kernel.y > device::kMaxKernel) {
    return refuse("kernel size must be 1..7, p", raw.p);
  }
  if (run.conv != ConvKind::kNone) {
    if (run.stride.x < 1 || run.stride.y < 1) return refuse("conv_stride is 0", raw.conv_stride);
    const bool depthwise = device::is_depthwise(run.conv);
    if (depthwise && raw.m != in.c) return refuse("depthwise needs m equal to c, m", raw.m);
    if (raw.m == 0) return refuse("m must be positive", raw.m);
    if (raw.weight_fmt > 3 || raw.weight_fmt == 2) {
      return refuse("weight_fmt must be 0, 1 or 3", raw.weight_fmt);
    }
    const bool quantised = raw.weight_fmt == 3;
    const bool prelu = run.activation == device::Activation::kPrelu;
    if (quantised && prelu) return refuse("PReLU does not go with quantised weights, actfunc", 4);
    run.weight_format = quantised ? device::WeightFormat::kQuantised : device::WeightFormat::kHalf;
    out->geometry = device::run_geometry(run, in.c);
    // The packer transposed the kernels for kHwc8 tensors.
    if (hwc) std::swap(out->geometry.kx, out->geometry.ky);
  } else if (run.activation == device::Activation::kPrelu) {
    return refuse("PReLU needs a convolution, actfunc", raw.actfunc);
  }
  if (run.pool == PoolKind::kMax || run.pool == PoolKind::kAverage) {
    const bool max = run.pool == PoolKind::kMax;
    const int limit = max ? device::kMaxMaximumWindow : device::kMaxAverageWindow;
    if (run.pool_size.x < (max ? 2 : 1) || run.pool_size.x > limit || run.pool_size.y < 1 ||
        run.pool_size.y > limit) {
      return refuse("pool_size is outside what the device can do", raw.pool_size);
    }
    if (run.pool_stride.x < 1 || run.pool_stride.y < 1) {
      return refuse("pool_stride is 0", raw.pool_stride);
    }
  }
  // The driver checks a fused pooling's window against the convolution's input, not its result.
  if (run.pool == PoolKind::kMax || run.pool == PoolKind::kAverage) {
    const Pad& pad = run.pool_pad;
    if (run.pool_size.x > pad.left + in.w + pad.right ||
        run.pool_size.y > pad.top + in.h + pad.bottom) {
      return refuse("the pooling window exceeds the padded input, pool_size", raw.pool_size);
    }
  }
  if ((raw.lrn & 1) && (run.conv != ConvKind::kNone || run.pool != PoolKind::kNone || in.c % 16)) {
    return refuse("LRN stands alone and needs c to be a multiple of 16, c", in.c);
  }
  if (run.conv != ConvKind::kNone) {
    if (const char* problem = device::dilation_problem(run, in)) {
      return refuse(problem, raw.conv_dilation);
    }
  }
  out->conv = device::conv_output(run, in);
  out->out = device::run_output(run, in);
  for (const Dims& d : {out->conv, out->out}) {
    if (d.w < 1 || d.h < 1 || d.w > 0xffff || d.h > 0xffff) {
      return refuse("the window exceeds the padded input, or the output is too large, width", d.w);
    }
  }
  if (run.conv != ConvKind::kNone) {
    return check_buffer(raw.weight_buf, packed_weights_size(out->geometry), 2, "weight_buf",
                        &out->weights);
  }
  return 0;
}

// `element` is the size of an input element: 2, or 1 where bytes are looked up.
int decode_conv(const dmp_dv_cmdraw_conv_v0& raw, uint64_t element, SoftCommand* out) {
  if (raw.header.size != sizeof raw) return refuse("header.size", raw.header.size);
  if (!raw.input_buf.mem || !raw.output_buf.mem) return refuse("input or output memory is NULL", 0);
  if (raw.topo == 0) return refuse("topo must not be 0", raw.topo);
  if (raw.z != 1) return refuse("only z = 1 is supported", raw.z);
  out->in = {raw.w, raw.h, raw.c};
  if (raw.w == 0 || raw.h == 0 || raw.c == 0) return refuse("w, h and c must be positive", 0);
  out->hwc = raw.input_circular_offset & kYMajor;
  out->batch = raw.input_circular_offset & (kYMajor - 1);
  if (out->batch == 0) out->batch = 1;
  out->eltwise_add = raw.output_mode == 1;
  if (raw.output_mode > 1) return refuse("output_mode must be 0 or 1", raw.output_mode);
  uint64_t output = 0, operand = 0;
  device::RunWalk walk(out->in, raw.topo);
  const int runs = 32 - __builtin_clz(raw.topo);
  for (int i = 0; i < runs; ++i) {
    SoftRun run;
    if (const int rc = decode_run(raw.run[i], out->hwc, walk.in(), &run); rc != 0) return rc;
    run.external = walk.writes_memory();
    const bool lrn = run.lrn & 1;
    if (raw.topo != 1 && (run.geometry.dilated || lrn)) {
      return refuse("dilation and LRN need topo 1, topo", raw.topo);
    }
    const int tiles = device::count_tiles(run.run, walk.in(), lrn, kUnifiedBufferBytes);
    if (tiles < 1 || (!run.external && tiles > 1)) {
      set_error("Unified buffer of %d bytes is too small for run %d: %d x %d x %d needs %d tiles",
                kUnifiedBufferBytes, i, walk.in().w, walk.in().h, walk.in().c, tiles);
      return -1;
    }
    if (run.external) {
      output += bytes_of(run.out);
      operand += bytes_of(run.run.pool == PoolKind::kAverage ? run.out : run.conv);
    }
    walk.pass(run.run);
    out->runs.push_back(run);
  }
  if (raw.topo != 1) {
    std::vector<device::ConvRun> all;
    for (const SoftRun& run : out->runs) all.push_back(run.run);
    const int64_t use = device::unified_buffer_use(all, raw.topo, out->in);
    if (use > kUnifiedBufferBytes) return refuse("unified buffer is too small, needed are", use);
  }
  const uint64_t batch = static_cast<uint64_t>(out->batch);
  if (const int rc =
          check_buffer(raw.input_buf, bytes_of(out->in) / sizeof(half_t) * element * batch, 2,
                       "input_buf", &out->input)) {
    return rc;
  }
  if (const int rc = check_buffer(raw.output_buf, output * batch, 2, "output_buf", &out->output)) {
    return rc;
  }
  if (!out->eltwise_add) return 0;
  return check_buffer(raw.eltwise_buf, operand * batch, 2, "eltwise_buf", &out->eltwise);
}

// A fully connected command is a 1x1 convolution of one pixel whose weights have another order.
int decode_fc(const dmp_dv_cmdraw_fc_v0& raw, SoftCommand* out) {
  using device::Activation;
  static constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu,
                                                Activation::kTanh, Activation::kRelu,
                                                Activation::kSigmoid};
  if (raw.header.size != sizeof raw) return refuse("header.size", raw.header.size);
  if (raw.input_size < 1 || raw.input_size > kMaxFcVectorSize || raw.output_size < 1 ||
      raw.output_size > kMaxFcVectorSize) {
    return refuse("input_size and output_size must be 1..16384, input_size", raw.input_size);
  }
  if (raw.weight_fmt > 1) return refuse("weight_fmt must be 0 or 1", raw.weight_fmt);
  if (raw.actfunc > 4) {
    set_error("actfunc %u is not available for fully connected commands", raw.actfunc);
    return ENOTSUP;
  }
  SoftRun run;
  run.external = true;
  run.fully_connected = true;
  run.in = {1, 1, raw.input_size};
  run.run.conv = ConvKind::kConv;
  run.run.m = raw.output_size;
  run.run.activation = kActivations[raw.actfunc];
  run.run.activation_param = half_to_float(raw.actfunc_param);
  run.conv = run.out = {1, 1, raw.output_size};
  run.geometry = {raw.output_size, raw.input_size, 1, 1, raw.weight_fmt == 1, false, false};
  out->in = run.in;
  if (const int rc = check_buffer(raw.weight_buf, packed_fc_size(run.geometry), 2, "weight_buf",
                                  &run.weights)) {
    return rc;
  }
  if (const int rc = check_buffer(raw.input_buf, bytes_of(run.in), 2, "input_buf", &out->input)) {
    return rc;
  }
  if (const int rc =
          check_buffer(raw.output_buf, bytes_of(run.out), 2, "output_buf", &out->output)) {
    return rc;
  }
  out->runs.push_back(run);
  return 0;
}

void keep(const Bytes& bytes, Accepted* accepted) {
  if (bytes.mem) accepted->memories.push_back(bytes.mem);
}

int accept(SoftCommand command, Accepted* accepted) {
  keep(command.input, accepted);
  keep(command.output, accepted);
  keep(command.eltwise, accepted);
  keep(command.table, accepted);
  for (const SoftRun& run : command.runs) keep(run.weights, accepted);
  accepted->plan = make_conv_plan(std::move(command));
  return 0;
}

}  // namespace

int accept_conv(const dmp_dv_cmdraw* raw, Accepted* accepted) {
  SoftCommand command;
  if (raw->version == 0) {
    const int rc =
        decode_conv(*reinterpret_cast<const dmp_dv_cmdraw_conv_v0*>(raw), sizeof(half_t), &command);
    return rc ? rc : accept(std::move(command), accepted);
  }
  const auto& v1 = *reinterpret_cast<const dmp_dv_cmdraw_conv_v1*>(raw);
  if (raw->size != sizeof v1) return refuse("header.size", raw->size);
  const bool bytes = v1.u8tofp16_table.mem != nullptr;
  if (const int rc = decode_conv(v1.conv_cmd, bytes ? 1 : sizeof(half_t), &command)) return rc;
  if (bytes) {
    // Three rows of the table: one per channel of a picture.
    if (command.in.c != 3) return refuse("8-bit input has 3 channels, c", command.in.c);
    if (const int rc = check_buffer(v1.u8tofp16_table, kTableChannels * 256 * sizeof(half_t), 2,
                                    "u8tofp16_table", &command.table)) {
      return rc;
    }
    command.to_bgr = v1.to_bgr & 1;
  }
  return accept(std::move(command), accepted);
}

int accept_fc(const dmp_dv_cmdraw* raw, Accepted* accepted) {
  SoftCommand command;
  const int rc = decode_fc(*reinterpret_cast<const dmp_dv_cmdraw_fc_v0*>(raw), &command);
  return rc ? rc : accept(std::move(command), accepted);
}

}  // namespace dvnn::softdv
