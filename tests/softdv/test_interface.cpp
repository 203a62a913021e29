// SPDX-License-Identifier: Apache-2.0
// The C interface itself, called as the vendor's programs call it.
#include <dirent.h>
#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "dmp_dv.h"
#include "dmp_dv_cmdraw_v1.h"
#include "soft_library.h"
#include "tensor/packing.h"

namespace dvnn::test::interface_tests {

DVNN_SUITE(softdv_interface);

using dvnn::test::fn;
using Pack = std::function<int(uint8_t* packed, size_t* packed_size)>;

namespace {

int open_files() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

}  // namespace

DVNN_TEST(context_tells_what_the_device_is) {
  dmp_dv_context ctx = fn().context_create();
  dmp_dv_info_v0 info;
  std::memset(&info, 0xff, sizeof info);
  info.header.size = sizeof info;
  ck_assert_int_eq(fn().context_get_info(ctx, &info.header), 0);
  ck_assert_uint_eq(info.header.version, 0);
  ck_assert_int_eq(info.max_kernel_size, 7);
  ck_assert_int_gt(info.conv_freq, 0);
  info.header.size = 7;
  ck_assert_int_eq(fn().context_get_info(ctx, &info.header), -1);
  ck_assert_int_eq(fn().context_get_info(nullptr, &info.header), EINVAL);
  ck_assert(std::strstr(fn().context_get_info_string(ctx), "DMP DV: ub_size="));
  ck_assert_int_eq(fn().device_exists(ctx, DMP_DV_DEV_CONV), 1);
  ck_assert_int_eq(fn().device_exists(ctx, DMP_DV_DEV_MAXIMIZER), -1);
  ck_assert_int_eq(fn().context_release(ctx), 0);
  ck_assert_int_eq(fn().context_release(nullptr), 0);
}

// What the vendor's programs may call, and ours do not.
DVNN_TEST(functions_that_only_programs_of_others_call) {
  void* handle = dlopen(std::getenv("DVNN_SOFT_DEVICE"), RTLD_NOW);
  const auto find = [&](const char* name) {
    void* function = dlsym(handle, name);
    ck_assert_msg(function != nullptr, "%s", name);
    return function;
  };
  const auto retain = reinterpret_cast<int (*)(dmp_dv_cmdlist)>(find("dmp_dv_cmdlist_retain"));
  const auto size = reinterpret_cast<size_t (*)(dmp_dv_mem)>(find("dmp_dv_mem_get_size"));
  const auto exists =
      reinterpret_cast<int (*)(dmp_dv_context, int)>(find("dmp_dv_fpga_device_exists"));
  const auto set_error =
      reinterpret_cast<void (*)(const char*, ...)>(find("dmp_dv_set_last_error_message"));
  dmp_dv_context ctx = fn().context_create();
  dmp_dv_cmdlist list = fn().cmdlist_create(ctx);
  ck_assert_int_eq(retain(list), 2);
  ck_assert_int_eq(fn().cmdlist_release(list), 1);
  ck_assert_int_eq(fn().cmdlist_release(list), 0);
  ck_assert_int_eq(retain(nullptr), 0);
  dmp_dv_mem mem = fn().mem_alloc(ctx, 5000);
  ck_assert_uint_ge(size(mem), 5000);
  ck_assert_uint_eq(size(nullptr), 0);
  ck_assert_str_eq(fn().get_last_error_message(), "Invalid argument: mem is NULL");
  set_error("%d of %s", 3, "them");
  ck_assert_str_eq(fn().get_last_error_message(), "3 of them");
  ck_assert_int_eq(exists(ctx, DMP_DV_DEV_CONV), fn().device_exists(ctx, DMP_DV_DEV_CONV));
  fn().mem_release(mem);
  fn().context_release(ctx);
  dlclose(handle);
}

DVNN_TEST(memory_keeps_its_contents_and_gives_everything_back) {
  const int files = open_files();
  for (int round = 0; round < 3; ++round) {
    dmp_dv_context ctx = fn().context_create();
    dmp_dv_mem mem = fn().mem_alloc(ctx, 5000);
    ck_assert_int_eq(total_size(), 8192);
    ck_assert_int_eq(fn().mem_sync_start(mem, 1, 1), EINVAL);  // not mapped
    uint8_t* data = fn().mem_map(mem);
    ck_assert_ptr_eq(data, fn().mem_map(mem));
    std::memset(data, 0x42, 5000);
    ck_assert_int_eq(fn().mem_sync_start(mem, 0, 0), EINVAL);
    ck_assert_int_eq(fn().mem_sync_start(mem, 0, 1), 0);
    ck_assert_int_eq(fn().mem_sync_end(mem), 0);
    ck_assert_int_eq(fn().mem_to_device(mem, 8000, 193, 0), EINVAL);
    ck_assert_int_eq(fn().mem_to_device(mem, 8000, 192, 0), 0);
    ck_assert_int_eq(fn().mem_to_device(mem, SIZE_MAX, 2, 0), EINVAL);
    fn().mem_unmap(mem);
    ck_assert_int_eq(fn().mem_to_cpu(mem, 0, 16, 0), EINVAL);  // not mapped
    ck_assert_uint_eq(fn().mem_map(mem)[4999], 0x42);
    fn().context_release(ctx);  // the memory keeps it
    ck_assert_int_eq(fn().mem_release(mem), 0);
    ck_assert_int_eq(total_size(), 0);
  }
  ck_assert_int_eq(open_files(), files);
  ck_assert_ptr_null(fn().mem_alloc(nullptr, 16));
}

// Where a huge page fits, so that the kernel can give one.
DVNN_TEST(large_memory_begins_at_a_huge_page) {
  constexpr size_t kHugePage = 2 * 1024 * 1024;
  dmp_dv_context ctx = fn().context_create();
  for (const size_t size : {kHugePage, kHugePage + 1, 7 * kHugePage - 1}) {
    dmp_dv_mem mem = fn().mem_alloc(ctx, size);
    ck_assert(mem);
    const uint8_t* data = fn().mem_map(mem);
    ck_assert_uint_eq(reinterpret_cast<uintptr_t>(data) % kHugePage, 0);
    ck_assert_uint_eq(data[0] + data[size - 1], 0);
    ck_assert_int_eq(fn().mem_release(mem), 0);
  }
  ck_assert(!fn().mem_alloc(ctx, SIZE_MAX - 3 * kHugePage / 2));
  ck_assert_int_eq(fn().context_release(ctx), 0);
}

DVNN_TEST(lists_live_in_the_documented_order) {
  Fixture f;
  ck_assert_int_eq(fn().cmdlist_commit(f.list), ENODATA);
  ck_assert_int_lt(fn().cmdlist_exec(f.list), 0);
  ck_assert_int_eq(f.add(small_command(f.mem)), 0);
  ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
  ck_assert_int_eq(fn().cmdlist_commit(f.list), EALREADY);
  ck_assert_int_eq(f.add(small_command(f.mem)), -1);
  const int64_t first = fn().cmdlist_exec(f.list), second = fn().cmdlist_exec(f.list);
  ck_assert_int_gt(first, 0);
  ck_assert_int_eq(second, first + 1);
  ck_assert_int_eq(fn().cmdlist_wait(f.list, second), 0);
  ck_assert_int_eq(fn().cmdlist_wait(f.list, first), 0);  // an older id is legal
  ck_assert_int_ge(fn().cmdlist_get_last_exec_time(f.list), 0);
  ck_assert_int_eq(fn().cmdlist_wait(f.list, -1), EINVAL);
  ck_assert_int_eq(fn().cmdlist_wait(f.list, second + 1000), EINVAL);  // never given
  ck_assert_int_eq(fn().cmdlist_wait(f.list, INT64_MAX), EINVAL);
  ck_assert_int_eq(fn().cmdlist_wait(nullptr, 0), EINVAL);
}

DVNN_TEST(a_list_may_be_released_while_it_runs) {
  for (int i = 0; i < 20; ++i) {
    Fixture f;
    ck_assert_int_eq(f.add(small_command(f.mem)), 0);
    ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
    ck_assert_int_gt(fn().cmdlist_exec(f.list), 0);
  }
  ck_assert_int_eq(total_size(), 0);
}

DVNN_TEST(malformed_commands_are_refused) {
  Fixture f;
  struct Refusal {
    void (*spoil)(dmp_dv_cmdraw_conv_v0*);
    int code;
  };
  const Refusal refusals[] = {
      {[](auto* c) { c->header.size = 4; }, EINVAL},
      {[](auto* c) { c->header.size -= 8; }, -1},
      {[](auto* c) { c->header.device_type = 0; }, EINVAL},
      {[](auto* c) { c->header.device_type = 9; }, EINVAL},
      {[](auto* c) { c->header.version = 2; }, ENOTSUP},
      {[](auto* c) { c->input_buf.mem = nullptr; }, -1},
      {[](auto* c) { c->topo = 0; }, -1},
      {[](auto* c) { c->z = 0; }, -1},
      {[](auto* c) { c->w = 0; }, -1},
      {[](auto* c) { c->run[0].pz = 0; }, -1},
      {[](auto* c) { c->run[0].p = 8; }, -1},
      {[](auto* c) { c->run[0].p = 0; }, -1},
      {[](auto* c) { c->run[0].p = 7; }, -1},  // wider than the input
      {[](auto* c) { c->run[0].conv_stride = 0; }, -1},
      {[](auto* c) { c->run[0].conv_enable = 2; }, -1},
      {[](auto* c) { c->run[0].conv_enable = 0; }, -1},  // nothing to do
      {[](auto* c) { c->run[0].conv_enable = 3, c->run[0].m = 9; }, -1},
      {[](auto* c) { c->run[0].pool_enable = 2; }, -1},  // averages do not fuse
      {[](auto* c) { c->run[0].pool_enable = 1, c->run[0].pool_size = 0x0404; }, -1},
      {[](auto* c) { c->run[0].weight_fmt = 3, c->run[0].actfunc = 4; }, -1},
      {[](auto* c) { c->run[0].actfunc = 7; }, -1},
      {[](auto* c) { c->run[0].weight_buf.mem = nullptr; }, EINVAL},
      {[](auto* c) { c->input_buf.offs = 1; }, EINVAL},
      {[](auto* c) { c->output_buf.offs = 8192 - 254; }, EINVAL},
      {[](auto* c) { c->run[0].weight_buf.offs = UINT64_MAX - 1; }, EINVAL},
      {[](auto* c) { c->input_circular_offset = 40; }, EINVAL},  // a batch beyond the memory
      {[](auto* c) { c->output_mode = 1; }, EINVAL},             // no operand
      {[](auto* c) { c->topo = 0xffffffff; }, -1},               // empty runs
  };
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
    dmp_dv_cmdraw_conv_v0 cmd = small_command(f.mem);
    refusals[i].spoil(&cmd);
    ck_assert_msg(f.add(cmd) == refusals[i].code, "refusal %zu: %s", i,
                  fn().get_last_error_message());
    ck_assert_int_ne(fn().get_last_error_message()[0], 0);
  }
  ck_assert_int_eq(fn().cmdlist_add_raw(f.list, nullptr), -1);
}

