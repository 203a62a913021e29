// SPDX-License-Identifier: Apache-2.0
// The .dvn file: 64-byte header, JSON description, packed weights; all little-endian, checksummed.
#pragma once

#include <string>

#include "base/result.h"
#include "network/model.h"

namespace dvnn::network {

/// Reads and validates a network file. Errors name the file and the field.
Result<Model> read_dvn(const std::string& path);
/// Writes atomically: the file appears complete or not at all.
Status write_dvn(const Model& model, const std::string& path);
/// The JSON description as it stands in the file (also `dvnet inspect --json`).
nlohmann::json model_to_json(const Model& model);

}  // namespace dvnn::network
