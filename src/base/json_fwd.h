// SPDX-License-Identifier: Apache-2.0
// The names of JSON values, for headers that only pass them on; json.h has the values.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dvnn {

/// A value whose members are in the order of their names.
using Json = nlohmann::json;
/// One whose members stay in the order in which they were given, for what people read. It looks for
/// a member among all of them, so what may be hostile is read as a Json.
using OrderedJson = nlohmann::ordered_json;

class JsonReader;

}  // namespace dvnn