// The kernel driver looks at some offsets when a list is committed.
DVNN_TEST(weights_at_any_place_are_refused_at_commit) {
  for (const uint64_t place : {512, 520}) {
    Fixture f;
    dmp_dv_cmdraw_conv_v0 cmd = small_command(f.mem);
    cmd.run[0].weight_buf.offs = place;
    ck_assert_int_eq(f.add(cmd), 0);
    ck_assert_int_eq(fn().cmdlist_commit(f.list) == 0, place % 16 == 0);
    if (place % 16 == 0) continue;
    ck_assert_ptr_nonnull(std::strstr(fn().get_last_error_message(), "weight_buf.offs 520"));
  }
}

DVNN_TEST(random_bytes_never_do_harm) {
  unsigned seed = 1;
  for (int i = 0; i < 3000; ++i) {
    Fixture f;
    dmp_dv_cmdraw_conv_v0 cmd = small_command(f.mem);
    auto* bytes = reinterpret_cast<uint8_t*>(&cmd);
    for (int k = 0; k < 4; ++k) {
      const size_t at = 24 + static_cast<size_t>(rand_r(&seed)) % (72 + 56 - 24);
      // Not into the handles: a wild pointer is the caller's own.
      if ((at >= 24 && at < 32) || (at >= 40 && at < 48) || (at >= 72 && at < 80)) continue;
      bytes[at] = static_cast<uint8_t>(rand_r(&seed));
    }
    if (f.add(cmd) != 0 || fn().cmdlist_commit(f.list) != 0) continue;
    ck_assert_int_eq(fn().cmdlist_wait(f.list, fn().cmdlist_exec(f.list)), 0);
  }
}

