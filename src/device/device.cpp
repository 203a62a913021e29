// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/environment.h"
#include "base/format.h"
#include "base/log.h"
#include "device/call_watch.h"
#include "device/loader.h"
#include "device/raw_command.h"
#include "dmp_dv_cmdraw_v1.h"

namespace dvnn::device {
namespace {

dmp_dv_mem mem(void* handle) {
  return static_cast<dmp_dv_mem>(handle);
}

// Hands over the whole memory, where the driver knows no ranges. Ending an access that may write
// writes the CPU's cache back; one that was not begun would do nothing.
bool write_back(const Functions& fn, void* memory) {
  return fn.mem_sync_start(mem(memory), 0, 1) == 0 && fn.mem_sync_end(mem(memory)) == 0;
}

std::string text_of(const char* text) {
  return text ? text : "unknown";
}
dmp_dv_cmdlist list(void* handle) {
  return static_cast<dmp_dv_cmdlist>(handle);
}

}  // namespace

// --- Memory ----------------------------------------------------------------------------------

Memory::Memory(Memory&& o) noexcept {
  *this = std::move(o);
}

Memory& Memory::operator=(Memory&& o) noexcept {
  std::swap(library_, o.library_);
  std::swap(handle_, o.handle_);
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

Memory::~Memory() {
  if (!handle_) return;
  const InCall in_call;
  library_->fn().mem_unmap(mem(handle_));
  library_->fn().mem_release(mem(handle_));
}

void Memory::unmap() {
  const InCall in_call;
  library_->fn().mem_unmap(mem(handle_));
  data_ = nullptr;
}

Status Memory::to_device(size_t offset, size_t size) const {
  const InCall in_call;
  const Functions& fn = library_->fn();
  if (fn.mem_to_device) {
    if (fn.mem_to_device(mem(handle_), offset, size, 0) == 0) return {};
  } else if (write_back(fn, handle_)) {
    return {};
  }
  return library_->error("handing memory to the device failed");
}

Status Memory::to_cpu(size_t offset, size_t size) const {
  const InCall in_call;
  const Functions& fn = library_->fn();
  if (fn.mem_to_cpu) {
    if (fn.mem_to_cpu(mem(handle_), offset, size, 0) == 0) return {};
  } else if (write_back(fn, handle_) && fn.mem_sync_start(mem(handle_), 1, 1) == 0) {
    return {};  // and nothing that the CPU has written elsewhere in it was lost
  }
  return library_->error("taking memory back from the device failed");
}

// --- CommandList -----------------------------------------------------------------------------

CommandList::CommandList(CommandList&& o) noexcept {
  *this = std::move(o);
}

CommandList& CommandList::operator=(CommandList&& o) noexcept {
  std::swap(library_, o.library_);
  std::swap(handle_, o.handle_);
  return *this;
}

CommandList::~CommandList() {
  const InCall in_call;
  if (handle_) library_->fn().cmdlist_release(list(handle_));
}

Status CommandList::add(const ConvCommand& command, BufferRef input, BufferRef output,
                        BufferRef eltwise, const Memory& weights, BufferRef pixel_table) {
  auto buffer = [](BufferRef ref) {
    dmp_dv_buf buf;
    std::memset(&buf, 0, sizeof buf);
    if (ref.memory) {
      buf.mem = mem(ref.memory->handle_);
      buf.offs = ref.offset;
    }
    return buf;
  };
  dmp_dv_cmdraw_conv_v0 raw = to_raw(command);
  raw.input_buf = buffer(input);
  raw.output_buf = buffer(output);
  raw.eltwise_buf = buffer(eltwise);
  for (size_t i = 0; i < command.runs.size() && i < kMaxRuns; ++i) {
    if (command.runs[i].conv == ConvKind::kNone) continue;
    raw.run[i].weight_buf = buffer({&weights, command.runs[i].weight_offset});
  }
  const dmp_dv_cmdraw* header = &raw.header;
  dmp_dv_cmdraw_conv_v1 with_table;
  if (pixel_table.memory) {
    std::memset(&with_table, 0, sizeof with_table);
    with_table.header.size = sizeof with_table;
    with_table.header.device_type = DMP_DV_DEV_CONV;
    with_table.header.version = 1;
    with_table.u8tofp16_table = buffer(pixel_table);
    with_table.conv_cmd = raw;
    header = &with_table.header;
  }
  return add_raw(*header);
}

Status CommandList::add_raw(const dmp_dv_cmdraw& command) {
  const InCall in_call;
  if (library_->fn().cmdlist_add_raw(list(handle_), const_cast<dmp_dv_cmdraw*>(&command)) == 0) {
    return {};
  }
  return library_->error("the device refuses the command");
}

Status CommandList::commit() {
  const InCall in_call;
  if (library_->fn().cmdlist_commit(list(handle_)) == 0) return {};
  return library_->error("the device refuses the command list");
}

Status CommandList::follow(const dvnn_soft_chain& chain) {
  const InCall in_call;
  const Functions& fn = library_->fn();
  if (!fn.soft_follow) return Error{ErrorCode::kDevice, "nothing can follow the device's commands"};
  if (fn.soft_follow(list(handle_), &chain) == 0) return {};
  return library_->error("the device does not take what follows a command");
}

Status CommandList::run(Span<int64_t> command_ns) const {
  const InCall in_call;
  const Functions& fn = library_->fn();
  if (!fn.soft_run) {
    DVNN_ASSIGN(const int64_t id, exec());
    return wait(id);
  }
  if (fn.soft_run(list(handle_), command_ns.data(), static_cast<int>(command_ns.size())) == 0) {
    return {};
  }
  return library_->error("the device does not run the command list");
}

Result<int64_t> CommandList::exec() const {
  const InCall in_call;
  const int64_t id = library_->fn().cmdlist_exec(list(handle_));
  if (id >= 0) return id;
  return library_->error("the device does not execute");
}

Status CommandList::wait(int64_t id) const {
  const InCall in_call;
  // A signal ends the driver's wait unless its handler restarts calls. The driver's result does not
  // tell, but it leaves errno as its own call did.
  do {
    errno = 0;
    if (library_->fn().cmdlist_wait(list(handle_), id) == 0) return {};
  } while (errno == EINTR);
  return library_->error("waiting for the device failed");
}

int64_t CommandList::last_exec_time() const {
  const Functions& fn = library_->fn();
  return fn.cmdlist_get_last_exec_time ? fn.cmdlist_get_last_exec_time(list(handle_)) : -1;
}

// --- Device ----------------------------------------------------------------------------------

Result<std::shared_ptr<Device>> Device::open(const std::string& selector) {
  std::string choice = selector;
  if (choice.empty()) {
    const char* named = environment("DVNN_DEVICE");
    choice = named ? named : "auto";
  }
  std::vector<std::string> candidates;
  if (choice == "fpga") {
    candidates = {kVendorLibrary};
  } else if (choice == "soft") {
    candidates = soft_library_candidates();
  } else if (choice == "auto") {
    candidates = soft_library_candidates();
    candidates.insert(candidates.begin(), kVendorLibrary);
  } else {
    candidates = {choice};
  }
  // Collects one cause per library. The result is kNotFound only if every library is missing.
  std::string causes;
  std::vector<PassedOver> passed_over;
  for (const std::string& path : candidates) {
    auto device = open_library(path);
    if (device.ok()) {
      DVNN_LOG(kDevice, kInfo, "device '%s' is %s (%s)", choice.c_str(), path.c_str(),
               device.value()->info().description.c_str());
      device.value()->passed_over_ = std::move(passed_over);
      return device;
    }
    const Error& error = device.error();
    DVNN_LOG(kDevice, kInfo, "%s is passed over: %s", path.c_str(), error.message.c_str());
    causes += (causes.empty() ? "" : "; ") + error.message;
    if (error.code != ErrorCode::kNotFound) passed_over.push_back({path, error.message});
  }
  const ErrorCode code = passed_over.empty() ? ErrorCode::kNotFound : ErrorCode::kDevice;
  return Error{code, "no device '" + choice + "': " + causes +
                         " (choose auto, fpga, soft or a library's path by the device property or "
                         "DVNN_DEVICE)"};
}

Result<std::shared_ptr<Device>> Device::open_library(const std::string& path) {
  const InCall in_call;
  DVNN_ASSIGN(auto library, Library::load(path));
  const Functions& fn = library->fn();
  std::shared_ptr<Device> device(new Device());
  device->context_ = fn.context_create();
  if (!device->context_) return library->error(path + ": no context");
  device->library_ = library;
  dmp_dv_context ctx = static_cast<dmp_dv_context>(device->context_);
  dmp_dv_info_v0 info;
  std::memset(&info, 0, sizeof info);
  info.header.size = sizeof info;
  if (fn.context_get_info(ctx, &info.header) != 0) {
    return library->error(path + ": no information");
  }
  if (info.conv_freq == 0) {
    return Error{ErrorCode::kDevice, path + ": the device has no convolution block"};
  }
  device->info_ = {text_of(fn.context_get_info_string(ctx)),
                   text_of(fn.get_version_string()),
                   info.ub_size,
                   info.max_kernel_size,
                   info.conv_freq,
                   info.fc_freq,
                   info.max_fc_vector_size};
  return device;
}

Device::~Device() {
  const InCall in_call;
  if (context_) library_->fn().context_release(static_cast<dmp_dv_context>(context_));
}

const std::string& Device::library_path() const {
  return library_->path();
}

std::string Device::name() const {
  const std::string file = base_name(library_path());
  if (file == kVendorLibrary) return "fpga";
  if (file == kSoftLibrary) return "soft";
  return library_path();
}

bool Device::is_software() const {
  return library_->fn().soft_run != nullptr;
}

ShareFunction Device::share() const {
  return library_->fn().soft_share;
}

bool Device::follows() const {
  // A device that keeps a board's pace leaves CPU layers to the CPU, as the board does.
  return library_->fn().soft_follow && !environment("DVNN_SOFT_UNFUSED") &&
         !environment("DVNN_SOFT_PACE");
}

Result<Memory> Device::allocate(size_t size) {
  const InCall in_call;
  const Functions& fn = library_->fn();
  Memory memory;
  memory.library_ = library_;
  memory.handle_ = fn.mem_alloc(static_cast<dmp_dv_context>(context_), size);
  if (!memory.handle_) {
    return library_->error(format("no device memory of %zu bytes", size));
  }
  memory.data_ = fn.mem_map(mem(memory.handle_));
  if (!memory.data_) return library_->error("device memory cannot be mapped");
  // The CPU owns the memory until it is handed over.
  if (!fn.mem_to_device && fn.mem_sync_start(mem(memory.handle_), 1, 1) != 0) {
    return library_->error("device memory cannot be synchronised");
  }
  memory.size_ = size;
  return memory;
}

Result<Memory> Device::allocate_transient(size_t size) {
  DVNN_ASSIGN(Memory memory, allocate(size));
  const auto make_transient = library_->fn().soft_transient;
  if (make_transient && make_transient(mem(memory.handle_)) != 0) {
    return library_->error("device memory cannot be transient");
  }
  std::memset(memory.data(), 0, size);  // never a previous owner's data
  DVNN_TRY(memory.to_device(0, size));
  return memory;
}

PixelTableOrder Device::pixel_table_order() {
  std::call_once(probed_, [this] { pixel_table_order_ = probe_pixel_table(this); });
  return pixel_table_order_;
}

Result<CommandList> Device::create_command_list() {
  const InCall in_call;
  CommandList commands;
  commands.library_ = library_;
  commands.handle_ = library_->fn().cmdlist_create(static_cast<dmp_dv_context>(context_));
  if (!commands.handle_) return library_->error("no command list");
  return commands;
}

}  // namespace dvnn::device
