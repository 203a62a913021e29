// SPDX-License-Identifier: Apache-2.0
// Declares JSON values for headers that only pass them on; json.h defines them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dvnn {

/// A value whose members are sorted by name.
using Json = nlohmann::json;
/// A value whose members keep their order, for output to people. Its lookup of members is linear,
/// so untrusted JSON is read as Json.
using OrderedJson = nlohmann::ordered_json;

class JsonReader;

}  // namespace dvnn
