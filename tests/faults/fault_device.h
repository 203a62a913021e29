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
 *   WHICH  5 (the fifth call since the plan was set), 5+ (from the fifth on), or * (every one)
 *   FAULT  fail; delay=MILLISECONDS; hang (until dmp_dv_fault_release()); for exec also refuse
 *          (fail when it is queued, where fail is when it is waited for)
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

#ifdef __cplusplus
}
#endif

#endif /* DVNN_FAULT_DEVICE_H */