DVNN_TEST(weights_that_change_after_commit_count) {
  Fixture f;
  auto* halves = reinterpret_cast<half_t*>(fn().mem_map(f.mem));
  for (int i = 0; i < 128; ++i) halves[i] = float_to_half(1);
  const PackedGeometry g = {8, 8, 1, 1, false, false, false};
  auto write_weights = [&](float value) {
    const std::vector<half_t> w(64, float_to_half(value));
    pack_weights(g, {nullptr, w.data(), nullptr, nullptr},
                 reinterpret_cast<uint8_t*>(halves) + 512);
    fn().mem_to_device(f.mem, 0, 8192, 0);
  };
  write_weights(1);
  ck_assert_int_eq(f.add(small_command(f.mem)), 0);
  ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
  for (float value : {1.0f, 3.0f}) {
    write_weights(value);
    ck_assert_int_eq(fn().cmdlist_wait(f.list, fn().cmdlist_exec(f.list)), 0);
    ck_assert(half_to_float(halves[128]) == 8 * value);
  }
}

DVNN_TEST(fully_connected_commands_compute_dot_products) {
  Fixture f;
  auto* halves = reinterpret_cast<half_t*>(fn().mem_map(f.mem));
  for (int i = 0; i < 10; ++i) halves[i] = float_to_half(static_cast<float>(i));
  std::vector<half_t> weights(30), bias(3);
  for (size_t i = 0; i < 30; ++i) weights[i] = float_to_half(static_cast<float>(i / 10 + 1));
  bias = {float_to_half(0.5f), float_to_half(-200), 0};
  pack_fc({10, 1, 1, 3, 1, 1, false}, {nullptr, weights.data(), bias.data(), nullptr},
          reinterpret_cast<uint8_t*>(halves) + 512);
  dmp_dv_cmdraw_fc_v0 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_FC;
  cmd.input_buf.mem = cmd.output_buf.mem = cmd.weight_buf.mem = f.mem;
  cmd.output_buf.offs = 256;
  cmd.weight_buf.offs = 512;
  cmd.input_size = 10;
  cmd.output_size = 3;
  cmd.actfunc = 1;
  ck_assert_int_eq(fn().cmdlist_add_raw(f.list, &cmd.header), 0);
  ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
  ck_assert_int_eq(fn().cmdlist_wait(f.list, fn().cmdlist_exec(f.list)), 0);
  const float expected[] = {45.5f, 0, 135};
  for (int i = 0; i < 3; ++i) ck_assert(half_to_float(halves[128 + i]) == expected[i]);

  // The same over its own input.
  cmd.output_buf.offs = 0;
  dmp_dv_cmdlist list = fn().cmdlist_create(f.ctx);
  ck_assert_int_eq(fn().cmdlist_add_raw(list, &cmd.header), 0);
  ck_assert_int_eq(fn().cmdlist_commit(list), 0);
  ck_assert_int_eq(fn().cmdlist_wait(list, fn().cmdlist_exec(list)), 0);
  fn().cmdlist_release(list);
  for (int i = 0; i < 3; ++i) ck_assert(half_to_float(halves[i]) == expected[i]);
}

