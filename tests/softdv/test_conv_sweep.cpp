// SPDX-License-Identifier: Apache-2.0
// Seeded random convolution commands against a plain scalar reference.
//
// Tolerance: the device rounds each result once to binary16, so it may differ from the reference by
// half a unit in the last place of 11 bits, 2^-11 relative (2^-25 absolute below 2^-14), plus what
// FP32 sums in another order differ by: at most n * 2^-24 * sum|w x| for n products.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "check_main.h"
#include "device/device.h"
#include "tensor/packing.h"
#include "tensor/tensor.h"

using namespace dvnn;
using namespace dvnn::device;

namespace {

struct Case {
  ConvCommand command;
  std::vector<float> weights, bias, slopes;  // of the only run
  std::vector<half_t> table;                 // quantised
  std::vector<uint8_t> indices;
};

class Randomness {
 public:
  explicit Randomness(unsigned seed) : engine_(seed) {}
  int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1));
  }
  bool chance(int one_in) { return between(1, one_in) == 1; }
  // A value that binary16 holds exactly.
  float value(float scale) {
    return half_to_float(float_to_half(scale * (static_cast<float>(between(-1000, 1000)) / 1000)));
  }

 private:
  std::mt19937 engine_;
};

// What the device dilates: odd kernels, stride 1 here, pads that keep the size, no pooling or
// PReLU.
void dilate(Randomness* r, ConvRun* run) {
  run->dilation = {r->between(1, 3), r->between(1, 3)};
  run->kernel = {run->kernel.x | 1, run->kernel.y | 1};
  run->stride = {1, 1};
  const int x = run->dilation.x * (run->kernel.x - 1), y = run->dilation.y * (run->kernel.y - 1);
  run->conv_pad.left = r->between(0, x);
  run->conv_pad.right = x - run->conv_pad.left;
  run->conv_pad.top = r->between(0, y);
  run->conv_pad.bottom = y - run->conv_pad.top;
  run->pool = PoolKind::kNone;
  if (run->activation == Activation::kPrelu) run->activation = Activation::kElu;
}

Case make_case(Randomness* r) {
  Case c;
  ConvCommand& cmd = c.command;
  cmd.hwc = r->chance(3);
  cmd.w = r->between(1, 23);
  cmd.h = r->between(1, 23);
  cmd.c = r->chance(3) ? r->between(1, 3) * 8 : r->between(1, 37);
  ConvRun run;
  const int kind = r->between(0, 9);
  run.conv = kind < 6   ? ConvKind::kConv
             : kind < 8 ? ConvKind::kDepthwise
             : kind < 9 ? ConvKind::kDeconv
                        : ConvKind::kNone;
  run.m = run.conv == ConvKind::kConv || run.conv == ConvKind::kDeconv ? r->between(1, 37) : cmd.c;
  run.activation = static_cast<Activation>(r->between(0, 6));
  run.activation_param = r->chance(2) ? 0 : r->value(0.5f);
  if (run.conv != ConvKind::kNone) {
    const bool square = r->chance(2);
    run.kernel.x = r->between(1, 7);
    run.kernel.y = square ? run.kernel.x : r->between(1, 7);
    run.stride = {r->between(1, 3), r->between(1, 3)};
    run.conv_pad = {r->between(0, run.kernel.x), r->between(0, run.kernel.x),
                    r->between(0, run.kernel.y), r->between(0, run.kernel.y)};
    run.weight_format = run.activation != Activation::kPrelu && r->chance(4)
                            ? WeightFormat::kQuantised
                            : WeightFormat::kHalf;
    if (r->chance(4)) {
      run.pool = PoolKind::kMax;
      run.pool_size = {r->between(2, 3), r->between(1, 3)};
    }
  } else {
    if (run.activation == Activation::kPrelu) run.activation = Activation::kRelu;
    run.pool = static_cast<PoolKind>(r->between(0, 2) == 2 ? 4 : r->between(1, 2));
    const int limit = run.pool == PoolKind::kMax ? 3 : 7;
    run.pool_size = {r->between(2, limit), r->between(1, limit)};
    run.pool_scale = run.pool == PoolKind::kAverage
                         ? half_to_float(float_to_half(
                               1.0f / static_cast<float>(run.pool_size.x * run.pool_size.y)))
                         : 1;
  }
  if (run.conv == ConvKind::kConv && r->chance(6)) dilate(r, &run);
  run.pool_stride = {r->between(1, 3), r->between(1, 3)};
  run.pool_pad = {r->between(0, run.pool_size.x - 1), r->between(0, run.pool_size.x - 1),
                  r->between(0, run.pool_size.y - 1), r->between(0, run.pool_size.y - 1)};
  const Pad& pad = run.pool_pad;
  if (run.conv != ConvKind::kNone && (run.pool_size.x > pad.left + cmd.w + pad.right ||
                                      run.pool_size.y > pad.top + cmd.h + pad.bottom)) {
    run.pool = PoolKind::kNone;  // refused: the window is held against the convolution's input
  }
  cmd.eltwise_add = run.pool != PoolKind::kUpsample && r->chance(4);
  cmd.runs = {run};
  const bool depthwise = run.conv == ConvKind::kDepthwise;
  const size_t count =
      static_cast<size_t>(run.m * (depthwise ? 1 : cmd.c) * run.kernel.x * run.kernel.y);
  for (int i = 0; i < 256; ++i) c.table.push_back(float_to_half(i == 0 ? 0.0f : r->value(1)));
  for (size_t i = 0; i < count; ++i) {
    c.indices.push_back(static_cast<uint8_t>(r->between(0, 255)));
    c.weights.push_back(run.weight_format == WeightFormat::kQuantised
                            ? half_to_float(c.table[c.indices.back()])
                            : r->value(1));
  }
  for (int i = 0; i < run.m; ++i) {
    c.bias.push_back(r->value(2));
    c.slopes.push_back(r->value(1));
  }
  return c;
}

