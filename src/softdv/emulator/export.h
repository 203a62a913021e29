// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks the interface's functions; everything else in the library is hidden.
#define DVNN_EXPORT extern "C" __attribute__((visibility("default")))
