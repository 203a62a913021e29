// SPDX-License-Identifier: Apache-2.0
// The device: a library with the C ABI of dmp_dv.h, chosen and loaded at run time.
//
// Device, Memory and CommandList own their C handles. A Memory or CommandList keeps its Device
// alive. Objects of one Device may be used from several threads; one Memory or one CommandList by
// one thread at a time (exec and wait are free threaded).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/share.h"
#include "base/span.h"
#include "device/command.h"

struct dmp_dv_cmdraw;
struct dvnn_soft_chain;

namespace dvnn::device {

class Library;  // the loaded shared object and its function table (loader.h)

/// The device's own description.
struct Info {
  std::string description;  // the driver's own info string
  std::string version;      // "7.2.20201106"
  int ub_size = 0;          // unified buffer, bytes
  int max_kernel_size = 0;
  int conv_freq = 0;           // convolution block, MHz
  int fc_freq = 0;             // fully connected block, MHz; 0: there is none
  int max_fc_vector_size = 0;  // elements
};

/// The order of the device's lookup table, which maps 8-bit pixels to 3 x 256 binary16 values.
enum class PixelTableOrder : uint8_t {
  kNone,         // the device takes no pixels
  kPlanar,       // [channel][level]
  kInterleaved,  // [level][channel]
};
constexpr size_t kPixelTableBytes = 3 * 256 * sizeof(half_t);

/// A piece of device memory, mapped for the CPU until it dies or unmap() is called.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;
  ~Memory();
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }  // what was asked for
  explicit operator bool() const { return handle_ != nullptr; }
  void* handle() const { return handle_; }  // a dmp_dv_mem
  /// Hands [offset, offset + size) over to the device, after the CPU has written it.
  Status to_device(size_t offset, size_t size) const;
  /// Unmaps the memory from the CPU, after which data() is null. The device may then rely on
  /// contents that do not change.
  void unmap();
  /// Hands [offset, offset + size) back to the CPU after the device has written it.
  Status to_cpu(size_t offset, size_t size) const;

 private:
  friend class Device;
  friend class CommandList;
  std::shared_ptr<const Library> library_;
  void* handle_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

/// Bytes from `offset` of `memory`; a null memory means "none".
struct BufferRef {
  const Memory* memory = nullptr;
  uint64_t offset = 0;
};

/// Commands that run one after the other. Build, commit once, execute any number of times.
class CommandList {
 public:
  CommandList() = default;
  CommandList(CommandList&&) noexcept;
  CommandList& operator=(CommandList&&) noexcept;
  ~CommandList();
  /// Appends a convolution command; errors carry the driver's message. With a `pixel_table` the
  /// input is 8-bit pixels of three channels, which the device looks up in that table.
  Status add(const ConvCommand& command, BufferRef input, BufferRef output, BufferRef eltwise,
             const Memory& weights, BufferRef pixel_table = {});
  /// Has a chain of functions follow the last command (device/soft_extension.h): only for devices
  /// that follow().
  Status follow(const dvnn_soft_chain& chain);
  /// Appends a command in the driver's form.
  Status add_raw(const dmp_dv_cmdraw& command);
  Status commit();
  /// Runs the list and waits for it, on this thread if the device can. Writes each command's time
  /// to `command_ns`, nanoseconds, as far as that reaches; zeros if the device does not measure it.
  Status run(Span<int64_t> command_ns = {}) const;
  /// Queues the list and returns an id for wait().
  Result<int64_t> exec() const;
  Status wait(int64_t id) const;
  /// Returns the execution time of the last run that was waited for, microseconds; 0 or less if the
  /// device does not measure it.
  int64_t last_exec_time() const;
  explicit operator bool() const { return handle_ != nullptr; }
  void* handle() const { return handle_; }  // a dmp_dv_cmdlist

 private:
  friend class Device;
  std::shared_ptr<const Library> library_;
  void* handle_ = nullptr;
};

/// A device library that "auto" prefers to the one in use, but which does not work.
struct PassedOver {
  std::string library;
  std::string why;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Opens a device. `selector`: "auto" (the vendor's library if it loads and gives a context with
  /// a convolution block, else the software device), "fpga", "soft", or a library's path. Empty:
  /// the DVNN_DEVICE environment variable, else "auto". Errors name what was tried and what to do:
  /// kNotFound where no library of those is installed.
  static Result<std::shared_ptr<Device>> open(const std::string& selector);
  ~Device();
  const Info& info() const { return info_; }
  void* context() const { return context_; }  // a dmp_dv_context
  /// Returns the path or name of the library in use.
  const std::string& library_path() const;
  /// Returns the selector that opens this device again: "fpga", "soft", or its library's path.
  std::string name() const;
  /// Whether it is the software device, by any name.
  bool is_software() const;
  /// Returns the libraries that are installed, but did not work when "auto" tried them before this
  /// one.
  const std::vector<PassedOver>& passed_over() const { return passed_over_; }
  /// Returns the function that shares work among the device's threads (base/share.h), or null if it
  /// has none.
  ShareFunction share() const;
  /// Returns whether functions may follow a command before its results are rounded: true for the
  /// software device, unless DVNN_SOFT_UNFUSED or DVNN_SOFT_PACE is set.
  bool follows() const;
  Result<Memory> allocate(size_t size);
  /// Allocates zeros for values that last no longer than a command list that writes them. Lists may
  /// share them and run at once: a board runs one after the other, and the software device gives
  /// each its own bytes.
  Result<Memory> allocate_transient(size_t size);
  Result<CommandList> create_command_list();
  /// Returns whether the device takes pixels, and the order of its table. No document states it, so
  /// the first call looks up every entry with a convolution that changes nothing; the result is
  /// kept.
  PixelTableOrder pixel_table_order();

 private:
  Device() = default;
  static Result<std::shared_ptr<Device>> open_library(const std::string& path);
  std::shared_ptr<const Library> library_;
  void* context_ = nullptr;
  Info info_;
  std::vector<PassedOver> passed_over_;
  std::once_flag probed_;
  PixelTableOrder pixel_table_order_ = PixelTableOrder::kNone;
};

/// Measures the result of Device::pixel_table_order().
PixelTableOrder probe_pixel_table(Device* device);

}  // namespace dvnn::device
