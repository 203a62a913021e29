// SPDX-License-Identifier: Apache-2.0
// tests/mutate includes this ahead of every file of a build with inactive bugs. It is
// self-contained, includes nothing and may come before C, so that no file's own includes change.
#ifndef DVNN_TESTS_BUG_H
#define DVNN_TESTS_BUG_H

#ifdef __cplusplus
extern "C" {
#endif
// The active bug, 0: none.
extern __attribute__((visibility("default"))) int dvnn_bug_awake;
// A byte for each bug, set when its line is reached; null if not recorded.
extern __attribute__((visibility("default"))) unsigned char* dvnn_bugs_reached;
#ifdef __cplusplus
}
#endif

// True if bug `number` is active.
#define DVNN_BUG(number)                                         \
  ((void)(dvnn_bugs_reached && (dvnn_bugs_reached[number] = 1)), \
   __builtin_expect(dvnn_bug_awake == (number), 0))

#endif
