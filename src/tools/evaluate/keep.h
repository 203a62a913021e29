// SPDX-License-Identifier: Apache-2.0
// Keeps measured thresholds in network files.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Checks, before anything runs, that a subject's file can keep thresholds: a .dvn file that finds
/// boxes, in a folder that can be written to.
Status check_keeps(const Subject& subject);

/// Writes the thresholds of all measured classes into the subject's file, in place of those that it
/// has. The file is replaced as a whole or not at all.
Status keep_thresholds(const Subject& subject, const MeasuredDetector& measured);

}  // namespace dvnn::tools
