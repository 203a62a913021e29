// SPDX-License-Identifier: Apache-2.0
// Seeded random convolution commands with their weights. Sizes, channels, kernels and pads often
// have their smallest and largest values, and values around multiples of the chunks of 8 channels
// and of the 16 lanes of a vector.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "device/device.h"
#include "tensor/packing.h"
#include "tensor/tensor.h"

namespace dvnn::test {

class Randomness {
 public:
  explicit Randomness(unsigned seed) : engine_(seed) {}
  int between(int low, int high) {
    // Unsigned, because the number of values from 0 to the largest int exceeds an int.
    const unsigned first = static_cast<unsigned>(low);
    const unsigned count = static_cast<unsigned>(high) - first + 1;
    return static_cast<int>(first + static_cast<unsigned>(engine_() % count));
  }
  bool chance(int one_in) { return between(1, one_in) == 1; }
  /// Like between(), but returns each end one time in six.
  int edgy(int low, int high) {
    const int die = between(1, 6);
    return die == 1 ? low : die == 2 ? high : between(low, high);
  }
  int channels() {
    static constexpr int kEdges[] = {1, 7, 8, 9, 15, 16, 17, 24, 32, 33};
    return chance(2) ? kEdges[between(0, 9)] : between(1, 37);
  }
  /// Returns a value that binary16 holds exactly.
  float value(float scale) {
    return half_to_float(float_to_half(scale * (static_cast<float>(between(-1000, 1000)) / 1000)));
  }

