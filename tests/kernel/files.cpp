// SPDX-License-Identifier: Apache-2.0
#include "kernel/files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "kernel/commands.h"
#include "kernel/control.h"
#include "kernel/libc.h"
#include "robustness/faults/real_device.h"

namespace dvnn::kernel {
namespace {

constexpr const char* kSysfs = "/sys/class/dmp_dv/";
constexpr const char* kConvFolder = "/sys/class/dmp_dv/dv_conv/";

// Returns the machine's own lines, without those about contiguous memory.
std::string own_meminfo() {
  std::string text;
  FILE* file = libc().fopen("/proc/meminfo", "re");
  if (!file) return text;
  char line[256];
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, "Cma", 3) != 0) text += line;
  }
  std::fclose(file);
  return text;
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

}  // namespace

Board board_of_environment() {
  Board board;
  board.conv_values = {{"conv_freq", "100"},     {"conv_kick_count", "0"}, {"ub_size", "655360"},
                       {"max_kernel_size", "7"}, {"hw_version", "0700"},   {"svn_version", "93"},
                       {"mac_num", "576"}};
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  board.only_conv = value("DVNN_KERNEL_SYSTEM") == "CONV";
  board.coherent = value("DVNN_KERNEL_COHERENT") == "1";
  board.state = value("DVNN_KERNEL_STATE");
  if (const std::string bytes = value("DVNN_KERNEL_CMA"); !bytes.empty()) {
    board.cma_bytes = std::strtoull(bytes.c_str(), nullptr, 10);
  }
  if (const std::string ms = value("DVNN_KERNEL_PERIOD_MS"); !ms.empty()) {
    board.period_ms = std::atoi(ms.c_str());
  }
  std::istringstream values(value("DVNN_KERNEL_SYSFS"));
  for (std::string part; std::getline(values, part, ',');) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos) {
      board.conv_values[part.substr(0, equals)] = part.substr(equals + 1);
    }
  }
  return board;
}

std::optional<int> device_of(const Board& board, const std::string& path) {
  if (path == "/dev/ion") return kIon;
  if (path == "/dev/dv_conv") return 0;
  if (board.only_conv) return std::nullopt;
  if (path == "/dev/dv_ipu") return 1;
  if (path == "/dev/dv_maximizer") return 2;
  return std::nullopt;
}

std::optional<std::string> text_of(const Board& board, const std::string& path,
                                   uint64_t free_bytes) {
  if (path == "/proc/meminfo") {
    std::ostringstream lines;
    lines << own_meminfo() << "CmaTotal: " << board.cma_bytes / 1024
          << " kB\nCmaFree: " << free_bytes / 1024 << " kB\n";
    return lines.str();
  }
  if (!begins(path, kSysfs)) return std::nullopt;
  if (!begins(path, kConvFolder)) return "";
  const auto found = board.conv_values.find(path.substr(std::strlen(kConvFolder)));
  return found == board.conv_values.end() ? std::string() : found->second + "\n";
}

namespace {

using test::kMappedPage;
using test::real;

constexpr Heap kHeaps[] = {{"ion_system_heap", 0, 0, {}},
                           {"ion_carveout_heap", 2, 1, {}},
                           {"ion_cma_heap", kContiguous, 2, {}}};

}  // namespace

DmaBuf::~DmaBuf() {
  if (used) *used -= size;
  if (memory) real().mem_release(memory);
}

uint8_t* DmaBuf::cpu_view(bool coherent) {
  if (coherent) return device_view;
  if (!cache) cache = std::make_unique<test::CachedMapping>(device_view, size);
  return cache->cached();
}

void DmaBuf::clean(size_t begin, size_t end) {
  if (cache) cache->clean(begin, end);
  real().mem_to_device(memory, 0, size, 0);  // it may have kept what it made of the old bytes
}

void DmaBuf::invalidate(size_t begin, size_t end) {
  if (cache) cache->invalidate(begin, end);
}

File::~File() {
  for (dmp_dv_cmdlist list : lists) real().cmdlist_release(list);
  // To detach a buffer from a device discards what the CPU's caches have of it.
  for (auto& [fd, buf] : attached) {
    buf->invalidate(0, buf->size);
    --buf->attached;
  }
}

Files::Files() : board_(board_of_environment()), ids_(board_.state, board_.period_ms) {}

Files& files() {
  static Files* const all = new Files;
  return *all;
}

// Gives a file a descriptor of its own, which is `size` bytes long.
int Files::adopt(std::shared_ptr<File> file, size_t size) {
  const int fd = memfd_create("dvnn-kernel", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) return -1;
  files_[fd] = std::move(file);
  return fd;
}

