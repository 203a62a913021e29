// SPDX-License-Identifier: Apache-2.0
// The software device's functions, loaded once, and a place to run single commands.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check_suite.h"
#include "device/loader.h"
#include "dmp_dv_cmdraw_v1.h"

namespace dvnn::test {

inline const device::Functions& fn() {
  static const auto library = device::Library::load(std::getenv("DVNN_SOFT_DEVICE"));
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.error().message.c_str());
    std::abort();
  }
  return library.value()->fn();
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

}  // namespace dvnn::test
