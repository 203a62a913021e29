// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <new>

#include "device/soft_extension.h"
#include "softdv/emulator/checks.h"
#include "softdv/emulator/conv_command.h"
#include "softdv/emulator/objects.h"
#include "softdv/emulator/queue.h"

using namespace dvnn::softdv;

namespace {

// Spelt as the vendor's driver does: programs may compare the beginnings of its errors.
constexpr char kCommitted[] = "Command list is already in commited state";
constexpr char kNotCommitted[] = "Command list is not in commited state";

// The header's checks; sets `type` to the block of the device that runs the command.
int check_header(const dmp_dv_cmdraw* raw, int* type) {
  if (raw->size < sizeof *raw) {
    set_error("Invalid argument: header.size %u is below %zu", raw->size, sizeof *raw);
    return EINVAL;
  }
  if (raw->device_type == 0 || raw->device_type >= DMP_DV_DEV_COUNT) {
    set_error("Invalid argument: device_type %u is not supported", raw->device_type);
    return EINVAL;
  }
  // The convolution block runs the commands of a fully connected block that does not exist.
  *type = raw->device_type == DMP_DV_DEV_FC ? DMP_DV_DEV_CONV : raw->device_type;
  return 0;
}

int accept_command(const dmp_dv_cmdraw* raw, Accepted* accepted) {
  if (raw->version > (raw->device_type == DMP_DV_DEV_CONV ? 1 : 0)) {
    set_error("Version %u of device_type %u is not supported", raw->version, raw->device_type);
    return ENOTSUP;
  }
  switch (raw->device_type) {
    case DMP_DV_DEV_CONV:
      return accept_conv(raw, accepted);
    case DMP_DV_DEV_FC:
      return accept_fc(raw, accepted);
    case DMP_DV_DEV_IPU:
      return accept_ipu(raw, accepted);
    default:
      return accept_maximizer(raw, accepted);
  }
}

void destroy(dmp_dv_cmdlist list) {
  // A list may be released while it runs: the device finishes first.
  if (list->last_id > 0) wait_for(list->device_type, list->last_id);
  list->plans.clear();
  for (dmp_dv_mem mem : list->memories) dmp_dv_mem_release(mem);
  dmp_dv_context_release(list->context);
  delete list;
}

}  // namespace

DVNN_EXPORT dmp_dv_cmdlist dmp_dv_cmdlist_create(dmp_dv_context ctx) {
  if (!ctx) {
    set_error("Invalid argument: ctx is NULL");
    return nullptr;
  }
  auto* list = new (std::nothrow) dmp_dv_cmdlist_impl();
  if (!list) {
    set_error("Not enough memory for a command list");
    return nullptr;
  }
  list->context = ctx;
  dmp_dv_context_retain(ctx);
  return list;
}

DVNN_EXPORT int dmp_dv_cmdlist_retain(dmp_dv_cmdlist list) {
  return list ? list->references.fetch_add(1) + 1 : 0;
}

DVNN_EXPORT int dmp_dv_cmdlist_release(dmp_dv_cmdlist list) {
  if (!list) return 0;
  const int left = list->references.fetch_sub(1) - 1;
  if (left == 0) destroy(list);
  return left;
}

namespace {

int add_raw(dmp_dv_cmdlist list, struct dmp_dv_cmdraw* cmd) {
  if (!list) {
    set_error("Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (list->committed) {
    set_error(kCommitted);
    return -1;
  }
  if (!cmd) {
    set_error("Invalid argument: cmd is NULL");
    return -1;
  }
  int type = 0;
  if (const int rc = check_header(cmd, &type)) return rc;
  // As in the driver, a command's type counts at commit even if the command is refused below.
  if (list->device_type == 0) list->device_type = type;
  if (list->device_type != type) list->mixed = true;
  Accepted accepted;
  if (const int rc = accept_command(cmd, &accepted)) return rc;
  for (dmp_dv_mem mem : accepted.memories) {
    list->memories.push_back(mem);  // may throw: before the list holds a reference
    dmp_dv_mem_retain(mem);
  }
  list->plans.push_back(std::move(accepted.plan));
  return 0;
}

int follow(dmp_dv_cmdlist list, const dvnn_soft_chain* chain) {
  if (!list || !chain) {
    set_error("Invalid argument: %s is NULL", list ? "chain" : "cmdlist");
    return EINVAL;
  }
  if (list->committed || list->plans.empty()) {
    set_error("A chain follows the last command of a list that is not committed");
    return EINVAL;
  }
  std::vector<dmp_dv_mem> memories;
  // Before the command holds the chain: nothing may fail after it.
  list->memories.reserve(list->memories.size() + Chain::kMostValues + 1);
  if (const int rc = list->plans.back()->follow(*chain, &memories)) return rc;
  for (dmp_dv_mem mem : memories) {
    list->memories.push_back(mem);
    dmp_dv_mem_retain(mem);
  }
  return 0;
}

// Sorts the memories that a list touches, and those that it writes, and drops repetitions.
void list_memories(dmp_dv_cmdlist list) {
  auto& all = list->memories;
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[i - 1]) dmp_dv_mem_release(all[i]);
  }
  all.erase(std::unique(all.begin(), all.end()), all.end());
  auto& written = list->written;
  written.clear();
  for (const auto& plan : list->plans) plan->add_written(&written);
  // Each list has its own transient bytes.
  const auto is_transient = [](dmp_dv_mem mem) { return !mem->lanes.empty(); };
  written.erase(std::remove_if(written.begin(), written.end(), is_transient), written.end());
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
}

