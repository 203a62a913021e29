// SPDX-License-Identifier: Apache-2.0
// What a test does to the emulated kernel of its own process.
#pragma once

extern "C" {
/// Keeps the devices from starting what is queued, until it is called with 0.
void dvnn_kernel_hold(int held);
/// Lets the device's next execution hang: it does nothing and raises no interrupt.
void dvnn_kernel_lose_interrupt(void);
/// Lets the time pass that a wait takes at most (2 s).
void dvnn_kernel_expire(void);
/// Returns how many threads wait for an execution, and how many times an execution was given up.
int dvnn_kernel_waiting(void);
int dvnn_kernel_given_up(void);
/// What the vendor's library does to the CPU's caches where it does not ask the kernel (arm64):
/// writes [begin, end) back and reads it anew. Called by builds of that library for tests.
void dvnn_kernel_flush(void* begin, void* end);
}