DVNN_TEST(a_chain_of_commands_writes_what_they_write_alone) {
  // conv, activation alone, conv with addition and pooling: 16 to 16 channels over 5 x 6 pixels.
  constexpr int kPixels = 30, kChannels = 16;
  constexpr uint64_t kTensor = 1024, kWeights = 8192;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    dmp_dv_context ctx = fn().context_create();
    dmp_dv_mem mem = fn().mem_alloc(ctx, 65536);
    uint8_t* data = fn().mem_map(mem);
    auto fill = [&](uint64_t offset, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const half_t h = float_to_half(static_cast<float>(random() % 2001) / 1000 - 1);
        std::memcpy(data + offset + 2 * i, &h, sizeof h);
      }
    };
    fill(0, kPixels * kChannels);
    std::vector<dmp_dv_cmdraw_conv_v0> commands;
    for (uint64_t i = 0; i < 4; ++i) {
      dmp_dv_cmdraw_conv_v0 cmd = small_command(mem);
      cmd.input_buf.offs = i * kTensor;
      cmd.output_buf.offs = (i + 1) * kTensor;
      cmd.w = 5;
      cmd.h = 6;
      cmd.c = kChannels;
      auto& run = cmd.run[0];
      run.m = kChannels;
      run.actfunc = static_cast<uint16_t>(random() % 4);
      run.weight_buf.offs = kWeights + i * kWeights;
      run.p = 3;
      run.conv_pad = 0x01010101;
      if (i == 1) run.conv_enable = 0, run.actfunc = 3;
      if (i == 2) {
        cmd.eltwise_buf = cmd.output_buf;
        cmd.eltwise_buf.offs = 0;
        cmd.output_mode = 1;
      }
      fill(run.weight_buf.offs, 2048);
      commands.push_back(cmd);
    }
    auto run_lists = [&](size_t per_list) {
      std::memset(data + kTensor, 0, 4 * kTensor);
      for (size_t first = 0; first < commands.size(); first += per_list) {
        dmp_dv_cmdlist list = fn().cmdlist_create(ctx);
        for (size_t i = first; i < first + per_list; ++i) {
          ck_assert_int_eq(fn().cmdlist_add_raw(list, &commands[i].header), 0);
        }
        ck_assert_int_eq(fn().cmdlist_commit(list), 0);
        ck_assert_int_eq(fn().cmdlist_wait(list, fn().cmdlist_exec(list)), 0);
        fn().cmdlist_release(list);
      }
      return std::vector<uint8_t>(data + kTensor, data + 5 * kTensor);
    };
    ck_assert(run_lists(4) == run_lists(1));
    fn().mem_release(mem);
    fn().context_release(ctx);
  }
}

