// SPDX-License-Identifier: Apache-2.0
// What tests/mutate includes ahead of every file of a build whose bugs sleep. It stands for itself,
// includes nothing and may come before C, so that no file's own includes change.
#ifndef DVNN_TESTS_BUG_H
#define DVNN_TESTS_BUG_H

#ifdef __cplusplus
extern "C" {
#endif
// The bug that is awake, 0 if none.
extern __attribute__((visibility("default"))) int dvnn_bug_awake;
// A byte for each bug, set where its place is reached; null if nobody asks.
extern __attribute__((visibility("default"))) unsigned char* dvnn_bugs_reached;
#ifdef __cplusplus
}
#endif

// True where bug `number` is awake.
#define DVNN_BUG(number)                                         \
  ((void)(dvnn_bugs_reached && (dvnn_bugs_reached[number] = 1)), \
   __builtin_expect(dvnn_bug_awake == (number), 0))

#endif
