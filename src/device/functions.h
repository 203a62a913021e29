// SPDX-License-Identifier: Apache-2.0
// The device ABI's functions, listed once: the loader's table is made from this list. The types
// come from the public prototypes, so they cannot drift.
//   DVNN_REQUIRED(name)  every library has it
//   DVNN_OPTIONAL(name)  newer than the vendor's first releases; may be null
#define DVNN_DEVICE_FUNCTIONS(DVNN_REQUIRED, DVNN_OPTIONAL) \
  DVNN_REQUIRED(get_version_string)                         \
  DVNN_REQUIRED(get_last_error_message)                     \
  DVNN_REQUIRED(context_create)                             \
  DVNN_REQUIRED(context_get_info_string)                    \
  DVNN_REQUIRED(context_get_info)                           \
  DVNN_REQUIRED(context_release)                            \
  DVNN_REQUIRED(mem_alloc)                                  \
  DVNN_REQUIRED(mem_release)                                \
  DVNN_REQUIRED(mem_map)                                    \
  DVNN_REQUIRED(mem_unmap)                                  \
  DVNN_REQUIRED(mem_sync_start)                             \
  DVNN_REQUIRED(mem_sync_end)                               \
  DVNN_REQUIRED(cmdlist_create)                             \
  DVNN_REQUIRED(cmdlist_release)                            \
  DVNN_REQUIRED(cmdlist_add_raw)                            \
  DVNN_REQUIRED(cmdlist_commit)                             \
  DVNN_REQUIRED(cmdlist_exec)                               \
  DVNN_REQUIRED(cmdlist_wait)                               \
  DVNN_OPTIONAL(mem_to_device)                              \
  DVNN_OPTIONAL(mem_to_cpu)                                 \
  DVNN_OPTIONAL(cmdlist_get_last_exec_time)                 \
  DVNN_OPTIONAL(device_exists)
