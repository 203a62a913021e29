// SPDX-License-Identifier: Apache-2.0
// Tiles and unified buffer use against figures that the vendor's own arithmetic gave for the same
// commands (dv-kernel-driver, version 7.2.20190729).
#include "check_suite.h"
#include "device/limits.h"

namespace dvnn::test::limits_tests {

DVNN_SUITE(limits);

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

}  // namespace dvnn::test::limits_tests
