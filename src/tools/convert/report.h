// SPDX-License-Identifier: Apache-2.0
// Reports what `dvnet convert` decided, as JSON.
#pragma once

#include "base/json_fwd.h"
#include "convert/convert.h"
#include "tools/convert/accuracy.h"

namespace dvnn::tools {

/// Steps with where, why, MACs and weights, totals, bytes of I/O with and without re-use, and what
/// `accuracy` says, if it is of any picture.
Json report_to_json(const network::Model& model, const convert::Report& report,
                    const Accuracy& accuracy);

}  // namespace dvnn::tools