// The functions that pack weights for programs of the vendor's kind: what they say of sizes and of
// room, and that their bytes are our packer's.

namespace {

constexpr uint8_t kBefore = 0xa5;  // what stood in the room
constexpr size_t kMore = 48;       // bytes of room that are not needed

struct alignas(16) Line {
  uint8_t bytes[16];
};

template <typename Function>
Function* symbol(const char* name) {
  static void* const library = dlopen(std::getenv("DVNN_SOFT_DEVICE"), RTLD_NOW);
  void* const found = library ? dlsym(library, name) : nullptr;
  ck_assert_msg(found != nullptr, "no %s", name);
  return reinterpret_cast<Function*>(found);
}

// Each way to ask, and what is to come of it.
void check_contract(const Pack& pack, const std::vector<uint8_t>& wanted) {
  size_t size = 0;
  ck_assert_int_eq(pack(nullptr, &size), 0);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(pack(nullptr, &size), -1);  // no room is of that size
  ck_assert_int_eq(pack(nullptr, nullptr) == 0, 0);

  std::vector<Line> room((wanted.size() + kMore) / sizeof(Line));
  uint8_t* const bytes = room.data()->bytes;
  const auto fill = [&] { std::memset(bytes, kBefore, wanted.size() + kMore); };
  fill();
  size = wanted.size() + kMore;
  ck_assert_int_eq(pack(bytes, &size), 0);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(std::memcmp(bytes, wanted.data(), wanted.size()), 0);
  for (size_t i = 0; i < kMore; ++i) ck_assert_uint_eq(bytes[wanted.size() + i], 0);

  // What fits, and nothing behind it.
  fill();
  size = wanted.size() - 1;
  ck_assert_int_eq(pack(bytes, &size), -1);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(std::memcmp(bytes, wanted.data(), wanted.size() - 1), 0);
  ck_assert_uint_eq(bytes[wanted.size() - 1], kBefore);

  size = wanted.size();
  ck_assert_int_eq(pack(bytes + 1, &size), EINVAL);
}

// Weights, biases and slopes that differ from one another.
std::vector<half_t> numbers(size_t count, float from) {
  std::vector<half_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = float_to_half(from + static_cast<float>(i));
  return values;
}

}  // namespace

