// SPDX-License-Identifier: Apache-2.0
// Reports the decisions of `dvnet convert` as JSON.
#pragma once

#include "base/json_fwd.h"
#include "convert/convert.h"
#include "tools/convert/accuracy.h"

namespace dvnn::tools {

/// Returns each step's place, reason, MACs and weights; totals; bytes of I/O with and without
/// re-use; and `accuracy` if it was measured on any picture.
Json report_to_json(const network::Model& model, const convert::Report& report,
                    const Accuracy& accuracy);

}  // namespace dvnn::tools