 private:
  std::mt19937 engine_;
};

/// A run with its weights' values, and the table and indices that they are packed from.
struct RunCase {
  device::ConvRun run;
  std::vector<float> weights, bias, slopes;  // weights: (m, c or 1, ky, kx)
  std::vector<half_t> table;                 // quantised
  std::vector<uint8_t> indices;
};

// Changes a run to a dilated one within the device's limits: odd kernels, stride 1, pads that keep
// the size, no pooling or PReLU.
inline void dilate(Randomness* r, device::ConvRun* run) {
  run->dilation = {r->between(1, 3), r->between(1, 3)};
  run->kernel = {run->kernel.x | 1, run->kernel.y | 1};
  run->stride = {1, 1};
  const int x = run->dilation.x * (run->kernel.x - 1), y = run->dilation.y * (run->kernel.y - 1);
  run->conv_pad.left = r->between(0, x);
  run->conv_pad.right = x - run->conv_pad.left;
  run->conv_pad.top = r->between(0, y);
  run->conv_pad.bottom = y - run->conv_pad.top;
  run->pool = device::PoolKind::kNone;
  if (run->activation == device::Activation::kPrelu) run->activation = device::Activation::kElu;
}

inline device::ConvRun make_run(Randomness* r, device::Dims in) {
  using device::Activation;
  using device::ConvKind;
  using device::PoolKind;
  device::ConvRun run;
  const int kind = r->between(0, 9);
  run.conv = kind < 5   ? ConvKind::kConv
             : kind < 7 ? ConvKind::kDepthwise
             : kind < 8 ? ConvKind::kDeconv
             : kind < 9 ? ConvKind::kDepthwiseDeconv
                        : ConvKind::kNone;
  const bool dense = run.conv == ConvKind::kConv || run.conv == ConvKind::kDeconv;
  run.m = dense ? r->channels() : in.c;
  run.activation = static_cast<Activation>(r->between(0, 6));
  run.activation_param = r->chance(2) ? 0 : r->value(0.5f);
  if (run.conv != ConvKind::kNone) {
    run.kernel.x = r->edgy(1, 7);
    run.kernel.y = r->chance(2) ? run.kernel.x : r->edgy(1, 7);
    run.stride = {r->between(1, 3), r->between(1, 3)};
    run.conv_pad = {r->edgy(0, run.kernel.x), r->edgy(0, run.kernel.x), r->edgy(0, run.kernel.y),
                    r->edgy(0, run.kernel.y)};
    run.weight_format = run.activation != Activation::kPrelu && r->chance(4)
                            ? device::WeightFormat::kQuantised
                            : device::WeightFormat::kHalf;
    if (r->chance(4)) {
      run.pool = PoolKind::kMax;
      run.pool_size = {r->between(2, 3), r->between(1, 3)};
    }
  } else {
    if (run.activation == Activation::kPrelu) run.activation = Activation::kRelu;
    run.pool = static_cast<PoolKind>(r->between(0, 2) == 2 ? 4 : r->between(1, 2));
    const int limit = run.pool == PoolKind::kMax ? 3 : 7;
    run.pool_size = {r->edgy(2, limit), r->edgy(1, limit)};
    run.pool_scale = run.pool == PoolKind::kAverage
                         ? half_to_float(float_to_half(
                               1.0f / static_cast<float>(run.pool_size.x * run.pool_size.y)))
                         : 1;
  }
  if (run.conv == ConvKind::kConv && r->chance(6)) dilate(r, &run);
  run.pool_stride = {r->between(1, 3), r->between(1, 3)};
  run.pool_pad = {r->edgy(0, run.pool_size.x - 1), r->edgy(0, run.pool_size.x - 1),
                  r->edgy(0, run.pool_size.y - 1), r->edgy(0, run.pool_size.y - 1)};
  const device::Pad& pad = run.pool_pad;
  if (run.conv != ConvKind::kNone && (run.pool_size.x > pad.left + in.w + pad.right ||
                                      run.pool_size.y > pad.top + in.h + pad.bottom)) {
    run.pool = PoolKind::kNone;  // refused: the window is checked against the convolution's input
  }
  return run;
}

/// Makes zeros of all weights of some of a run's input channels, as pruned networks and shuffled
/// halves have them: whole chunks, halves of chunks, scattered channels, or all.
inline void clear_channels(Randomness* r, int channels, RunCase* c) {
  const int sizes[] = {8, 4, 1, channels};
  const int size = sizes[r->between(0, 3)];
  const size_t taps = c->run.kernel.area(), all = static_cast<size_t>(channels);
  for (int first = 0; first < channels; first += size) {
    if (size < channels && r->chance(2)) continue;
    const size_t begin = static_cast<size_t>(first);
    const size_t end = static_cast<size_t>(std::min(first + size, channels));
    for (size_t m = 0; m < c->run.outputs(); ++m) {
      const size_t from = (m * all + begin) * taps, to = (m * all + end) * taps;
      for (size_t i = from; i < to; ++i) {
        c->weights[i] = r->chance(2) ? 0.0f : -0.0f;
        c->indices[i] = 0;  // the table's zero
      }
    }
  }
}

/// Returns `run` with random weights.
inline RunCase with_weights(Randomness* r, const device::ConvRun& run, device::Dims in) {
  RunCase c;
  c.run = run;
  const bool quantised = c.run.weight_format == device::WeightFormat::kQuantised;
  const int channels = device::is_depthwise(c.run.conv) ? 1 : in.c;
  const size_t count = static_cast<size_t>(c.run.m * channels * c.run.kernel.x * c.run.kernel.y);
  for (int i = 0; i < 256; ++i) c.table.push_back(float_to_half(i == 0 ? 0.0f : r->value(1)));
  for (size_t i = 0; i < count; ++i) {
    c.indices.push_back(static_cast<uint8_t>(r->between(0, 255)));
    c.weights.push_back(quantised ? half_to_float(c.table[c.indices.back()]) : r->value(1));
  }
  if (!device::is_depthwise(c.run.conv) && r->chance(3)) clear_channels(r, channels, &c);
  for (int i = 0; i < c.run.m; ++i) {
    c.bias.push_back(r->value(2));
    c.slopes.push_back(r->value(1));
  }
  return c;
}

inline RunCase make_run_case(Randomness* r, device::Dims in) {
  return with_weights(r, make_run(r, in), in);
}

/// Returns the run's weights, packed for the device.
inline std::vector<uint8_t> pack(const RunCase& c, int channels, bool hwc) {
  const device::ConvRun& run = c.run;
  PackedGeometry g = device::run_geometry(run, channels);
  std::vector<half_t> halves(c.weights.size()), bias(c.bias.size()), slopes(c.slopes.size());
  float_to_half(c.weights.data(), halves.data(), halves.size());
  float_to_half(c.bias.data(), bias.data(), bias.size());
  float_to_half(c.slopes.data(), slopes.data(), slopes.size());
  std::vector<uint8_t> indices = c.indices;
  if (hwc) {  // kernels are packed transposed
    const size_t kx = static_cast<size_t>(g.kx), ky = static_cast<size_t>(g.ky);
    const auto halves_in = halves;
    for (size_t k = 0; k < halves.size(); k += kx * ky) {
      for (size_t j = 0; j < ky; ++j) {
        for (size_t i = 0; i < kx; ++i) {
          halves[k + i * ky + j] = halves_in[k + j * kx + i];
          indices[k + i * ky + j] = c.indices[k + j * kx + i];
        }
      }
    }
    std::swap(g.kx, g.ky);
  }
  std::vector<uint8_t> packed(packed_weights_size(g));
  const void* weights = g.quantised ? static_cast<const void*>(indices.data()) : halves.data();
  pack_weights(g, {c.table.data(), weights, bias.data(), g.prelu ? slopes.data() : nullptr},
               packed.data());
  return packed;
}

inline TensorDesc device_desc(bool hwc, device::Dims d) {
  return {ElementType::kFloat16, hwc ? Layout::kHwc8 : Layout::kWhc8, {1, d.c, d.h, d.w}};
}

/// Fills a tensor in `memory` with random values, and returns them in NCHW order.
inline std::vector<float> fill(Randomness* r, device::Memory* memory, const TensorDesc& desc,
                               size_t offset) {
  std::vector<float> values(static_cast<size_t>(desc.shape.elements()));
  for (float& v : values) v = r->value(2);
  write_nchw(values.data(), {desc, memory->data() + offset});
  return values;
}

inline bool is_real(device::Dims d) {
  return d.w >= 1 && d.h >= 1;
}

// A run of three taps along both axes or one, which is computed with fewer products than taps, and
// of the largest values of windows that overlap or not.
inline RunCase make_run_of_three(Randomness* r, device::Dims in) {
  constexpr device::Extent kKernels[] = {{3, 3}, {3, 1}, {1, 3}};
  device::ConvRun run = make_run(r, in);
  run.conv = device::ConvKind::kConv;
  run.m = r->between(14, 70);
  run.kernel = kKernels[r->between(0, 2)];
  run.stride = run.dilation = {1, 1};
  run.conv_pad = {r->between(0, 2), r->between(0, 2), r->between(0, 2), r->between(0, 2)};
  run.weight_format = device::WeightFormat::kHalf;
  if (run.pool != device::PoolKind::kNone) run.pool = device::PoolKind::kMax;
  run.pool_scale = 1;
  run.pool_size = {r->between(2, 3), r->between(2, 3)};
  run.pool_pad = {r->between(0, 1), 0, r->between(0, 1), 0};
  return with_weights(r, run, in);
}

}  // namespace dvnn::test
