// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::tools {

/// Writes all levels of the libraries' log (base/log.h) to stderr from now on.
void log_to_stderr();

}  // namespace dvnn::tools