DVNN_TEST(convolutions_are_packed_as_their_contract_says) {
  constexpr int kM = 5, kC = 3, kX = 3, kY = 2;
  const auto weights = numbers(size_t{kM} * kC * kX * kY, 1), bias = numbers(kM, 200),
             slopes = numbers(kM, 300);
  for (const bool dilated : {false, true}) {
    const PackedGeometry geometry = {kM, kC, kX, kY, false, true, dilated};
    std::vector<uint8_t> wanted(packed_weights_size(geometry));
    pack_weights(geometry, {nullptr, weights.data(), bias.data(), slopes.data()}, wanted.data());
    auto* const function = symbol<decltype(dmp_dv_pack_conv_weights)>(
        dilated ? "dmp_dv_pack_dil_weights" : "dmp_dv_pack_conv_weights");
    check_contract(
        [&](uint8_t* packed, size_t* size) {
          return function(kC, kX, kY, kM, nullptr, weights.data(), bias.data(), slopes.data(),
                          packed, size);
        },
        wanted);
    size_t size = 0;
    ck_assert_int_eq(function(kC, 8, kY, kM, nullptr, weights.data(), bias.data(), slopes.data(),
                              nullptr, &size),
                     -1);
  }
}

DVNN_TEST(fully_connected_layers_are_packed_as_their_contract_says) {
  const FcGeometry geometry = {2, 3, 1, 4, 1, 2, true};
  const size_t outputs = 8, inputs = 6;
  const auto table = numbers(256, 0), bias = numbers(outputs, 200);
  std::vector<uint8_t> weights(outputs * inputs);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(3 * i);
  const PackedGeometry flat = {static_cast<int>(outputs), static_cast<int>(inputs), 1, 1, true};
  std::vector<uint8_t> wanted(packed_fc_size(flat));
  pack_fc(geometry, {table.data(), weights.data(), bias.data(), nullptr}, wanted.data());
  auto* const function = symbol<decltype(dmp_dv_pack_fc_weights)>("dmp_dv_pack_fc_weights");
  check_contract(
      [&](uint8_t* packed, size_t* size) {
        return function(2, 3, 1, 4, 1, 2, table.data(), weights.data(), bias.data(), packed, size);
      },
      wanted);
}

DVNN_TEST(fully_connected_layers_have_vectors_of_limited_length) {
  // The device takes vectors of 16384 numbers at the most.
  constexpr int kMost = 16384;
  auto* const function = symbol<decltype(dmp_dv_pack_fc_weights)>("dmp_dv_pack_fc_weights");
  auto* const last_error =
      symbol<decltype(dmp_dv_get_last_error_message)>("dmp_dv_get_last_error_message");
  const std::vector<half_t> table(256), bias(kMost);
  size_t size = 0;
  const auto asked = [&](const std::array<int, 6>& d) {
    size = 0;
    return function(d[0], d[1], d[2], d[3], d[4], d[5], table.data(), nullptr, bias.data(), nullptr,
                    &size);
  };
  for (size_t i = 0; i < 6; ++i) {
    std::array<int, 6> dims = {1, 1, 1, 1, 1, 1};
    dims[i] = kMost;
    ck_assert_int_eq(asked(dims), 0);
    ck_assert_uint_gt(size, 0);
    for (const int bad : {0, -1, kMost + 1, INT_MAX}) {
      dims[i] = bad;
      ck_assert_int_eq(asked(dims), EINVAL);
      const std::string words = "dimension " + std::to_string(bad) + " is not 1..16384";
      ck_assert_msg(std::strstr(last_error(), words.c_str()), "%s", last_error());
    }
  }
  // Their product counts, of either side, and may be beyond 32 bits.
  for (const std::array<int, 6>& dims :
       {std::array<int, 6>{128, 128, 2, 1, 1, 1}, std::array<int, 6>{1, 1, 1, 2, 128, 128},
        std::array<int, 6>{2048, 2048, 1024, 1, 1, 1}}) {
    ck_assert_int_eq(asked(dims), EINVAL);
    ck_assert_msg(std::strstr(last_error(), "a vector exceeds 16384"), "%s", last_error());
  }
  ck_assert_int_eq(asked({128, 64, 2, 2, 64, 128}), 0);
}

}  // namespace dvnn::test::interface_tests
