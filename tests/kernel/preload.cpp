// SPDX-License-Identifier: Apache-2.0
// libdvnn-kernel.so: the functions of the C library by which programs reach the kernel. Those that
// concern the emulated board go to Files, all others to the C library.
#undef _FILE_OFFSET_BITS  // makes open() another name of open64()
#undef _TIME_BITS
#undef _FORTIFY_SOURCE  // defines some of the calls itself
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "kernel/files.h"
#include "kernel/libc.h"

#define DVNN_CALL extern "C" __attribute__((visibility("default")))

namespace dvnn::kernel {
namespace {

template <typename Function>
void find_next(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Set once a device of the board was opened: before, no file descriptor is ours.
std::atomic<bool> in_use{false};

// Whether a call is to be looked at: the emulation's own calls, and those of the software device on
// its behalf, are not.
bool is_program() {
  return in_use && !Inside::any();
}

// Returns a file descriptor with a text, or -1 and errno.
int open_text(const std::string& text) {
  if (text.empty()) {
    errno = ENOENT;
    return -1;
  }
  const int fd = memfd_create("dvnn-kernel-text", MFD_CLOEXEC);
  if (fd >= 0 && (write(fd, text.data(), text.size()) < 0 || lseek(fd, 0, SEEK_SET) < 0)) return -1;
  return fd;
}

// Whether a path may be one of the board's: most are not, also before it is there.
bool may_be_ours(const char* path) {
  for (const char* folder : {"/dev/ion", "/dev/dv_", "/sys/class/dmp_dv/", "/proc/meminfo"}) {
    if (path && std::strncmp(path, folder, std::strlen(folder)) == 0) return true;
  }
  return false;
}

// Opens a path of the board. False: it is none of its.
bool open_ours(const char* path, int* fd) {
  if (Inside::any() || !may_be_ours(path)) return false;
  const Inside inside;
  in_use = true;
  const Board& board = files().board();
  if (const auto text = text_of(board, path, files().free_bytes())) {
    *fd = open_text(*text);
  } else if (const auto device = device_of(board, path)) {
    *fd = files().open(*device);
  } else {
    errno = ENOENT;
    *fd = -1;
  }
  return true;
}

// Describes a device node of the board. False: the path is none.
template <typename Stat>
bool stat_ours(const char* path, Stat* status, int* result) {
  if (!may_be_ours(path) || path[1] != 'd') return false;
  if (!device_of(files().board(), path)) {
    errno = ENOENT;
    *result = -1;
    return true;
  }
  std::memset(status, 0, sizeof *status);
  status->st_mode = S_IFCHR | 0666;
  *result = 0;
  return true;
}

}  // namespace

const Libc& libc() {
  static const Libc functions = [] {
    Libc found;
    find_next("open", &found.open);
    find_next("fopen", &found.fopen);
    find_next("close", &found.close);
    find_next("ioctl", &found.ioctl);
    find_next("mmap64", &found.mmap64);
    find_next("munmap", &found.munmap);
    find_next("faccessat", &found.faccessat);
    return found;
  }();
  return functions;
}

}  // namespace dvnn::kernel

using dvnn::kernel::files;
using dvnn::kernel::Inside;
using dvnn::kernel::libc;

DVNN_CALL int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  int fd = -1;
  return dvnn::kernel::open_ours(path, &fd) ? fd : libc().open(path, flags, mode);
}

DVNN_CALL int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  int fd = -1;
  return dvnn::kernel::open_ours(path, &fd) ? fd : libc().open(path, flags | O_LARGEFILE, mode);
}

DVNN_CALL FILE* fopen(const char* path, const char* mode) {
  int fd = -1;
  if (!dvnn::kernel::open_ours(path, &fd)) return libc().fopen(path, mode);
  return fd < 0 ? nullptr : fdopen(fd, mode);
}

DVNN_CALL FILE* fopen64(const char* path, const char* mode) {
  return fopen(path, mode);
}

DVNN_CALL int close(int fd) {
  if (!dvnn::kernel::is_program()) return libc().close(fd);
  const Inside inside;
  return files().close(fd) ? 0 : libc().close(fd);
}

DVNN_CALL int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (!dvnn::kernel::is_program()) return libc().ioctl(fd, request, argument);
  const Inside inside;
  const auto file = files().find(fd);
  if (!file) return libc().ioctl(fd, request, argument);
  const int error = files().ioctl(file, request, argument);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

namespace {

// Maps a dma-buf. False: the file is none.
bool map_ours(int fd, size_t size, bool from_start, void** mapped) {
  if (fd < 0 || !dvnn::kernel::is_program()) return false;
  const Inside inside;
  const auto file = files().find(fd);
  if (!file || !file->buffer) return false;
  *mapped = from_start ? files().map(file->buffer, size) : nullptr;
  if (*mapped) return true;
  errno = EINVAL;
  *mapped = MAP_FAILED;
  return true;
}

}  // namespace

DVNN_CALL void* mmap(void* address, size_t size, int protection, int flags, int fd,
                     off_t offset) noexcept {
  void* mapped = nullptr;
  if (map_ours(fd, size, offset == 0, &mapped)) return mapped;
  return libc().mmap64(address, size, protection, flags, fd, offset);
}

DVNN_CALL void* mmap64(void* address, size_t size, int protection, int flags, int fd,
                       off64_t offset) noexcept {
  void* mapped = nullptr;
  if (map_ours(fd, size, offset == 0, &mapped)) return mapped;
  return libc().mmap64(address, size, protection, flags, fd, offset);
}

DVNN_CALL int munmap(void* address, size_t size) noexcept {
  if (!dvnn::kernel::is_program()) return libc().munmap(address, size);
  const Inside inside;
  return files().unmap(address) ? 0 : libc().munmap(address, size);
}

DVNN_CALL int stat(const char* path, struct stat* status) noexcept {
  int result = 0;
  if (dvnn::kernel::stat_ours(path, status, &result)) return result;
  return fstatat(AT_FDCWD, path, status, 0);
}

DVNN_CALL int stat64(const char* path, struct stat64* status) noexcept {
  int result = 0;
  if (dvnn::kernel::stat_ours(path, status, &result)) return result;
  return fstatat64(AT_FDCWD, path, status, 0);
}

DVNN_CALL int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (!dvnn::kernel::may_be_ours(path)) return libc().faccessat(folder, path, mode, flags);
  if (dvnn::kernel::device_of(files().board(), path)) return 0;
  errno = ENOENT;
  return -1;
}
