// SPDX-License-Identifier: Apache-2.0
// Poolings that nothing comes with, of every bit pattern that there is, held to plain loops.
#include <cmath>
#include <cstring>
#include <vector>

#include "check_suite.h"
#include "conv_cases.h"
#include "device/device.h"
#include "tensor/tensor.h"

namespace dvnn::test::pool_sweep_tests {

DVNN_SUITE(softdv_pool_sweep);

using namespace dvnn::device;

namespace {

// Halves of any bits, or zeros of both signs among which are a few infinities and ones.
std::vector<uint8_t> any_halves(Randomness* random, size_t bytes) {
  std::vector<uint8_t> made(bytes);
  const bool any = random->chance(2);
  for (size_t k = 0; k < bytes; k += sizeof(half_t)) {
    static constexpr half_t kFew[] = {0, 0x8000, 0, 0x8000, 0, 0x8000, 0x3c00, 0xfc00, 0x7c00};
    const half_t bits = any ? static_cast<half_t>(random->between(0, 0xffff))
                            : kFew[random->between(0, random->chance(5) ? 8 : 5)];
    std::memcpy(made.data() + k, &bits, sizeof bits);
  }
  return made;
}

ConvRun any_pooling(Randomness* random, int channels) {
  ConvRun run;
  run.m = channels;
  run.pool = PoolKind::kMax;
  run.pool_size = {random->between(2, 3), random->between(1, 3)};
  run.pool_stride = {random->between(1, 3), random->between(1, 3)};
  run.pool_pad = {random->edgy(0, run.pool_size.x - 1), random->edgy(0, run.pool_size.x - 1),
                  random->edgy(0, run.pool_size.y - 1), random->edgy(0, run.pool_size.y - 1)};
  return run;
}

std::vector<float> floats_of(const TensorDesc& desc, const uint8_t* data) {
  std::vector<float> values(desc.shape.count());
  read_nchw({desc, data}, values.data());
  return values;
}

// The largest of a window's values: +0 is larger than -0, and what is no number is none of them.
float largest(const float* plane, Dims in, const ConvRun& run, int x, int y) {
  float best = -INFINITY;
  for (int j = 0; j < run.pool_size.y; ++j) {
    for (int i = 0; i < run.pool_size.x; ++i) {
      const int column = x * run.pool_stride.x + i - run.pool_pad.left;
      const int row = y * run.pool_stride.y + j - run.pool_pad.top;
      if (column < 0 || row < 0 || column >= in.w || row >= in.h) continue;
      const float value = plane[row * in.w + column];
      if (value > best || (value == best && !std::signbit(value))) best = value;
    }
  }
  return best;
}

void check_pooling(Device* device, Randomness* random, int number) {
  const Dims in = {random->edgy(3, 40), random->edgy(3, 40), 8 * random->between(1, 4)};
  ConvCommand command;
  command.w = in.w;
  command.h = in.h;
  command.c = in.c;
  command.hwc = random->chance(2);
  command.runs = {any_pooling(random, in.c)};
  const ConvRun& run = command.runs[0];
  const Dims out = run_output(run, in);
  const TensorDesc from = device_desc(command.hwc, in), to = device_desc(command.hwc, out);
  auto input = device->allocate(static_cast<size_t>(from.bytes()));
  auto output = device->allocate(static_cast<size_t>(to.bytes()));
  auto list = device->create_command_list();
  ck_assert(input.ok() && output.ok() && list.ok());
  const std::vector<uint8_t> halves = any_halves(random, input.value().size());
  std::memcpy(input.value().data(), halves.data(), halves.size());
  ck_assert(input.value().to_device(0, halves.size()).ok());
  const Status added = list.value().add(command, {&input.value(), 0}, {&output.value(), 0}, {},
                                        input.value());  // no weights are read
  ck_assert_msg(added.ok(), "%s", added.ok() ? "" : added.error().message.c_str());
  ck_assert(list.value().commit().ok());
  const auto id = list.value().exec();
  ck_assert(id.ok() && list.value().wait(id.value()).ok());
  const std::vector<float> values = floats_of(from, halves.data());
  const std::vector<float> have = floats_of(to, output.value().data());
  for (int c = 0, k = 0; c < out.c; ++c) {
    for (int y = 0; y < out.h; ++y) {
      for (int x = 0; x < out.w; ++x, ++k) {
        const float* const plane = values.data() + c * in.w * in.h;
        const float want = largest(plane, in, run, x, y), is = have[static_cast<size_t>(k)];
        ck_assert_msg(is == want && std::signbit(is) == std::signbit(want),
                      "round %d: channel %d at %d, %d is %g, not %g", number, c, x, y, is, want);
      }
    }
  }
}

}  // namespace

DVNN_TEST(the_largest_of_any_halves_is_found_to_the_bit) {
  auto device = Device::open("soft");
  ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
  Randomness random(dvnn_seed(44));
  const int rounds = dvnn_rounds(600);
  for (int i = 0; i < rounds; ++i) check_pooling(device.value().get(), &random, i);
}

}  // namespace dvnn::test::pool_sweep_tests
