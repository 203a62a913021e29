// SPDX-License-Identifier: Apache-2.0
// The operator new of a whole test program, plugin and libraries included, that fails on demand.
#pragma once

#include <cstddef>

namespace dvnn::test {

/// The allocation after the next `after` ones fails, once, in whatever thread it is; a negative
/// number: none does.
void fail_allocation(long after);
/// Returns whether an allocation has failed.
bool has_failed_allocation();
/// Allocations of more bytes fail, until it is SIZE_MAX again.
void limit_allocations(size_t bytes);

}  // namespace dvnn::test
