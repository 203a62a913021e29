// SPDX-License-Identifier: Apache-2.0
// The operator new of a whole test program, with plugin and libraries, which fails on demand.
#pragma once

#include <cstddef>

namespace dvnn::test {

/// Makes one allocation fail, in any thread, after `after` others; a negative number: none.
void fail_allocation(long after);
/// Returns whether an allocation has failed.
bool has_failed_allocation();
/// Makes allocations of more bytes fail; SIZE_MAX: none.
void limit_allocations(size_t bytes);

}  // namespace dvnn::test
