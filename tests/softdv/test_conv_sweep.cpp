// SPDX-License-Identifier: Apache-2.0
// Seeded random convolution commands against the scalar reference (scalar_conv.h).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "check_suite.h"
#include "conv_cases.h"
#include "device/device.h"
#include "scalar_conv.h"
#include "tensor/packing.h"
#include "tensor/tensor.h"

namespace dvnn::test::conv_sweep_tests {

DVNN_SUITE(softdv_conv_sweep);

using namespace dvnn::device;

namespace {

// Runs one case; false if its sizes make no output.
bool check_case(Device* device, Randomness* r, const RunCase& c, Dims in, int number) {
  const ConvRun& run = c.run;
  ConvCommand command;
  command.w = in.w;
  command.h = in.h;
  command.c = in.c;
  command.hwc = r->chance(3);
  command.eltwise_add = run.pool != PoolKind::kUpsample && r->chance(4);
  command.runs = {run};
  const Dims conv = conv_output(run, in), out = run_output(run, in);
  if (!is_real(conv) || !is_real(out)) return false;
  const bool add_first = run.pool != PoolKind::kAverage;
  const Dims operand_dims = add_first ? conv : out;
  const TensorDesc in_desc = device_desc(command.hwc, in);
  const TensorDesc out_desc = device_desc(command.hwc, out);
  const TensorDesc operand_desc = device_desc(command.hwc, operand_dims);
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
  const std::vector<uint8_t> packed = pack(c, in.c, command.hwc);
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
      list.value().add(command, {&input, in_at}, {&output, kGuard},
                       command.eltwise_add ? BufferRef{&operand, 0} : BufferRef{}, weights);
  ck_assert_msg(added.ok(), "case %d: %s", number, added.ok() ? "" : added.error().message.c_str());
  ck_assert(list.value().commit().ok());
  const auto id = list.value().exec();
  ck_assert(id.ok());
  ck_assert(list.value().wait(id.value()).ok());

  Plane plane;
  if (run.conv != ConvKind::kNone) {
    plane = convolve(c, pixels, in, conv);
  } else {
    for (float p : pixels) plane.push_back({p, 0});
  }
  if (command.eltwise_add && add_first) add(&plane, addend);
  if (run.pool != PoolKind::kNone) plane = pool(run, plane, conv, out);
  if (command.eltwise_add && !add_first) add(&plane, addend);
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
                  static_cast<int>(run.activation), command.hwc, i, have[i], want, slack);
  }
  for (size_t i = 0; i < kGuard; ++i) {
    ck_assert_uint_eq(output.data()[i], 0x5a);
    ck_assert_uint_eq(output.data()[kGuard + static_cast<size_t>(out_desc.bytes()) + i], 0x5a);
  }
  return true;
}

}  // namespace

DVNN_TEST(random_commands_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
  Randomness random(dvnn_seed(20261121));
  int ran = 0;
  const int rounds = dvnn_rounds(4000);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.edgy(1, 23), random.edgy(1, 23), random.channels()};
    ran += check_case(device.value().get(), &random, make_run_case(&random, in), in, i);
  }
  ck_assert_int_ge(ran, rounds / 4 * 3);
}

DVNN_TEST(tensors_that_threads_share_match_the_scalar_reference) {
  // Large enough for several bands of rows, on all threads.
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(4));
  int ran = 0;
  const int rounds = dvnn_rounds(60);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(30, 70), random.between(30, 70), random.between(8, 40)};
    ran += check_case(device.value().get(), &random, make_run_case(&random, in), in, i);
  }
  ck_assert_int_ge(ran, rounds * 5 / 6);
}

// Operations without a window: sums, activations alone, scaled channels, repeated pixels.
DVNN_TEST(what_is_done_to_single_pixels_matches_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(27));
  const int rounds = dvnn_rounds(120);
  for (int i = 0; i < rounds; ++i) {
    const int channels = random.chance(4) ? random.channels() : 8 * random.between(1, 8);
    const Dims in = {random.edgy(1, 90), random.edgy(1, 90), channels};
    RunCase c;
    c.run.m = channels;
    c.run.activation = static_cast<Activation>(random.between(0, 6));
    if (random.chance(3)) {
      c.run.conv = ConvKind::kDepthwise;
      c.run.weight_format = WeightFormat::kHalf;
    } else {
      c.run.pool = random.chance(2) ? PoolKind::kUpsample : PoolKind::kAverage;
      if (c.run.activation == Activation::kPrelu) c.run.activation = Activation::kNone;
    }
    c.run.activation_param = random.chance(2) ? 0 : random.value(0.5f);
    c = with_weights(&random, c.run, in);
    ck_assert(check_case(device.value().get(), &random, c, in, i));
  }
}

