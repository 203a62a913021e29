// SPDX-License-Identifier: Apache-2.0
// The tracker's settings by the names of dvtrack's properties, for programs without that element.
#pragma once

#include <string>

#include "base/result.h"
#include "track/tracker.h"

namespace dvnn::track {

/// Sets the setting that dvtrack's property of that name sets, to a value in the property's unit.
/// Error: kInvalidArgument if there is none, which lists all, or if the value is out of range.
Status set_parameter(const std::string& property, double value, Settings* settings);

}  // namespace dvnn::track
