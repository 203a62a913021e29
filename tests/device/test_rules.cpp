// SPDX-License-Identifier: Apache-2.0
// What a device can do, and how long it takes. Tiles and unified buffer use against figures that
// the vendor's own arithmetic gave for the same commands (dv-kernel-driver, version 7.2.20190729).
#include "check_suite.h"
#include "device/estimate.h"
#include "device/limits.h"

namespace dvnn::test::rules_tests {

DVNN_SUITE(device_rules);

using namespace dvnn::device;

namespace {

ConvRun convolution(int m, int kernel, int pad) {
  ConvRun run;
  run.conv = ConvKind::kConv;
  run.m = m;
  run.kernel = {kernel, kernel};
  run.conv_pad = {pad, pad, pad, pad};
  return run;
}

int tiles(const ConvRun& run, Dims in, bool lrn = false) {
  return count_tiles(run, in, lrn, kUnifiedBufferBytes);
}

}  // namespace

DVNN_TEST(tiles_are_counted_as_the_driver_does) {
  ck_assert_int_eq(tiles(convolution(32, 7, 1), {300, 300, 3}), 1);
  ck_assert_int_eq(tiles(convolution(64, 3, 1), {224, 224, 64}), 13);
  ck_assert_int_eq(tiles(convolution(32, 3, 1), {150, 150, 32}), 3);
  ck_assert_int_eq(tiles(convolution(64, 3, 1), {512, 1024, 512}), 0);
  ConvRun dilated = convolution(256, 3, 1);
  dilated.dilation = {3, 3};
  ck_assert_int_eq(tiles(dilated, {64, 64, 256}), 5);
  ConvRun lone;
  lone.m = 192;
  ck_assert_int_eq(tiles(lone, {56, 56, 192}, true), 2);
  lone.pool = PoolKind::kMax;
  ck_assert_int_eq(tiles(lone, {2000, 1000, 64}), 1);
}

DVNN_TEST(runs_share_the_unified_buffer_as_the_driver_counts) {
  std::vector<ConvRun> runs = {convolution(16, 1, 0), convolution(64, 1, 0), convolution(64, 3, 1)};
  const int64_t plain[] = {451872, 552480, 853536, 502272};
  for (uint32_t topo = 4; topo <= 7; ++topo) {
    ck_assert_int_eq(unified_buffer_use(runs, topo, {56, 56, 64}), plain[7 - topo]);
  }
  runs[0].m = 64, runs[1].m = 96, runs[2].m = 128;
  runs[2].pool = PoolKind::kMax;
  runs[2].pool_size = runs[2].pool_stride = {2, 2};
  const int64_t pooled[] = {314400, 415008, 465440, 402432};
  for (uint32_t topo = 4; topo <= 7; ++topo) {
    ck_assert_int_eq(unified_buffer_use(runs, topo, {28, 28, 192}), pooled[7 - topo]);
  }
}

DVNN_TEST(dilation_asks_for_odd_kernels_and_an_output_of_the_same_size) {
  ConvRun run = convolution(8, 3, 2);
  const Dims in = {10, 12, 8};
  ck_assert_ptr_null(dilation_problem(run, in));
  run.dilation = {2, 2};
  ck_assert_ptr_null(dilation_problem(run, in));
  run.conv_pad.left = 1;
  ck_assert_ptr_nonnull(dilation_problem(run, in));
  run.conv_pad.left = 2;
  run.activation = Activation::kPrelu;
  ck_assert_ptr_nonnull(dilation_problem(run, in));
  run.activation = Activation::kNone;
  run.kernel = {2, 3};
  ck_assert_ptr_nonnull(dilation_problem(run, in));
}

// The timing model on commands whose clocks and bytes can be counted by hand.

namespace {

// 16 x 8 pixels, 64 -> 16 channels by a 3x3 convolution that keeps the size.
ConvCommand same_size_conv() {
  ConvCommand command;
  command.w = 16;
  command.h = 8;
  command.c = 64;
  ConvRun run;
  run.m = 16;
  run.conv = ConvKind::kConv;
  run.kernel = {3, 3};
  run.conv_pad = {1, 1, 1, 1};
  run.weight_format = WeightFormat::kHalf;
  command.runs = {run};
  return command;
}

Hardware board(const char* text) {
  const auto hardware = parse_hardware(text);
  ck_assert_msg(hardware.ok(), "%s", hardware.ok() ? "" : hardware.error().message.c_str());
  return hardware.value();
}

}  // namespace

DVNN_TEST(a_unit_takes_a_block_of_weights_per_clock) {
  // 128 pixels, 2 groups of 8 kernels, 8 blocks of 8 channels each.
  const Estimate e = estimate(same_size_conv(), board("clock=100,macs=576,bus=1000"));
  ck_assert(e.clocks == 128 * 2 * 8);
  ck_assert_int_eq(e.tiles, 1);
  ck_assert(!e.waits_for_memory);
  ck_assert_double_eq_tol(e.microseconds, 20.48, 1e-9);
  ck_assert(estimate(same_size_conv(), board("macs=1152,bus=1000")).clocks == 128 * 1 * 8);
}

DVNN_TEST(kernels_fill_blocks_as_they_are_packed) {
  const struct {
    int kernel;
    double blocks;  // of 64 channels
  } cases[] = {{1, 1}, {2, 8}, {3, 8}, {4, 32}, {5, 32}, {6, 64}, {7, 64}};
  for (const auto& c : cases) {
    ConvCommand command = same_size_conv();
    ConvRun& run = command.runs[0];
    run.kernel = {c.kernel, 1};
    run.conv_pad = {(c.kernel - 1) / 2, c.kernel / 2, 0, 0};
    ck_assert(estimate(command, board("")).clocks == 128 * 2 * c.blocks);
  }
  ConvCommand command = same_size_conv();
  command.runs[0].conv = ConvKind::kDepthwise;
  command.runs[0].m = 64;
  ck_assert(estimate(command, board("")).clocks == 128 * 8 * 1);
  command = same_size_conv();
  command.runs[0].dilation = {2, 2};
  command.runs[0].conv_pad = {2, 2, 2, 2};
  ck_assert(estimate(command, board("")).clocks == 128 * 2 * 9);
}

DVNN_TEST(the_bus_moves_tensors_weights_and_addends) {
  ConvCommand command = same_size_conv();
  const double in = 128 * 64 * 2, out = 128 * 16 * 2;
  const double weights = 144 * 16 * 8 + 16 * 2;
  ck_assert(estimate(command, board("")).bus_bytes == in + weights + out);
  command.eltwise_add = true;
  const Estimate e = estimate(command, board("bus=1"));
  ck_assert(e.bus_bytes == in + weights + 2 * out);
  ck_assert(e.waits_for_memory);
  ck_assert_double_eq_tol(e.microseconds, e.bus_bytes / 100, 1e-9);
}

DVNN_TEST(runs_through_the_unified_buffer_spare_the_bus) {
  ConvCommand command = same_size_conv();
  ConvRun second = command.runs[0];
  command.runs.push_back(second);
  command.topo = 2;
  const double weights = 144 * 16 * 8 + 16 * 2, weights2 = 144 * 16 * 2 + 16 * 2;
  const Estimate e = estimate(command, board(""));
  ck_assert(e.bus_bytes == 128 * 64 * 2 + weights + weights2 + 128 * 16 * 2);
  ck_assert(e.clocks == 128 * 2 * 8 + 128 * 2 * 2);
}

DVNN_TEST(a_commands_time_is_corrected_by_its_kind) {
  Hardware hardware = board("bus=1000,command=5");
  hardware.factors = {2, 3, 4, 5};  // transposed, depthwise, convolution, pooling
  ConvCommand command = same_size_conv();
  const auto check = [&](ConvKind conv, CommandKind kind, double factor) {
    command.runs[0].conv = conv;
    ck_assert(kind_of(command) == kind);
    const Estimate e = estimate(command, hardware);
    ck_assert_double_eq_tol(e.microseconds, factor * e.clocks / 100 + 5, 1e-9);
  };
  check(ConvKind::kDeconv, CommandKind::kTransposed, 2);
  check(ConvKind::kDepthwise, CommandKind::kDepthwise, 3);
  check(ConvKind::kConv, CommandKind::kConvolution, 4);
  check(ConvKind::kNone, CommandKind::kPooling, 5);
}

DVNN_TEST(boards_are_described_by_name) {
  const Hardware h = board("clock=333,macs=1152,bus=32,ub=524288,command=7.5");
  ck_assert(h.clock_mhz == 333 && h.macs == 1152 && h.bus_bytes == 32 && h.ub_bytes == 524288 &&
            h.command_us == 7.5);
  for (const char* text : {"clock", "clock=", "clock=x", "clock=1x", "speed=3", "=3", "macs=71",
                           "bus=0", "ub=-1", "clock=nan", "clock=1,,", "command=1e9"}) {
    const auto refused = parse_hardware(text);
    ck_assert_msg(!refused.ok(), "'%s' was taken", text);
    ck_assert(!refused.error().message.empty());
  }
}

}  // namespace dvnn::test::rules_tests