// A result and how far a right answer may be from it.
struct Expected {
  double value = 0, slack = 0;
};

using Plane = std::vector<Expected>;  // (c, h, w)

size_t at(Dims d, int c, int y, int x) {
  return (static_cast<size_t>(c) * static_cast<size_t>(d.h) + static_cast<size_t>(y)) *
             static_cast<size_t>(d.w) +
         static_cast<size_t>(x);
}

Plane convolve(const Case& c, const std::vector<float>& in, Dims out) {
  const ConvRun& run = c.command.runs[0];
  const Dims d = {c.command.w, c.command.h, c.command.c};
  const bool depthwise = static_cast<int>(run.conv) & 2, deconv = static_cast<int>(run.conv) & 4;
  const Extent step = deconv ? Extent{1, 1} : run.stride;
  const Extent gap = deconv ? run.stride : Extent{1, 1};
  Plane result(static_cast<size_t>(out.w * out.h * out.c));
  for (int m = 0; m < out.c; ++m) {
    for (int y = 0; y < out.h; ++y) {
      for (int x = 0; x < out.w; ++x) {
        double sum = c.bias[static_cast<size_t>(m)], size = std::fabs(sum);
        int products = 1;
        for (int k = 0; k < (depthwise ? 1 : d.c); ++k) {
          for (int j = 0; j < run.kernel.y; ++j) {
            for (int i = 0; i < run.kernel.x; ++i) {
              const int sx = x * step.x + i * run.dilation.x - run.conv_pad.left;
              const int sy = y * step.y + j * run.dilation.y - run.conv_pad.top;
              if (sx < 0 || sy < 0 || sx % gap.x || sy % gap.y || sx / gap.x >= d.w ||
                  sy / gap.y >= d.h) {
                continue;
              }
              const size_t w = static_cast<size_t>(
                  ((m * (depthwise ? 1 : d.c) + k) * run.kernel.y + j) * run.kernel.x + i);
              const double product =
                  double{c.weights[w]} * in[at(d, depthwise ? m : k, sy / gap.y, sx / gap.x)];
              sum += product;
              size += std::fabs(product);
              ++products;
            }
          }
        }
        result[at(out, m, y, x)] = {sum, products * size * std::ldexp(1.0, -24)};
      }
    }
  }
  return result;
}

Plane pool(const ConvRun& run, const Plane& in, Dims d, Dims out) {
  Plane result(static_cast<size_t>(out.w * out.h * out.c));
  for (int c = 0; c < out.c; ++c) {
    for (int y = 0; y < out.h; ++y) {
      for (int x = 0; x < out.w; ++x) {
        Expected& r = result[at(out, c, y, x)];
        if (run.pool == PoolKind::kUpsample) {
          r = in[at(d, c, y / 2, x / 2)];
          continue;
        }
        const bool max = run.pool == PoolKind::kMax;
        r = {max ? -INFINITY : 0.0, 0};
        double size = 0;
        for (int j = 0; j < run.pool_size.y; ++j) {
          for (int i = 0; i < run.pool_size.x; ++i) {
            const int sx = x * run.pool_stride.x + i - run.pool_pad.left;
            const int sy = y * run.pool_stride.y + j - run.pool_pad.top;
            if (sx < 0 || sy < 0 || sx >= d.w || sy >= d.h) continue;
            const Expected& v = in[at(d, c, sy, sx)];
            r.value = max ? std::max(r.value, v.value) : r.value + v.value;
            r.slack = std::max(r.slack, v.slack);
            size += std::fabs(v.value);
          }
        }
        if (!max) {
          r.value *= run.pool_scale;
          r.slack = (size * 64 * std::ldexp(1.0, -24) + r.slack) * std::fabs(run.pool_scale);
        }
      }
    }
  }
  return result;
}