int Files::open(int device) {
  auto file = std::make_shared<File>();
  file->device = device;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!context_) context_ = real().context_create();
  if (!context_) {
    errno = ENXIO;
    return -1;
  }
  return adopt(std::move(file), 0);
}

std::shared_ptr<File> Files::find(int fd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = files_.find(fd);
  return found == files_.end() ? nullptr : found->second;
}

bool Files::close(int fd) {
  std::shared_ptr<File> file;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = files_.find(fd);
  if (found == files_.end()) return false;
  file = std::move(found->second);
  files_.erase(found);
  libc().close(fd);
  if (file->device >= 0 && !file->buffer) {
    Queue& queue = queues_[file->device];
    queue.changed.wait(lock, [&] { return !queue.busy && queue.waiting.empty(); });
  }
  file.reset();  // under the lock: it counts attachments
  return true;
}

int Files::query_heaps(HeapQuery* query) const {
  if (query->reserved0 != 0 || query->reserved[0] != 0 || query->reserved[1] != 0) return EINVAL;
  constexpr uint32_t kCount = sizeof kHeaps / sizeof *kHeaps;
  if (query->heaps == 0) {
    query->count = kCount;
    return 0;
  }
  if (query->count == 0) return EINVAL;
  query->count = std::min(query->count, kCount);
  std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(query->heaps)), kHeaps,
              query->count * sizeof(Heap));
  return 0;
}

int Files::allocate(Allocation* allocation) {
  const uint64_t bytes = (allocation->bytes + kMappedPage - 1) / kMappedPage * kMappedPage;
  if (allocation->bytes == 0 || bytes < allocation->bytes) return EINVAL;
  if ((allocation->heap_mask & (1u << kHeaps[2].id)) == 0) return ENODEV;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > board_.cma_bytes - used_) return ENOMEM;
  auto buffer = std::make_shared<DmaBuf>();
  buffer->size = static_cast<size_t>(bytes);
  buffer->memory = real().mem_alloc(context_, buffer->size);
  if (!buffer->memory) return ENOMEM;
  buffer->device_view = real().mem_map(buffer->memory);
  used_ += bytes;
  buffer->used = &used_;
  auto file = std::make_shared<File>();
  file->buffer = std::move(buffer);
  const int fd = adopt(std::move(file), static_cast<size_t>(bytes));
  if (fd < 0) return errno;
  allocation->fd = static_cast<uint32_t>(fd);
  return 0;
}

// As arm64's dma_sync_single_for_cpu() and _for_device() do.
int Files::sync(DmaBuf* buffer, uint64_t flags) {
  if ((flags & ~uint64_t{DMA_BUF_SYNC_VALID_FLAGS_MASK}) != 0 || (flags & DMA_BUF_SYNC_RW) == 0) {
    return EINVAL;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (buffer->attached == 0) return 0;
  const bool write = (flags & DMA_BUF_SYNC_WRITE) != 0, read = (flags & DMA_BUF_SYNC_READ) != 0;
  if ((flags & DMA_BUF_SYNC_END) != 0) {
    write ? buffer->clean(0, buffer->size) : buffer->invalidate(0, buffer->size);
  } else if (read) {
    buffer->invalidate(0, buffer->size);
  }
  return 0;
}

// Returns the memory of a dma-buf for a device's file, which holds it until it is closed.
dmp_dv_mem Files::attach(File* file, int fd) {
  auto known = file->attached.find(fd);
  if (known == file->attached.end()) {
    const auto found = files_.find(fd);
    if (found == files_.end() || !found->second->buffer) return nullptr;
    known = file->attached.emplace(fd, found->second->buffer).first;
    ++known->second->attached;
    known->second->clean(0, known->second->size);
  }
  return known->second->memory;
}

int Files::append(File* file, const Append& append) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The image processing unit and the maximizer take one command per file.
  if (file->device > 0 && file->commands + append.count > 1) return EBUSY;
  const dmp_dv_cmdlist list = real().cmdlist_create(context_);
  if (!list) return ENOMEM;
  int error = 0;
  auto address =
      static_cast<uintptr_t>(append.commands);  // of a pointer of 32 bits: the lower half
  for (uint32_t i = 0; i < append.count && error == 0; ++i) {
    const auto* head = reinterpret_cast<const CommandHead*>(address);
    std::vector<uint8_t> raw;
    error = translate(
        file->device, head, [&](int fd) { return attach(file, fd); }, &raw);
    if (error != 0) break;
    if (real().cmdlist_add_raw(list, reinterpret_cast<dmp_dv_cmdraw*>(raw.data())) != 0) {
      error = EINVAL;
    }
    address += head->size;
  }
  if (error == 0 && real().cmdlist_commit(list) != 0) error = EINVAL;
  if (error != 0) {
    if (std::getenv("DVNN_KERNEL_VERBOSE")) {
      std::fprintf(stderr, "emulated kernel: %s (%s)\n", std::strerror(error),
                   real().get_last_error_message());
    }
    real().cmdlist_release(list);
    return error;
  }
  file->lists.push_back(list);
  file->commands += append.count;
  return 0;
}

