// SPDX-License-Identifier: Apache-2.0
// A small user driver, which issues the ioctls that the vendor's does.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "check_suite.h"
#include "kernel/uapi.h"
#include "tensor/packing.h"

namespace dvnn::test::kernel_tests {

using namespace dvnn::kernel;

// Returns 0 or errno.
template <typename Argument>
int call(int fd, unsigned long request, Argument* argument) {
  return ioctl(fd, request, argument) == 0 ? 0 : errno;
}

// A file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) { ck_assert_int_ge(fd, 0); }
  explicit Fd(const char* path) : Fd(open(path, O_RDONLY | O_CLOEXEC)) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd& operator=(Fd&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

inline uint32_t contiguous_mask(int ion) {
  Heap heaps[32];
  HeapQuery query = {};
  ck_assert_int_eq(call(ion, kQueryHeaps, &query), 0);
  query.heaps = reinterpret_cast<uintptr_t>(heaps);
  ck_assert_int_eq(call(ion, kQueryHeaps, &query), 0);
  uint32_t mask = 0;
  for (uint32_t i = 0; i < query.count; ++i) {
    if (heaps[i].type == kContiguous) mask |= 1u << heaps[i].id;
  }
  return mask;
}

inline int allocate(int ion, uint32_t mask, uint64_t bytes, int* fd) {
  Allocation allocation = {};
  allocation.bytes = bytes;
  allocation.heap_mask = mask;
  allocation.flags = 1;
  const int error = call(ion, kAllocate, &allocation);
  *fd = static_cast<int>(allocation.fd);
  return error;
}

// A mapped dma-buf.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : fd_(made(bytes)) {
    size_ = static_cast<size_t>(lseek(fd_.get(), 0, SEEK_END));
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    ck_assert(mapped != MAP_FAILED);
    data_ = static_cast<half_t*>(mapped);
  }
  ~Memory() { munmap(data_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  int fd() const { return fd_.get(); }
  size_t size() const { return size_; }
  half_t* data() const { return data_; }
  int sync(uint64_t flags) const {
    dma_buf_sync argument = {flags};
    return call(fd(), DMA_BUF_IOCTL_SYNC, &argument);
  }
  void begin() const { ck_assert_int_eq(sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), 0); }
  void end() const { ck_assert_int_eq(sync(DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW), 0); }

 private:
  static Fd made(uint64_t bytes) {
    const Fd ion("/dev/ion");
    int fd = -1;
    ck_assert_int_eq(allocate(ion.get(), contiguous_mask(ion.get()), bytes, &fd), 0);
    return Fd(fd);
  }
  Fd fd_;
  size_t size_;
  half_t* data_;
};

constexpr int kSide = 4, kChannels = 8;
constexpr int kValues = kSide * kSide * kChannels;
constexpr uint64_t kOutput = 4096, kWeights = 8192, kTable = 16384;  // bytes

// Writes weights that double each channel.
inline void write_weights(half_t* to) {
  std::vector<half_t> weights(kChannels * kChannels), bias(kChannels);
  for (int i = 0; i < kChannels; ++i)
    weights[static_cast<size_t>(i * (kChannels + 1))] = float_to_half(2);
  pack_weights({kChannels, kChannels, 1, 1, false, false, false},
               {nullptr, weights.data(), bias.data(), nullptr}, reinterpret_cast<uint8_t*>(to));
}

inline void write_input(half_t* to, int first) {
  for (int i = 0; i < kValues; ++i) to[i] = float_to_half(static_cast<float>(first + i));
}

inline bool is_doubled(const half_t* result, int first) {
  for (int i = 0; i < kValues; ++i) {
    if (result[i] != float_to_half(static_cast<float>(2 * (first + i)))) return false;
  }
  return true;
}

inline dmp_dv_buf at(int fd, uint64_t offset) {
  const Buffer named = {fd, 0, offset};
  dmp_dv_buf buf;
  std::memcpy(&buf, &named, sizeof buf);
  return buf;
}

// A convolution as the kernel is sent it: of one run, whose unused ones are cut off.
inline dmp_dv_cmdraw_conv_v0 doubling(int fd) {
  dmp_dv_cmdraw_conv_v0 command;
  std::memset(&command, 0, sizeof command);
  const CommandHead head = {conv_bytes(1), 0};
  std::memcpy(&command, &head, sizeof head);
  command.input_buf = at(fd, 0);
  command.output_buf = at(fd, kOutput);
  command.eltwise_buf = at(-1, 0);
  command.topo = 1;
  command.w = command.h = kSide;
  command.z = 1;
  command.c = kChannels;
  command.run[0].weight_buf = at(fd, kWeights);
  command.run[0].m = kChannels;
  command.run[0].conv_enable = 1;
  command.run[0].p = 0x0101;
  command.run[0].pz = 1;
  command.run[0].conv_stride = 0x0101;
  command.run[0].weight_fmt = 1;
  return command;
}

inline int append(int device, const void* command, uint32_t count = 1) {
  Append argument = {count, 0, reinterpret_cast<uintptr_t>(command)};
  return call(device, kAppend, &argument);
}

inline uint64_t run(int device) {
  uint64_t id = 0;
  ck_assert_int_eq(call(device, kRun, &id), 0);
  return id;
}

inline int wait_for(int device, uint64_t id) {
  Wait argument = {id, -1};
  return call(device, kWait, &argument);
}

// A memory with weights, and a device's file with one command.
struct Bench {
  Memory memory{65536};
  Fd device{"/dev/dv_conv"};
  Bench() {
    write_weights(memory.data() + kWeights / sizeof(half_t));
    const auto command = doubling(memory.fd());
    ck_assert_int_eq(append(device.get(), &command), 0);
  }
  const half_t* result() const { return memory.data() + kOutput / sizeof(half_t); }
};

// Runs the bench's command on numbers from `first` on; returns the id.
inline uint64_t double_numbers(const Bench& bench, int first) {
  bench.memory.begin();
  write_input(bench.memory.data(), first);
  bench.memory.end();
  const uint64_t id = run(bench.device.get());
  ck_assert_int_eq(wait_for(bench.device.get(), id), 0);
  bench.memory.begin();
  ck_assert(is_doubled(bench.result(), first));
  bench.memory.end();
  return id;
}

}  // namespace dvnn::test::kernel_tests
