// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "softdv/conv_command.h"
#include "softdv/export.h"
#include "softdv/objects.h"
#include "softdv/queue.h"

using namespace dvnn::softdv;

namespace {

void retain_memory(dmp_dv_cmdlist list, const Bytes& bytes) {
  if (!bytes.mem) return;
  dmp_dv_mem_retain(bytes.mem);
  list->memories.push_back(bytes.mem);
}

void destroy(dmp_dv_cmdlist list) {
  // A list may be released while it runs: the device finishes first.
  if (list->last_id > 0) wait_for(list->last_id);
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
  auto* list = new dmp_dv_cmdlist_impl();
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

DVNN_EXPORT int dmp_dv_cmdlist_add_raw(dmp_dv_cmdlist list, struct dmp_dv_cmdraw* cmd) {
  if (!list) {
    set_error("Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (list->committed) {
    set_error("Command list is already in commited state");
    return -1;
  }
  if (!cmd) {
    set_error("Invalid argument: cmd is NULL");
    return -1;
  }
  SoftCommand command;
  if (const int rc = decode_command(cmd, &command); rc != 0) return rc;
  retain_memory(list, command.input);
  retain_memory(list, command.output);
  retain_memory(list, command.eltwise);
  for (const SoftRun& run : command.runs) retain_memory(list, run.weights);
  list->plans.push_back(make_conv_plan(std::move(command)));
  return 0;
}

DVNN_EXPORT int dmp_dv_cmdlist_commit(dmp_dv_cmdlist list) {
  if (!list) {
    set_error("Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (list->committed) {
    set_error("Command list is already in commited state");
    return EALREADY;
  }
  if (list->plans.empty()) {
    set_error("Command list is empty");
    return ENODATA;
  }
  for (auto& plan : list->plans) {
    if (!plan->prepare()) return -1;
  }
  list->committed = true;
  return 0;
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_exec(dmp_dv_cmdlist list) {
  if (!list || !list->committed) {
    set_error(list ? "Command list is not in commited state" : "Invalid argument: cmdlist is NULL");
    return list ? -EINVAL : -1;
  }
  return submit(list);
}

DVNN_EXPORT int dmp_dv_cmdlist_wait(dmp_dv_cmdlist list, int64_t exec_id) {
  if (!list || exec_id < 0) {
    set_error(list ? "Invalid argument: exec_id is negative" : "Invalid argument: cmdlist is NULL");
    return EINVAL;
  }
  if (!list->committed) {
    set_error("Command list is not in commited state");
    return -1;
  }
  list->last_exec_us = wait_for(exec_id);
  return 0;
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list) {
  if (!list || !list->committed) {
    set_error(list ? "Command list is not in commited state" : "Invalid argument: cmdlist is NULL");
    return -1;
  }
  return list->last_exec_us;
}
