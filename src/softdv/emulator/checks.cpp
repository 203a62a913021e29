// SPDX-License-Identifier: Apache-2.0
#include "softdv/emulator/checks.h"

#include <cerrno>

namespace dvnn::softdv {

int refuse(const char* what, int64_t value) {
  set_error("Invalid argument: %s (%lld)", what, static_cast<long long>(value));
  return -1;
}

int check_buffer(const dmp_dv_buf& buf, uint64_t size, uint64_t align, const char* name,
                 Bytes* out) {
  if (size == 0) {
    set_error("Invalid argument: %s would be empty", name);
    return -1;
  }
  if (!buf.mem) {
    set_error("Invalid argument: %s.mem is NULL", name);
    return EINVAL;
  }
  if (buf.offs % align != 0 || buf.offs >= buf.mem->size || buf.mem->size - buf.offs < size) {
    set_error(
        "Insufficient space detected in the provided buffer: %s has %zu bytes, needed are "
        "%llu from offset %llu (a multiple of %llu)",
        name, buf.mem->size, static_cast<unsigned long long>(size),
        static_cast<unsigned long long>(buf.offs), static_cast<unsigned long long>(align));
    return EINVAL;
  }
  *out = {buf.mem, buf.offs, size};
  return 0;
}

bool aligned(const Bytes& bytes, const char* name) {
  if (!bytes.mem || bytes.offset % 16 == 0) return true;
  set_error("Invalid argument: %s.offs %llu is not a multiple of 16", name,
            static_cast<unsigned long long>(bytes.offset));
  return false;
}

}  // namespace dvnn::softdv