DVNN_TEST(windows_may_lie_in_the_padding) {
  // Results that no input reaches.
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(9));
  int ran = 0;
  constexpr int kRounds = 600, kMostPad = 9;
  for (int i = 0; i < kRounds; ++i) {
    const Dims in = {random.edgy(1, 6), random.edgy(1, 6), random.channels()};
    RunCase c = make_run_case(&random, in);
    if (c.run.conv == ConvKind::kNone || c.run.dilation.x > 1 || c.run.dilation.y > 1) continue;
    c.run.conv_pad = {random.edgy(0, kMostPad), random.edgy(0, kMostPad), random.edgy(0, kMostPad),
                      random.edgy(0, kMostPad)};
    c.run.stride = {random.edgy(1, 8), random.edgy(1, 8)};
    ran += check_case(device.value().get(), &random, c, in, i);
  }
  ck_assert_int_ge(ran, kRounds / 2);
}

// Convolutions of single pixels make floats of some pixels while they multiply others, and then
// read fewer chunks than the source has.
DVNN_TEST(channels_that_no_kernel_reads_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(41));
  int ran = 0;
  const int rounds = dvnn_rounds(150);
  for (int i = 0; i < rounds; ++i) {
    const int channels = random.chance(4) ? random.channels() : 8 * random.between(1, 12);
    const Dims in = {random.edgy(1, 40), random.edgy(1, 40), channels};
    ConvRun run = make_run(&random, in);
    run.conv = ConvKind::kConv;
    run.m = random.channels();
    run.stride = run.dilation = {1, 1};
    if (random.chance(3)) {
      run.kernel = {random.between(1, 3), 5};
      run.conv_pad = {1, 1, 2, 2};
    } else {
      run.kernel = {1, 1};
      run.conv_pad = {0, 0, 0, 0};
    }
    run.weight_format = WeightFormat::kHalf;
    const bool pooled = std::min(in.w, in.h) > 1 && random.chance(4);
    run.pool = pooled ? PoolKind::kMax : PoolKind::kNone;
    run.pool_scale = 1;
    run.pool_size = run.pool_stride = {2, 2};
    run.pool_pad = {0, 0, 0, 0};
    RunCase c = with_weights(&random, run, in);
    clear_channels(&random, in.c, &c);
    ran += check_case(device.value().get(), &random, c, in, i);
  }
  ck_assert_int_ge(ran, rounds * 3 / 4);
}

// A plain sum of products would be NaN: 0 times infinity.
DVNN_TEST(infinities_of_a_chunk_that_no_kernel_reads_reach_no_result) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  constexpr size_t kPixels = 15, kDead = 8 * kPixels;
  const Dims in = {5, 3, 24}, out = {5, 3, 8};
  ConvCommand command;
  command.w = in.w;
  command.h = in.h;
  command.c = in.c;
  RunCase c;
  c.run.m = out.c;
  c.run.conv = ConvKind::kConv;
  c.run.weight_format = WeightFormat::kHalf;
  command.runs = {c.run};
  for (int m = 0; m < out.c; ++m) {
    for (int k = 0; k < in.c; ++k) c.weights.push_back(k / 8 == 1 ? 0.0f : 1.0f);
  }
  c.bias.assign(8, 0.5f);
  c.slopes.assign(8, 0);
  c.table.resize(256);
  c.indices.resize(c.weights.size());
  const std::vector<uint8_t> packed = pack(c, in.c, false);
  auto weights = device.value()->allocate(packed.size());
  std::memcpy(weights.value().data(), packed.data(), packed.size());
  const TensorDesc from = device_desc(false, in), to = device_desc(false, out);
  const size_t start = static_cast<size_t>(from.bytes());
  auto memory = device.value()->allocate(start + static_cast<size_t>(to.bytes()));
  std::vector<float> values(24 * kPixels, 2.0f), results(8 * kPixels);
  std::fill_n(values.begin() + kDead, kDead, INFINITY);
  write_nchw(values.data(), {from, memory.value().data()});
  auto list = device.value()->create_command_list();
  ck_assert(list.value()
                .add(command, {&memory.value(), 0}, {&memory.value(), start}, {}, weights.value())
                .ok());
  ck_assert(list.value().commit().ok());
  ck_assert(list.value().wait(list.value().exec().value()).ok());
  read_nchw({to, memory.value().data() + start}, results.data());
  for (const float result : results) ck_assert(result == 16 * 2 + 0.5f);
}