double activate(const ConvRun& run, double x, float slope) {
  switch (run.activation) {
    case Activation::kNone:
      return x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return x > 0 ? x : x * run.activation_param;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kPrelu:
      return x > 0 ? x : x * slope;
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kRelu6:
      return std::min(std::max(x, 0.0), 6.0);
  }
  return x;
}

void add(Plane* plane, const std::vector<float>& operand) {
  for (size_t i = 0; i < plane->size(); ++i) {
    (*plane)[i].value += operand[i];
    (*plane)[i].slack += std::fabs((*plane)[i].value) * std::ldexp(1.0, -23);
  }
}

TensorDesc device_desc(bool hwc, Dims d) {
  return {ElementType::kFloat16, hwc ? Layout::kHwc8 : Layout::kWhc8, {1, d.c, d.h, d.w}};
}

std::vector<float> fill(Randomness* r, Memory* memory, const TensorDesc& desc, size_t offset) {
  std::vector<float> values(static_cast<size_t>(desc.shape.elements()));
  for (float& v : values) v = r->value(2);
  write_nchw(values.data(), {desc, memory->data() + offset});
  return values;
}

std::vector<uint8_t> pack(const Case& c) {
  const ConvRun& run = c.command.runs[0];
  const bool depthwise = run.conv == ConvKind::kDepthwise;
  PackedGeometry g = {run.m,
                      depthwise ? 1 : c.command.c,
                      run.kernel.x,
                      run.kernel.y,
                      run.weight_format == WeightFormat::kQuantised,
                      run.activation == Activation::kPrelu,
                      run.dilation.x > 1 || run.dilation.y > 1};
  std::vector<half_t> halves(c.weights.size()), bias(c.bias.size()), slopes(c.slopes.size());
  float_to_half(c.weights.data(), halves.data(), halves.size());
  float_to_half(c.bias.data(), bias.data(), bias.size());
  float_to_half(c.slopes.data(), slopes.data(), slopes.size());
  std::vector<uint8_t> indices = c.indices;
  if (c.command.hwc) {  // kernels are packed transposed
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

// Runs one case; false if its sizes make no output.
bool check_case(Device* device, Randomness* r, int number) {
  const Case c = make_case(r);
  const ConvRun& run = c.command.runs[0];
  const Dims in = {c.command.w, c.command.h, c.command.c};
  const Dims conv = conv_output(run, in), out = run_output(run, in);
  if (conv.w < 1 || conv.h < 1 || out.w < 1 || out.h < 1) return false;
  const bool add_first = run.pool != PoolKind::kAverage;
  const Dims operand_dims = add_first ? conv : out;
  const TensorDesc in_desc = device_desc(c.command.hwc, in);
  const TensorDesc out_desc = device_desc(c.command.hwc, out);
  const TensorDesc operand_desc = device_desc(c.command.hwc, operand_dims);
  constexpr size_t kGuard = 64;
  const size_t in_at = static_cast<size_t>(r->between(0, 20)) * 16;
  auto memory_for = [&](size_t bytes) {
    auto memory = device->allocate(bytes);
    ck_assert_msg(memory.ok(), "%s", memory.ok() ? "" : memory.error().message.c_str());
    return std::move(memory.value());
  };
  Memory input = memory_for(in_at + static_cast<size_t>(in_desc.bytes()));
  Memory operand = memory_for(static_cast<size_t>(operand_desc.bytes()));
  Memory output = memory_for(2 * kGuard + static_cast<size_t>(out_desc.bytes()));
  const std::vector<uint8_t> packed = pack(c);
  Memory weights = memory_for(packed.size());
  std::memcpy(weights.data(), packed.data(), packed.size());
  const std::vector<float> pixels = fill(r, &input, in_desc, in_at);
  const std::vector<float> addend = fill(r, &operand, operand_desc, 0);
  std::memset(output.data(), 0x5a, output.size());
  for (Memory* m : {&input, &operand, &output, &weights}) {
    ck_assert(m->to_device(0, m->size()).ok());
  }

  auto list = device->create_command_list();
  ck_assert(list.ok());
  const Status added =
      list.value().add(c.command, {&input, in_at}, {&output, kGuard},
                       c.command.eltwise_add ? BufferRef{&operand, 0} : BufferRef{}, weights);
  ck_assert_msg(added.ok(), "case %d: %s", number, added.ok() ? "" : added.error().message.c_str());
  ck_assert(list.value().commit().ok());
  const auto id = list.value().exec();
  ck_assert(id.ok());
  ck_assert(list.value().wait(id.value()).ok());

  Plane plane;
  if (run.conv != ConvKind::kNone) {
    plane = convolve(c, pixels, conv);
  } else {
    for (float p : pixels) plane.push_back({p, 0});
  }
  if (c.command.eltwise_add && add_first) add(&plane, addend);
  if (run.pool != PoolKind::kNone) plane = pool(run, plane, conv, out);
  if (c.command.eltwise_add && !add_first) add(&plane, addend);
  std::vector<float> have(static_cast<size_t>(out_desc.shape.elements()));
  read_nchw({out_desc, output.data() + kGuard}, have.data());
  const size_t per_channel = static_cast<size_t>(out.w * out.h);
  for (size_t i = 0; i < have.size(); ++i) {
    const float slope = c.slopes[i / per_channel];
    const double want = activate(run, plane[i].value, slope);
    // Slopes of all activations here are at most 1.
    const double slack = plane[i].slack + std::fabs(want) * std::ldexp(1.0, -11) * 1.001 +
                         std::ldexp(1.0, -25) + 1e-6 * std::fabs(want);
    ck_assert_msg(std::fabs(have[i] - want) <= slack || (std::isinf(want) && std::isinf(have[i])),
                  "case %d (%dx%dx%d m%d k%dx%d kind %d pool %d act %d hwc %d): element %zu is %g, "
                  "not %g +- %g",
                  number, in.w, in.h, in.c, run.m, run.kernel.x, run.kernel.y,
                  static_cast<int>(run.conv), static_cast<int>(run.pool),
                  static_cast<int>(run.activation), c.command.hwc, i, have[i], want, slack);
  }
  for (size_t i = 0; i < kGuard; ++i) {
    ck_assert_uint_eq(output.data()[i], 0x5a);
    ck_assert_uint_eq(output.data()[kGuard + static_cast<size_t>(out_desc.bytes()) + i], 0x5a);
  }
  return true;
}

}  // namespace

START_TEST(random_commands_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
  Randomness random(20261121);
  int ran = 0;
  for (int i = 0; i < 900; ++i) ran += check_case(device.value().get(), &random, i);
  ck_assert_int_ge(ran, 500);
}
END_TEST

START_TEST(branches_of_a_command_are_appended) {
  // topo 0b101: run 0 -> memory, run 1 -> unified buffer -> run 2 -> memory.
  auto device = Device::open("soft");
  ck_assert(device.ok());
  ConvCommand cmd;
  cmd.w = 4;
  cmd.h = 3;
  cmd.c = 8;
  cmd.topo = 5;
  ConvRun run;
  run.m = 8;
  run.conv = ConvKind::kDepthwise;
  run.weight_format = WeightFormat::kHalf;
  cmd.runs = {run, run, run};
  const PackedGeometry g = {8, 1, 1, 1, false, false, false};
  const size_t bytes = packed_weights_size(g);
  auto weights = device.value()->allocate(3 * bytes);
  const float scales[] = {2, 3, 5};
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<half_t> w(8, float_to_half(scales[i]));
    pack_weights(g, {nullptr, w.data(), nullptr, nullptr}, weights.value().data() + i * bytes);
    cmd.runs[i].weight_offset = i * bytes;
  }
  const TensorDesc desc = device_desc(false, {4, 3, 8});
  const size_t size = static_cast<size_t>(desc.bytes());
  auto io = device.value()->allocate(3 * size);
  std::vector<float> in(96), first(96), second(96);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  write_nchw(in.data(), {desc, io.value().data()});
  auto list = device.value()->create_command_list();
  ck_assert(list.value().add(cmd, {&io.value(), 0}, {&io.value(), size}, {}, weights.value()).ok());
  ck_assert(list.value().commit().ok());
  ck_assert(list.value().wait(list.value().exec().value()).ok());
  read_nchw({desc, io.value().data() + size}, first.data());
  read_nchw({desc, io.value().data() + 2 * size}, second.data());
  for (size_t i = 0; i < in.size(); ++i) {
    ck_assert(first[i] == 2 * in[i]);
    ck_assert(second[i] == 15 * in[i]);
  }
}
END_TEST

DVNN_TEST_MAIN(conv_sweep, random_commands_match_the_scalar_reference,
               branches_of_a_command_are_appended)