int commit(dmp_dv_cmdlist list) {
  if (!list) {
    set_error("Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (list->committed) {
    set_error(kCommitted);
    return EALREADY;
  }
  if (list->device_type == 0) {
    set_error("Command list is empty");
    return ENODATA;
  }
  if (list->plans.empty()) {
    set_error("Command list has no command that was accepted");
    return EINVAL;
  }
  if (list->mixed) {
    set_error("Command list mixes device types");
    return -1;
  }
  if (list->device_type != DMP_DV_DEV_CONV && list->plans.size() > 1) {
    set_error("Command list has %zu commands of device_type %d, which takes one per list",
              list->plans.size(), list->device_type);
    return -1;
  }
  for (auto& plan : list->plans) {
    if (!plan->prepare()) return -1;
  }
  if (const auto hardware = pace(); hardware.ok() && hardware.value()) {
    for (const auto& plan : list->plans) list->pace_us += plan->estimate_us(*hardware.value());
  }
  list_memories(list);
  list->committed = true;
  return 0;
}

// A wait returns this for an execution that took `spent` microseconds, or failed.
int ended(dmp_dv_cmdlist list, int64_t spent) {
  if (spent == kFailed) {
    set_error("Not enough memory to run the command list");
    return ENOMEM;
  }
  list->last_exec_us = spent;
  return 0;
}

}  // namespace

DVNN_EXPORT int dmp_dv_cmdlist_add_raw(dmp_dv_cmdlist list, struct dmp_dv_cmdraw* cmd) {
  return without_exceptions("the command", ENOMEM, [&] { return add_raw(list, cmd); });
}

DVNN_EXPORT int dvnn_soft_follow(dmp_dv_cmdlist list, const dvnn_soft_chain* chain) {
  return without_exceptions("what follows a command", ENOMEM, [&] { return follow(list, chain); });
}

DVNN_EXPORT int dmp_dv_cmdlist_commit(dmp_dv_cmdlist list) {
  return without_exceptions("the command list", ENOMEM, [&] { return commit(list); });
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_exec(dmp_dv_cmdlist list) {
  if (!list || !list->committed) {
    set_error(list ? kNotCommitted : "Invalid argument: cmdlist is NULL");
    return list ? -EINVAL : -1;
  }
  return without_exceptions("running the command list", int64_t{-ENOMEM},
                            [&] { return submit(list); });
}

DVNN_EXPORT int dmp_dv_cmdlist_wait(dmp_dv_cmdlist list, int64_t exec_id) {
  if (!list || exec_id < 0) {
    set_error(list ? "Invalid argument: exec_id is negative" : "Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (!list->committed) {
    set_error(kNotCommitted);
    return -1;
  }
  const int64_t spent = without_exceptions("waiting for the device", kFailed,
                                           [&] { return wait_for(list->device_type, exec_id); });
  if (spent == kNeverGiven) {
    set_error("Invalid argument: exec_id %lld was never given", static_cast<long long>(exec_id));
    return EINVAL;
  }
  return ended(list, spent);
}

DVNN_EXPORT int dvnn_soft_run(dmp_dv_cmdlist list, int64_t* command_ns, int commands) {
  if (!list || !list->committed) {
    set_error(list ? kNotCommitted : "Invalid argument: cmdlist is NULL");
    return list ? -1 : EINVAL;
  }
  const dvnn::Span<int64_t> times(command_ns, command_ns ? static_cast<size_t>(commands) : 0);
  return ended(list, without_exceptions("running the command list", kFailed,
                                        [&] { return run_here(list, times); }));
}

DVNN_EXPORT void dvnn_soft_share(int count, void (*call)(void* work, int i), void* work) {
  share_threads(count, call, work);
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list) {
  if (!list || !list->committed) {
    set_error(list ? kNotCommitted : "Invalid argument: cmdlist is NULL");
    return -1;
  }
  return list->last_exec_us;
}
