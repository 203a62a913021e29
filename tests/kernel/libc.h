// SPDX-License-Identifier: Apache-2.0
// The C library's own functions behind those that the emulated kernel replaces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>

namespace dvnn::kernel {

struct Libc {
  int (*open)(const char* path, int flags, ...);
  FILE* (*fopen)(const char* path, const char* mode);
  int (*close)(int fd);
  int (*ioctl)(int fd, unsigned long request, ...);
  void* (*mmap64)(void* address, size_t size, int protection, int flags, int fd, int64_t offset);
  int (*munmap)(void* address, size_t size);
  int (*faccessat)(int folder, const char* path, int mode, int flags);
};

const Libc& libc();

/// While one lives, the thread's calls reach the C library: they are the emulation's own.
class Inside {
 public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool any() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace dvnn::kernel
