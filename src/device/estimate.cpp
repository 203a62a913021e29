// SPDX-License-Identifier: Apache-2.0
#include "device/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/format.h"
#include "base/nth.h"
#include "tensor/packing.h"

namespace dvnn::device {
namespace {

double ceil_div(double a, double b) {
  return std::ceil(a / b);
}

double bytes_of(Dims d) {
  return sizeof(half_t) * static_cast<double>(d.w) * d.h * d.c;
}

// Returns how many blocks of 72 weights make up a kernel over `channels` input channels.
double blocks_per_kernel(const ConvRun& run, int channels) {
  if (run.dilation.x > 1 || run.dilation.y > 1) {
    return run.kernel.x * run.kernel.y * ceil_div(channels, 64);
  }
  switch (std::max(run.kernel.x, run.kernel.y) | 1) {
    case 1:
      return ceil_div(channels, 64);
    case 3:
      return ceil_div(channels, 8);
    case 5:
      return ceil_div(channels, 2);
    default:
      return channels;
  }
}

double run_clocks(const ConvRun& run, Dims in, const Hardware& hardware) {
  constexpr double kValuesPerClock = 8;
  if (run.conv == ConvKind::kNone) {
    return static_cast<double>(in.w) * in.h * ceil_div(in.c, kValuesPerClock);
  }
  const Dims conv = conv_output(run, in);
  const double units = std::max(1, hardware.macs / kUnitMacs);
  return static_cast<double>(conv.w) * conv.h * ceil_div(run.m, units) *
         blocks_per_kernel(run, is_depthwise(run.conv) ? 1 : in.c);
}

double weight_bytes(const ConvRun& run, Dims in) {
  return run.conv == ConvKind::kNone
             ? 0
             : static_cast<double>(packed_weights_size(run_geometry(run, in.c)));
}

// Returns how many columns the tiles of a convolution read twice.
double shared_columns(const ConvRun& run, int tiles) {
  const int window = (run.kernel.x - 1) * run.dilation.x + 1;
  return (tiles - 1) * std::max(0, run.conv == ConvKind::kNone ? 0 : window - run.stride.x);
}

}  // namespace

const char* to_string(CommandKind kind) {
  constexpr const char* kNames[kCommandKinds] = {"transposed", "depthwise", "convolution",
                                                 "pooling"};
  return nth(kNames, static_cast<int>(kind));
}

CommandKind kind_of(const ConvCommand& command) {
  const auto any = [&](auto fits) {
    return std::any_of(command.runs.begin(), command.runs.end(), fits);
  };
  if (any([](const ConvRun& run) { return is_deconv(run.conv); })) {
    return CommandKind::kTransposed;
  }
  if (any([](const ConvRun& run) { return is_depthwise(run.conv); })) {
    return CommandKind::kDepthwise;
  }
  const bool convolves = any([](const ConvRun& run) { return run.conv != ConvKind::kNone; });
  return convolves ? CommandKind::kConvolution : CommandKind::kPooling;
}

Result<Hardware> parse_hardware(const std::string& text) {
  Hardware hardware;
  const struct {
    const char* name;
    double low, high;
    double* real;
    int* whole;
  } parts[] = {{"clock", 1, 10000, &hardware.clock_mhz, nullptr},
               {"macs", kUnitMacs, 1 << 20, nullptr, &hardware.macs},
               {"bus", 0.001, 1 << 16, &hardware.bus_bytes, nullptr},
               {"ub", 1024, 1 << 30, nullptr, &hardware.ub_bytes},
               {"command", 0, 1e6, &hardware.command_us, nullptr},
               {"cpu", 1, 1e6, &hardware.cpu_mops, nullptr}};
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = std::min(part.find('='), part.size());
    const auto* known = std::find_if(std::begin(parts), std::end(parts), [&](const auto& p) {
      return part.compare(0, equals, p.name) == 0;
    });
    char* rest = nullptr;
    const char* number = part.c_str() + std::min(equals + 1, part.size());
    const double value = std::strtod(number, &rest);
    if (known == std::end(parts) || rest == number || *rest != '\0') {
      return invalid_argument(
          "'" + part +
          "' is none of clock=MHZ, macs=N, bus=BYTES, ub=BYTES, command=US, cpu=MILLIONS");
    }
    if (!(value >= known->low && value <= known->high)) {
      return invalid_argument(
          format("%s must be %g..%g, not %s", known->name, known->low, known->high, number));
    }
    if (known->real) *known->real = value;
    if (known->whole) *known->whole = static_cast<int>(value);
  }
  return hardware;
}

Estimate estimate(const ConvCommand& command, const Hardware& hardware) {
  Estimate total;
  for_each_run(command, [&](const ConvRun& run, const RunWalk& walk) {
    const Dims in = walk.in(), conv = conv_output(run, in), out = run_output(run, in);
    const int tiles = std::max(1, count_tiles(run, in, false, hardware.ub_bytes));
    total.tiles = std::max(total.tiles, tiles);
    total.clocks += run_clocks(run, in, hardware);
    total.bus_bytes += tiles * weight_bytes(run, in);
    if (walk.reads_memory())
      total.bus_bytes += bytes_of(in) / in.w * (in.w + shared_columns(run, tiles));
    if (walk.writes_memory()) {
      total.bus_bytes += bytes_of(out);
      if (command.eltwise_add)
        total.bus_bytes += bytes_of(run.pool == PoolKind::kAverage ? out : conv);
    }
  });
  const double moving = total.bus_bytes / hardware.bus_bytes;
  total.waits_for_memory = moving > total.clocks;
  const double factor = nth(hardware.factors, static_cast<int>(kind_of(command)));
  total.microseconds =
      factor * std::max(moving, total.clocks) / hardware.clock_mhz + hardware.command_us;
  return total;
}

}  // namespace dvnn::device
