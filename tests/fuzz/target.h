// SPDX-License-Identifier: Apache-2.0
// Helpers of fuzz targets. A target is a file with a try_input(): libFuzzer calls it with inputs
// that reach new code, replay.cpp with those in corpus/.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/result.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace dvnn::fuzz {

/// Number of inputs that were not refused. A target that refuses every input tests only its first
/// check, so a replay that counts none fails.
inline int64_t accepted = 0;

/// Crashes unless `good`: that is how a fuzzer learns of a mistake.
inline void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Crashes if an error is not a single line.
inline void expect_one_line(const Error& error) {
  if (!error.message.empty() && error.message.find('\n') == std::string::npos) return;
  std::fprintf(stderr, "not a line: '%s'\n", error.message.c_str());
  std::abort();
}

/// Returns whether there is no error; an error must be a single line.
template <typename T>
bool is_good(const Result<T>& result) {
  if (!result.ok()) expect_one_line(result.error());
  return result.ok();
}

/// Sets small budgets, so that many inputs are tried per second and every limit is reached.
inline void set_small_budgets() {
  setenv("DVNN_MAX_IO_BYTES", "1000000", 1);
  setenv("DVNN_MAX_CONSTANT_BYTES", "1000000", 1);
  setenv("DVNN_MAX_SCRATCH_BYTES", "4000000", 1);
  setenv("DVNN_MAX_DEVICE_MACS", "1000000", 1);
  setenv("DVNN_MAX_CPU_WORK", "1000000", 1);
  setenv("DVNN_MAX_CANDIDATES", "4096", 1);
  setenv("DVNN_MAX_GRAPH_NODES", "256", 1);
  setenv("DVNN_MAX_WEIGHT_BYTES", "1000000", 1);
  setenv("DVNN_SOFT_THREADS", "1", 1);
}

/// A file in memory, for functions that take a path.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Writes these bytes and returns the path.
  std::string with(const std::string& bytes) {
    if (ftruncate(fd_, 0) != 0 ||
        pwrite(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

/// A target of a replay program, which has several.
struct Target {
  const char* name;
  void (*prepare)();
  void (*try_input)(const uint8_t* data, size_t size);
  size_t (*mutate)(uint8_t* data, size_t size, size_t max_size, unsigned seed);
};
/// Adds a target to replay.cpp's list. Returns true.
bool add_target(const Target& target);

}  // namespace dvnn::fuzz

/// Makes a target of a file's prepare(), which runs first, and try_input(). Its inputs are mutated
/// as bytes, by its own mutate(), or as JSON.
#ifdef DVNN_LIBFUZZER
#define DVNN_FUZZ_TARGET(name)                                              \
  extern "C" int LLVMFuzzerInitialize(int*, char***) {                      \
    prepare();                                                              \
    return 0;                                                               \
  }                                                                         \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    try_input(data, size);                                                  \
    return 0;                                                               \
  }
#define DVNN_FUZZ_MUTATED_TARGET(name)                                                   \
  DVNN_FUZZ_TARGET(name)                                                                 \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, \
                                            unsigned seed) {                             \
    return mutate(data, size, max_size, seed);                                           \
  }
#define DVNN_FUZZ_JSON_TARGET(name)                                                              \
  DVNN_FUZZ_MUTATED_TARGET(name)                                                                 \
  extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, \
                                              size_t b_size, uint8_t* out, size_t max_size,      \
                                              unsigned seed) {                                   \
    return cross(a, a_size, b, b_size, out, max_size, seed);                                     \
  }
#else
#define DVNN_FUZZ_TARGET(name)                  \
  [[maybe_unused]] static const bool is_added = \
      dvnn::fuzz::add_target({#name, prepare, try_input, nullptr});
#define DVNN_FUZZ_MUTATED_TARGET(name)          \
  [[maybe_unused]] static const bool is_added = \
      dvnn::fuzz::add_target({#name, prepare, try_input, mutate});
#define DVNN_FUZZ_JSON_TARGET(name) DVNN_FUZZ_MUTATED_TARGET(name)
#endif
