// SPDX-License-Identifier: Apache-2.0
// The .dvn file: 64-byte header, JSON description, 64-byte aligned packed weights; little-endian,
// each part with its length and CRC-32. docs/dvn-format.md describes every field.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "network/model.h"

namespace dvnn::network {

/// Reads and validates a network file. Errors name the file, and the part or field:
/// kNotFound (no such file), kIo (cannot be read), kMalformed, kLimit; kCancelled soon after
/// `cancellation` is.
Result<Model> read_dvn(const std::string& path, const Cancellation* cancellation = nullptr);

/// Writes atomically: the file appears complete or not at all.
Status write_dvn(const Model& model, const std::string& path);

}  // namespace dvnn::network
