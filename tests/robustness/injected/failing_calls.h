/* SPDX-License-Identifier: Apache-2.0
 *
 * libfailing-calls.so, loaded before all others: system calls of our libraries (and of the C++
 * library, which makes them for us) that fail when a test says so. What GLib, GStreamer and others
 * call for themselves is neither counted nor failed. Operator new has failing_new.h.
 */
#ifndef DVNN_FAILING_CALLS_H
#define DVNN_FAILING_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The names of the calls, each with the error that it fails with by default; null behind the last.
 */
const char* dvnn_calls_name(int index, int* error);
/* Counts anew; the nth call of that name fails with `error`, once. 0: none does. */
void dvnn_calls_plan(const char* name, int nth, int error);
int dvnn_calls_count(const char* name);
/* Of these, the calling thread's, since it counted anew. */
int dvnn_calls_own_count(const char* name);
/* Whether the call that was to fail has. */
int dvnn_calls_failed(void);

#ifdef __cplusplus
}
#endif

#endif /* DVNN_FAILING_CALLS_H */