// Many weights over few rows, so that threads share the channels instead of the rows.
DVNN_TEST(channels_that_threads_share_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(13));
  const int rounds = dvnn_rounds(12);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(1, 6), random.between(1, 6), random.between(200, 400)};
    RunCase c;
    c.run.m = random.between(64, 150);
    c.run.conv = ConvKind::kConv;
    c.run.kernel.x = c.run.kernel.y = 3;
    c.run.conv_pad = {1, 1, 1, 1};
    c.run.activation = random.chance(2) ? Activation::kRelu : Activation::kNone;
    c.run.weight_format = WeightFormat::kHalf;
    const auto count = static_cast<size_t>(c.run.m) * static_cast<size_t>(in.c) * 9;
    c.weights.resize(count);
    for (float& w : c.weights) w = random.value(0.1f);
    c.bias.assign(static_cast<size_t>(c.run.m), random.value(1));
    c.slopes.assign(static_cast<size_t>(c.run.m), 0);
    c.table.resize(256);
    c.indices.resize(count);
    ck_assert(check_case(device.value().get(), &random, c, in, i));
  }
}

// These runs are computed with fewer products than taps, along both axes or one: with pooling,
// additions and activations after them, odd sizes, and channels that are no whole chunks.
DVNN_TEST(kernels_of_three_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(17));
  int ran = 0;
  const int rounds = dvnn_rounds(120);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(10, 50), random.between(10, 50), random.between(14, 60)};
    ran += check_case(device.value().get(), &random, make_run_of_three(&random, in), in, i);
  }
  ck_assert_int_eq(ran, rounds);
}

// Poolings that are computed while results are in registers, and others beside them: with pads,
// with rows and columns left over, with additions.
DVNN_TEST(depthwise_results_that_are_pooled_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(23));
  int ran = 0;
  const int rounds = dvnn_rounds(60);
  for (int i = 0; i < rounds; ++i) {
    const int channels = random.chance(4) ? random.channels() : 8 * random.between(1, 5);
    const Dims in = {random.between(10, 60), random.between(10, 60), channels};
    ConvRun run = make_run(&random, in);
    run.conv = ConvKind::kDepthwise;
    run.m = in.c;
    run.kernel = {3, 3};
    run.stride = run.dilation = {1, 1};
    run.conv_pad = {1, random.between(0, 1), 1, random.between(0, 1)};
    run.weight_format = WeightFormat::kHalf;
    run.pool = PoolKind::kMax;
    run.pool_scale = 1;
    run.pool_size = run.pool_stride = {2, 2};
    run.pool_pad = {0, 0, 0, 0};
    if (random.chance(4)) run.pool_pad = {0, 1, 0, 1};
    if (random.chance(6)) run.pool_stride = {1, 2};
    ran += check_case(device.value().get(), &random, with_weights(&random, run, in), in, i);
  }
  ck_assert_int_ge(ran, rounds * 3 / 4);
}

// Transposed convolutions, and depthwise ones of any kernel and dilation, large enough for several
// bands and with channels that do not fill chunks.
DVNN_TEST(rare_convolutions_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(29));
  int ran = 0;
  const int rounds = dvnn_rounds(90);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(12, 48), random.between(12, 48), random.channels()};
    ConvRun run = make_run(&random, in);
    static constexpr ConvKind kKinds[] = {ConvKind::kDeconv, ConvKind::kDepthwiseDeconv,
                                          ConvKind::kDepthwise};
    run.conv = kKinds[i % 3];
    run.m = run.conv == ConvKind::kDeconv ? random.channels() : in.c;
    run.kernel = {random.between(1, 7), random.between(1, 7)};
    run.dilation = {1, 1};
    run.stride = {random.between(1, 4), random.between(1, 4)};
    run.conv_pad = {random.between(0, 3), random.between(0, 3), random.between(0, 3),
                    random.between(0, 3)};
    run.weight_format = WeightFormat::kHalf;
    if (run.pool != PoolKind::kNone) run.pool = PoolKind::kMax;
    run.pool_scale = 1;
    run.pool_size = {random.between(2, 3), random.between(2, 3)};
    run.pool_pad = {random.between(0, 1), 0, random.between(0, 1), 0};
    if (run.conv == ConvKind::kDepthwise && random.chance(2)) dilate(&random, &run);
    ran += check_case(device.value().get(), &random, with_weights(&random, run, in), in, i);
  }
  ck_assert_int_ge(ran, rounds * 3 / 4);
}

