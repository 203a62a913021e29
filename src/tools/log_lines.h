// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::tools {

/// Writes what the libraries log (base/log.h) on stderr, all levels, from now on.
void log_to_stderr();

}  // namespace dvnn::tools
