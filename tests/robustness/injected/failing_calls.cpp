// SPDX-License-Identifier: Apache-2.0
#undef _FILE_OFFSET_BITS  // makes open() another name of open64()
#undef _FORTIFY_SOURCE    // defines some of the calls itself
#include "failing_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace {

// Row: name, error.
#define DVNN_FAILING_CALLS(ROW) \
  ROW(open64, EMFILE)           \
  ROW(open, EMFILE)             \
  ROW(fopen64, EMFILE)          \
  ROW(fopen, EMFILE)            \
  ROW(opendir, EMFILE)          \
  ROW(read, EIO)                \
  ROW(pread64, EIO)             \
  ROW(write, ENOSPC)            \
  ROW(fsync, EIO)               \
  ROW(fdatasync, EIO)           \
  ROW(ftruncate64, ENOSPC)      \
  ROW(rename, EACCES)           \
  ROW(unlink, EACCES)           \
  ROW(mkdir, ENOSPC)            \
  ROW(flock, ENOLCK)            \
  ROW(fstat64, EIO)             \
  ROW(stat64, EIO) ROW(mmap64, ENOMEM) ROW(memfd_create, EMFILE) ROW(pthread_create, EAGAIN)

struct Call {
  const char* name;
  int error;
  std::atomic<int> count{0};
};

#define DVNN_ROW(name, error) {#name, error},
Call calls[] = {DVNN_FAILING_CALLS(DVNN_ROW)};
#undef DVNN_ROW
#define DVNN_ROW(name, error) k_##name,
enum Index { DVNN_FAILING_CALLS(DVNN_ROW) kCalls };
#undef DVNN_ROW

thread_local int own_counts[kCalls];  // of the calling thread

std::atomic<int> planned{-1}, planned_nth{0}, planned_error{0}, has_failed{0};

bool is_ours(const void* caller) {
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname) return false;
  for (const char* name : {"libgstdvnn", "libdmpdv-soft", "libdmp_network", "libstdc++"}) {
    if (std::strstr(info.dli_fname, name)) return true;
  }
  return false;
}

// The error that this call is to fail with, or 0.
int failure(Index index, const void* caller) {
  if (!is_ours(caller)) return 0;
  const int number = ++calls[index].count;
  ++own_counts[index];
  if (planned != index || planned_nth != number) return 0;
  has_failed = 1;
  errno = planned_error;
  return planned_error;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define DVNN_EXPORT extern "C" __attribute__((visibility("default")))
#define DVNN_FAILS(name) failure(k_##name, __builtin_return_address(0))
#define DVNN_NEXT(name) static const auto next_##name = next<decltype(&::name)>(#name)

DVNN_EXPORT const char* dvnn_calls_name(int index, int* error) {
  if (index >= kCalls) return nullptr;
  *error = calls[index].error;
  return calls[index].name;
}

DVNN_EXPORT void dvnn_calls_plan(const char* name, int nth, int error) {
  planned = -1;
  has_failed = 0;
  for (Call& call : calls) call.count = 0;
  std::memset(own_counts, 0, sizeof(own_counts));
  for (int i = 0; i < kCalls; ++i) {
    if (std::strcmp(calls[i].name, name) != 0) continue;
    planned_nth = nth;
    planned_error = error;
    planned = i;
  }
}

DVNN_EXPORT int dvnn_calls_count(const char* name) {
  for (const Call& call : calls) {
    if (std::strcmp(call.name, name) == 0) return call.count;
  }
  return -1;
}

DVNN_EXPORT int dvnn_calls_own_count(const char* name) {
  for (int i = 0; i < kCalls; ++i) {
    if (std::strcmp(calls[i].name, name) == 0) return own_counts[i];
  }
  return -1;
}

DVNN_EXPORT int dvnn_calls_failed(void) {
  return has_failed;
}

// The part that each call has: its error, else the real one.
#define DVNN_SIMPLE(type, name, failed, parameters, arguments) \
  DVNN_EXPORT type name parameters {                           \
    DVNN_NEXT(name);                                           \
    return DVNN_FAILS(name) ? failed : next_##name arguments;  \
  }

DVNN_SIMPLE(FILE*, fopen, nullptr, (const char* path, const char* mode), (path, mode))
DVNN_SIMPLE(FILE*, fopen64, nullptr, (const char* path, const char* mode), (path, mode))
DVNN_SIMPLE(DIR*, opendir, nullptr, (const char* path), (path))
DVNN_SIMPLE(ssize_t, read, -1, (int fd, void* data, size_t size), (fd, data, size))
DVNN_SIMPLE(ssize_t, pread64, -1, (int fd, void* data, size_t size, off64_t at),
            (fd, data, size, at))
DVNN_SIMPLE(ssize_t, write, -1, (int fd, const void* data, size_t size), (fd, data, size))
DVNN_SIMPLE(int, fsync, -1, (int fd), (fd))
DVNN_SIMPLE(int, fdatasync, -1, (int fd), (fd))
DVNN_SIMPLE(int, ftruncate64, -1, (int fd, off64_t size) noexcept, (fd, size))
DVNN_SIMPLE(int, rename, -1, (const char* from, const char* to) noexcept, (from, to))
DVNN_SIMPLE(int, unlink, -1, (const char* path) noexcept, (path))
DVNN_SIMPLE(int, mkdir, -1, (const char* path, mode_t mode) noexcept, (path, mode))
DVNN_SIMPLE(int, flock, -1, (int fd, int operation) noexcept, (fd, operation))
DVNN_SIMPLE(int, fstat64, -1, (int fd, struct stat64* status) noexcept, (fd, status))
DVNN_SIMPLE(int, memfd_create, -1, (const char* name, unsigned flags) noexcept, (name, flags))
DVNN_SIMPLE(int, pthread_create, EAGAIN,
            (pthread_t * thread, const pthread_attr_t* attributes, void* (*work)(void*),
             void* data) noexcept,
            (thread, attributes, work, data))
DVNN_SIMPLE(void*, mmap64, MAP_FAILED,
            (void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept,
            (at, size, protection, flags, fd, offset))

// A type has the same name.
DVNN_EXPORT int stat64(const char* path, struct stat64* status) noexcept {
  static const auto next_stat = next<int (*)(const char*, struct stat64*)>("stat64");
  return DVNN_FAILS(stat64) ? -1 : next_stat(path, status);
}

namespace {

using Open = int (*)(const char*, int, ...);

mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

}  // namespace

#define DVNN_OPEN(name)                                            \
  DVNN_EXPORT int name(const char* path, int flags, ...) {         \
    static const Open next_##name = next<Open>(#name);             \
    va_list list;                                                  \
    va_start(list, flags);                                         \
    const mode_t mode = mode_of(flags, list);                      \
    va_end(list);                                                  \
    return DVNN_FAILS(name) ? -1 : next_##name(path, flags, mode); \
  }

DVNN_OPEN(open64)
DVNN_OPEN(open)