// Masks' last layers: transposed convolutions to so few channels that all phases are computed as
// channels of one convolution, and others beside them, with poolings that cut bands within a phase.
DVNN_TEST(transposed_convolutions_to_few_channels_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(37));
  int ran = 0;
  const int rounds = dvnn_rounds(60);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(5, 40), random.between(5, 40), random.between(3, 30)};
    ConvRun run = make_run(&random, in);
    run.conv = ConvKind::kDeconv;
    run.m = random.between(1, 4);
    run.stride = {random.between(1, 3), random.between(2, 3)};
    const int taps = random.chance(4) ? 2 : 1;
    run.kernel = {taps * run.stride.x, taps * run.stride.y};
    run.dilation = {1, 1};
    run.conv_pad = {0, 0, 0, 0};
    if (random.chance(3)) run.conv_pad = {1, random.between(0, 1), 0, 1};
    run.weight_format = WeightFormat::kHalf;
    if (run.pool != PoolKind::kNone) run.pool = PoolKind::kMax;
    run.pool_scale = 1;
    run.pool_size = {random.between(2, 3), random.between(2, 3)};
    run.pool_pad = {random.between(0, 1), 0, random.between(0, 1), 0};
    ran += check_case(device.value().get(), &random, with_weights(&random, run, in), in, i);
  }
  ck_assert_int_ge(ran, rounds * 3 / 4);
}

// Images with rows or columns of a few pixels, too few for a vector each.
DVNN_TEST(narrow_images_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(19));
  int ran = 0;
  const int rounds = dvnn_rounds(150);
  for (int i = 0; i < rounds; ++i) {
    const int few = random.between(1, 18), many = random.between(1, 100);
    const bool tall = random.chance(2);
    const Dims in = {tall ? few : many, tall ? many : few, random.channels()};
    ConvRun run = make_run(&random, in);
    const int size = random.chance(2) ? 5 : 3;
    run.conv = ConvKind::kDepthwise;
    run.m = in.c;
    run.kernel = {size, size};
    run.dilation = {1, 1};
    run.stride = {random.chance(3) ? 2 : 1, random.chance(3) ? 2 : 1};
    run.conv_pad = {random.between(0, 2), random.between(0, 2), random.between(0, 2),
                    random.between(0, 2)};
    run.weight_format = WeightFormat::kHalf;
    run.pool = PoolKind::kNone;
    run.pool_scale = 1;
    ran += check_case(device.value().get(), &random, with_weights(&random, run, in), in, i);
  }
  ck_assert_int_ge(ran, rounds * 3 / 4);
}

// Results that are finished while they are in registers, over more rows than are computed at once:
// the addend, in a quarter of the cases, must advance from row to row with the results.
DVNN_TEST(depthwise_results_of_many_rows_match_the_scalar_reference) {
  auto device = Device::open("soft");
  ck_assert(device.ok());
  Randomness random(dvnn_seed(31));
  int ran = 0;
  const int rounds = dvnn_rounds(60);
  for (int i = 0; i < rounds; ++i) {
    const Dims in = {random.between(30, 60), random.between(30, 60), 8 * random.between(1, 4)};
    ConvRun run;
    run.conv = ConvKind::kDepthwise;
    run.m = in.c;
    const int size = random.chance(2) ? 5 : 3;
    run.kernel = {size, size};
    if (random.chance(3)) run.stride = {2, 2};
    run.conv_pad = {random.between(0, 2), random.between(0, 2), random.between(0, 2),
                    random.between(0, 2)};
    run.weight_format = WeightFormat::kHalf;
    run.activation = static_cast<Activation>(random.between(0, 6));
    ran += check_case(device.value().get(), &random, with_weights(&random, run, in), in, i);
  }
  ck_assert_int_eq(ran, rounds);
}

DVNN_TEST(branches_of_a_command_are_appended) {
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

}  // namespace dvnn::test::conv_sweep_tests