int Files::run(const std::shared_ptr<File>& file, uint64_t* id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Queue& queue = queues_[file->device];
  if (!queue.started) std::thread(&Files::work, this, file->device).detach();
  queue.started = true;
  *id = ids_.next(file->device);
  queue.waiting.push_back({file, *id});
  queue.changed.notify_all();
  return 0;
}

int Files::ioctl(const std::shared_ptr<File>& file, unsigned long request, void* argument) {
  if (file->buffer) {
    if (request != DMA_BUF_IOCTL_SYNC) return ENOTTY;
    return sync(file->buffer.get(), static_cast<dma_buf_sync*>(argument)->flags);
  }
  if (file->device == kIon) {
    if (request == kQueryHeaps) return query_heaps(static_cast<HeapQuery*>(argument));
    return request == kAllocate ? allocate(static_cast<Allocation*>(argument)) : ENOTTY;
  }
  if (request == kAppend) return append(file.get(), *static_cast<Append*>(argument));
  if (request == kRun) return run(file, static_cast<uint64_t*>(argument));
  if (request != kWait) return 0;  // as the kernel module
  auto* wait = static_cast<Wait*>(argument);
  const int error = ids_.wait(file->device, wait->id);
  wait->microseconds = ids_.microseconds_since_start(file->device, wait->id);
  return error;
}

void* Files::map(const std::shared_ptr<DmaBuf>& buffer, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (size > buffer->size) return nullptr;
  void* address = buffer->cpu_view(board_.coherent);
  auto& entry = mapped_[address];
  entry.first = buffer;
  ++entry.second;
  return address;
}

bool Files::unmap(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = mapped_.find(address);
  if (found == mapped_.end()) return false;
  if (--found->second.second == 0) mapped_.erase(found);
  return true;
}

void Files::flush(uint8_t* begin, uint8_t* end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [address, entry] : mapped_) {
    auto* view = static_cast<uint8_t*>(address);
    if (begin < view || begin >= view + entry.first->size) continue;
    const auto from = static_cast<size_t>(begin - view), to = static_cast<size_t>(end - view);
    entry.first->clean(from, to);
    entry.first->invalidate(from, to);
  }
}

// A device's own thread: its files run one after the other.
void Files::work(int device) {
  const Inside inside;
  Queue& queue = queues_[device];
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    queue.changed.wait(lock, [&] { return !queue.waiting.empty(); });
    const Queued next = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    queue.busy = true;
    lock.unlock();
    ids_.await_turn(device, next.id);
    if (lose_.exchange(false)) {
      ids_.give_up(device, next.id);
    } else {
      execute(next.file.get());
      ids_.interrupt(device, next.id);
    }
    lock.lock();
    queue.busy = false;
    queue.changed.notify_all();
  }
}

void Files::execute(File* file) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto& [fd, buf] : file->attached) {
    if (!buf->cache) continue;
    buf->cache->clean_at_random(&random_);
    real().mem_to_device(buf->memory, 0, buf->size, 0);
    buf->cache->begin_run();
  }
  lock.unlock();
  for (dmp_dv_cmdlist list : file->lists) {
    const int64_t id = real().cmdlist_exec(list);
    if (id < 0 || real().cmdlist_wait(list, id) != 0) {
      std::fprintf(stderr, "emulated kernel: %s\n", real().get_last_error_message());
      std::abort();
    }
  }
  lock.lock();
  for (auto& [fd, buf] : file->attached) {
    if (!buf->cache) continue;
    buf->cache->end_run();
    buf->cache->clean_at_random(&random_);
  }
}

}  // namespace dvnn::kernel

#define DVNN_CONTROL __attribute__((visibility("default")))

using dvnn::kernel::files;

DVNN_CONTROL void dvnn_kernel_hold(int held) {
  files().ids().hold(held != 0);
}

DVNN_CONTROL void dvnn_kernel_lose_interrupt(void) {
  files().lose_interrupt();
}

DVNN_CONTROL void dvnn_kernel_expire(void) {
  files().ids().expire();
}

DVNN_CONTROL int dvnn_kernel_waiting(void) {
  return files().ids().waiting();
}

DVNN_CONTROL int dvnn_kernel_given_up(void) {
  return files().ids().given_up();
}

DVNN_CONTROL void dvnn_kernel_flush(void* begin, void* end) {
  const dvnn::kernel::Inside inside;
  files().flush(static_cast<uint8_t*>(begin), static_cast<uint8_t*>(end));
}
