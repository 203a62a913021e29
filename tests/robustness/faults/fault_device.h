/* SPDX-License-Identifier: Apache-2.0
 *
 * libdmpdv-fault.so: the software device, but its calls take long, fail or never return on demand.
 *
 * A plan is a list of faults, separated by commas: CALL:WHICH:FAULT.
 *   CALL   exec   an execution: queueing it, running it and waiting for it
 *          alloc  dmp_dv_mem_alloc()
 *          list   dmp_dv_cmdlist_create()
 *          add    dmp_dv_cmdlist_add_raw()
 *          commit dmp_dv_cmdlist_commit()
 *          map    dmp_dv_mem_map()
 *          context dmp_dv_context_create()
 *          info   dmp_dv_context_get_info()
 *          text   dmp_dv_context_get_info_string(), dmp_dv_get_version_string()
 *          sync   dmp_dv_mem_sync_start() and _end()
 *          to_device, to_cpu  dmp_dv_mem_to_...()
 *          wait   dmp_dv_cmdlist_wait()
 *          release  what releases or unmaps; one that "fails" has released all the same
 *          error  dmp_dv_get_last_error_message(), which is no call of "any"
 *          any    each of these, counted together
 *   WHICH  5 (the fifth call since the plan was set), 5+ (from the fifth on), or * (every one)
 *   FAULT  fail (texts are null); delay=MILLISECONDS; hang (until dmp_dv_fault_release()); corrupt
 *          (bytes change on their way: of memory, commands, the information; others fail); for exec
 *          also refuse (fail when it is queued, where fail is when it is waited for)
 *
 * Executions run one after the other, as on a board: delays add up. DVNN_FAULT in the environment
 * is the first plan. The real library is DVNN_SOFT_DEVICE or libdmpdv-soft.so.
 */
#ifndef DVNN_FAULT_DEVICE_H
#define DVNN_FAULT_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the plan and starts counting anew; calls that hang go on hanging. 0, or -1 for a plan
 * that cannot be read. */
int dmp_dv_fault_set(const char* plan);
/* Lets every call that hangs go on, and takes the faults that hang out of the plan. */
void dmp_dv_fault_release(void);
/* How often that call was made since the plan was set. */
int dmp_dv_fault_count(const char* call);
/* How many calls hang now. */
int dmp_dv_fault_hanging(void);
/* Waits until a call hangs, for that time at most. Whether one does. */
int dmp_dv_fault_await_hang(int most_seconds);
/* How many contexts, memories and lists are there. */
int dmp_dv_fault_live(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_FAULT_DEVICE_H */
