// SPDX-License-Identifier: Apache-2.0
// Device commands with named fields. device.cpp alone turns them into the driver's structures.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/packing.h"

namespace dvnn::device {

enum class ConvKind : uint8_t {
  kNone = 0,
  kConv = 1,
  kDepthwise = 3,
  kDeconv = 5,
  kDepthwiseDeconv = 7
};
/// Returns whether each output channel is computed from a single input channel.
constexpr bool is_depthwise(ConvKind kind) {
  return kind == ConvKind::kDepthwise || kind == ConvKind::kDepthwiseDeconv;
}
/// Returns whether the run first inserts stride - 1 zeros between the input's samples.
constexpr bool is_deconv(ConvKind kind) {
  return kind == ConvKind::kDeconv || kind == ConvKind::kDepthwiseDeconv;
}
enum class PoolKind : uint8_t { kNone = 0, kMax = 1, kAverage = 2, kUpsample = 4 };
enum class Activation : uint8_t {
  kNone = 0,
  kTanh = 1,
  kRelu = 2,
  kSigmoid = 3,
  kPrelu = 4,
  kElu = 5,
  kRelu6 = 6
};
enum class WeightFormat : uint8_t { kNone = 0, kHalf = 1, kQuantised = 3 };

/// Pixels added at each side.
struct Pad {
  int left = 0, right = 0, top = 0, bottom = 0;
};

/// Horizontal and vertical extent, in pixels.
struct Extent {
  int x = 1, y = 1;
  /// Returns the number of pixels, or of weights.
  size_t area() const { return static_cast<size_t>(x) * static_cast<size_t>(y); }
};

/// One run of a convolution command. A run does either convolution and bias, element-wise addition,
/// max pooling, activation; or average pooling, element-wise addition, activation.
struct ConvRun {
  int m = 0;  // output channels
  ConvKind conv = ConvKind::kNone;
  Extent kernel, stride, dilation;
  Pad conv_pad;
  WeightFormat weight_format = WeightFormat::kNone;
  uint64_t weight_offset = 0;  // bytes into the network's packed weights, a multiple of 16
  PoolKind pool = PoolKind::kNone;
  Extent pool_size, pool_stride;
  Pad pool_pad;
  float pool_scale = 1.0f;  // average pooling multiplies the window's sum by this
  Activation activation = Activation::kNone;
  float activation_param = 0.0f;  // kRelu: slope of the negative side

  size_t outputs() const { return static_cast<size_t>(m); }
};

constexpr size_t kMaxRuns = 32;  // in a command

/// A convolution command: a w x h x c input and one or more runs.
struct ConvCommand {
  int w = 0, h = 0, c = 0;
  uint32_t topo = 1;         // bit i: run i writes to external memory; else to the unified buffer
  bool hwc = false;          // buffers are kHwc8 (weights packed transposed); else kWhc8
  bool eltwise_add = false;  // adds the eltwise buffer, of the pre-pool output's size
  std::vector<ConvRun> runs;
};

/// Width, height and channels of a tensor, or of a run's result.
struct Dims {
  int w = 0, h = 0, c = 0;
};
Dims conv_output(const ConvRun& run, Dims in);  // after the convolution, before pooling
Dims run_output(const ConvRun& run, Dims in);   // after pooling

/// Returns whether run `run` writes to memory, according to the command's `topo`.
constexpr bool writes_memory(uint32_t topo, size_t run) {
  return topo >> run & 1;
}

/// Walks through a command run by run. The first run reads the command's input, and so does each
/// run after one that writes to memory; the others read the result of the run before them.
class RunWalk {
 public:
  RunWalk(Dims input, uint32_t topo) : input_(input), in_(input), topo_(topo) {}
  size_t index() const { return index_; }
  /// Returns the size of the tensor that the run at index() reads.
  Dims in() const { return in_; }
  bool reads_memory() const { return index_ == 0 || device::writes_memory(topo_, index_ - 1); }
  bool writes_memory() const { return device::writes_memory(topo_, index_); }
  /// Moves on to the next run; `run` is the one at index().
  void pass(const ConvRun& run) {
    in_ = writes_memory() ? input_ : run_output(run, in_);
    ++index_;
  }

 private:
  Dims input_, in_;
  uint32_t topo_;
  size_t index_ = 0;
};

/// Calls visit(run, walk) for each run of a command, whose sizes must be valid.
template <typename Visit>
void for_each_run(const ConvCommand& command, Visit visit) {
  RunWalk walk({command.w, command.h, command.c}, command.topo);
  for (const ConvRun& run : command.runs) {
    visit(run, walk);
    walk.pass(run);
  }
}

/// Returns the geometry of a run's packed weights, if the run reads `input_channels` channels.
PackedGeometry run_geometry(const ConvRun& run, int input_channels);

}  // namespace dvnn::device
