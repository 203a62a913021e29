// SPDX-License-Identifier: Apache-2.0
// The software device's functions, loaded once, and places to run single commands and small lists.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check_suite.h"
#include "device/loader.h"
#include "dmp_dv_cmdraw_v1.h"
#include "tensor/packing.h"

namespace dvnn::test {

inline const device::Functions& fn() {
  static const auto library = device::Library::load(std::getenv("DVNN_SOFT_DEVICE"));
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.error().message.c_str());
    std::abort();
  }
  return library.value()->fn();
}

// Returns the bytes of all device memories of the process.
inline int64_t total_size() {
  void* handle = dlopen(std::getenv("DVNN_SOFT_DEVICE"), RTLD_NOW);
  auto get = reinterpret_cast<int64_t (*)()>(dlsym(handle, "dmp_dv_mem_get_total_size"));
  const int64_t size = get();
  dlclose(handle);
  return size;
}

// A context and one mapped memory; commands name parts of it by offset.
struct Bench {
  dmp_dv_context ctx = fn().context_create();
  dmp_dv_mem mem = fn().mem_alloc(ctx, size_t{1} << 20);
  uint8_t* data = fn().mem_map(mem);

  ~Bench() {
    fn().mem_release(mem);
    fn().context_release(ctx);
  }
  dmp_dv_buf at(uint64_t offset) const {
    dmp_dv_buf buf;
    std::memset(&buf, 0, sizeof buf);
    buf.mem = mem;
    buf.offs = offset;
    return buf;
  }
  // Returns the result of add_raw or, if that is 0, of the whole run.
  template <typename Command>
  int run(Command& command) {
    dmp_dv_cmdlist list = fn().cmdlist_create(ctx);
    int rc = fn().cmdlist_add_raw(list, &command.header);
    if (rc == 0) {
      ck_assert_int_eq(fn().cmdlist_commit(list), 0);
      const int64_t id = fn().cmdlist_exec(list);
      ck_assert_int_gt(id, 0);
      rc = fn().cmdlist_wait(list, id);
    }
    fn().cmdlist_release(list);
    return rc;
  }
};

// A 1x1 convolution of 8 to 8 channels over 4x4 pixels, all buffers in `mem`.
inline dmp_dv_cmdraw_conv_v0 small_command(dmp_dv_mem mem) {
  dmp_dv_cmdraw_conv_v0 cmd;
  std::memset(&cmd, 0, sizeof cmd);
  cmd.header.size = sizeof cmd;
  cmd.header.device_type = DMP_DV_DEV_CONV;
  cmd.input_buf.mem = cmd.output_buf.mem = cmd.run[0].weight_buf.mem = mem;
  cmd.output_buf.offs = 256;
  cmd.run[0].weight_buf.offs = 512;
  cmd.topo = 1;
  cmd.w = cmd.h = 4;
  cmd.z = 1;
  cmd.c = 8;
  cmd.run[0].m = 8;
  cmd.run[0].conv_enable = 1;
  cmd.run[0].p = 1;
  cmd.run[0].pz = 1;
  cmd.run[0].conv_stride = 0x0101;
  cmd.run[0].weight_fmt = 1;
  return cmd;
}

// A list, and the memory of its commands.
struct Fixture {
  dmp_dv_context ctx = fn().context_create();
  dmp_dv_mem mem = fn().mem_alloc(ctx, 8192);
  dmp_dv_cmdlist list = fn().cmdlist_create(ctx);
  ~Fixture() {
    fn().cmdlist_release(list);
    fn().mem_release(mem);
    fn().context_release(ctx);
  }
  int add(dmp_dv_cmdraw_conv_v0 cmd) { return fn().cmdlist_add_raw(list, &cmd.header); }
};

// Sets all of small_command()'s input and all of its weights to one value each.
inline void set_values(uint8_t* data, float input, float weight) {
  const PackedGeometry g = {8, 8, 1, 1, false, false, false};
  const std::vector<half_t> weights(64, float_to_half(weight));
  pack_weights(g, {nullptr, weights.data(), nullptr, nullptr}, data + 512);
  std::fill_n(reinterpret_cast<half_t*>(data), 128, float_to_half(input));
}

}  // namespace dvnn::test
