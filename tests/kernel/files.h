// SPDX-License-Identifier: Apache-2.0
// The emulated kernel's open files: /dev/ion, the DV devices, and dma-bufs. File descriptors are
// real ones (memfds), so that a process's list of them and their sizes are as on a board.
//
// Device memory is the software device's. What a dma-buf maps is the view of a CPU cache that is
// not coherent with the device (cached_mapping.h), unless the board is coherent. As with ION, the
// sync ioctl does something only once the buffer is attached to a device, which happens when a
// file's command first names it; attaching writes the whole cache back, and detaching discards it.
//
// What the board has in /dev and /sys, and its free contiguous memory, the environment changes:
//   DVNN_KERNEL_SYSTEM     "CONV": only /dev/dv_conv is there, else dv_ipu and dv_maximizer, too
//   DVNN_KERNEL_SYSFS      "ub_size=524288,mac_num=1152": values in /sys/class/dmp_dv/dv_conv
//   DVNN_KERNEL_CMA        bytes of contiguous memory (default 256 MiB)
//   DVNN_KERNEL_COHERENT   1: the CPU's caches are coherent with the device
//   DVNN_KERNEL_PERIOD_MS  the most that a wait takes (default 2000; 0: until a test says so)
//   DVNN_KERNEL_STATE      a file by which processes share the board
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernel/ids.h"
#include "kernel/uapi.h"
#include "robustness/faults/cached_mapping.h"

namespace dvnn::kernel {

struct Board {
  std::map<std::string, std::string> conv_values;  // sysfs
  bool only_conv = false, coherent = false;
  uint64_t cma_bytes = uint64_t{256} << 20;
  int period_ms = 2000;
  std::string state;
};
Board board_of_environment();

constexpr int kIon = -1;  // beside the minor numbers 0, 1 and 2

/// Returns the device that a path in /dev names, if the board has it.
std::optional<int> device_of(const Board& board, const std::string& path);
/// Returns the text of a file in /sys/class/dmp_dv or of /proc/meminfo, given the memory that is
/// free. None: it is no such file; empty: it is not there.
std::optional<std::string> text_of(const Board& board, const std::string& path,
                                   uint64_t free_bytes);

/// A dma-buf: lives while a file descriptor, a mapping or a device's file holds it.
struct DmaBuf {
  dmp_dv_mem memory = nullptr;
  uint8_t* device_view = nullptr;
  size_t size = 0;                             // bytes, whole pages
  std::unique_ptr<test::CachedMapping> cache;  // null before it is mapped, or if coherent
  int attached = 0;                            // number of device files
  std::atomic<uint64_t>* used = nullptr;       // of the contiguous memory

  ~DmaBuf();
  uint8_t* cpu_view(bool coherent);
  void clean(size_t begin, size_t end);
  void invalidate(size_t begin, size_t end);
};

struct File {
  int device = kIon;               // or a minor number
  std::shared_ptr<DmaBuf> buffer;  // if the file is a dma-buf
  // Of a device's file:
  std::vector<dmp_dv_cmdlist> lists;  // one per APPEND
  size_t commands = 0;
  std::map<int, std::shared_ptr<DmaBuf>> attached;  // by file descriptor, as in the kernel module

  ~File();
};

class Files {
 public:
  Files();
  const Board& board() const { return board_; }
  uint64_t free_bytes() const { return board_.cma_bytes - used_; }

  /// Opens a device; returns a file descriptor, or -1 and errno.
  int open(int device);
  /// Closes a file of ours, once its device has run what was queued. False: it is none.
  bool close(int fd);
  /// Returns null if it is no file of ours.
  std::shared_ptr<File> find(int fd);
  /// Returns 0 or an errno value.
  int ioctl(const std::shared_ptr<File>& file, unsigned long request, void* argument);
  /// Maps a whole dma-buf; null: its size is less.
  void* map(const std::shared_ptr<DmaBuf>& buffer, size_t size);
  /// False: it is no mapping of ours.
  bool unmap(void* address);
  /// Cleans and invalidates what is mapped of [begin, end).
  void flush(uint8_t* begin, uint8_t* end);
  Ids& ids() { return ids_; }
  void lose_interrupt() { lose_ = true; }

 private:
  struct Queued {
    std::shared_ptr<File> file;
    uint64_t id;
  };
  struct Queue {
    std::deque<Queued> waiting;
    std::condition_variable changed;
    bool started = false, busy = false;
  };
  int query_heaps(HeapQuery* query) const;
  int allocate(Allocation* allocation);
  int sync(DmaBuf* buffer, uint64_t flags);
  int append(File* file, const Append& append);
  int run(const std::shared_ptr<File>& file, uint64_t* id);
  int adopt(std::shared_ptr<File> file, size_t size);
  dmp_dv_mem attach(File* file, int fd);
  void work(int device);
  void execute(File* file);

  const Board board_;
  Ids ids_;
  std::mutex mutex_;  // guards all below, and the caches
  std::map<int, std::shared_ptr<File>> files_;
  std::map<void*, std::pair<std::shared_ptr<DmaBuf>, int>> mapped_;  // number of mappings
  Queue queues_[kDevices];
  std::mt19937 random_{std::random_device{}()};
  std::atomic<uint64_t> used_{0};
  std::atomic<bool> lose_{false};
  dmp_dv_context context_ = nullptr;
};

/// The process's. Never destroyed: other threads may run when the process ends.
Files& files();

}  // namespace dvnn::kernel
