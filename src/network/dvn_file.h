// SPDX-License-Identifier: Apache-2.0
// The .dvn file: 64-byte header, JSON description, 64-byte aligned packed weights; little-endian,
// each part with its length and CRC-32. docs/dvn-format.md describes every field.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "network/model.h"

namespace dvnn::network {

/// Reads and validates a network file. Errors name the file, and the part or field:
/// kNotFound (no such file), kIo (cannot be read), kMalformed, kLimit; kCancelled soon after
/// `cancellation` is.
Result<Model> read_dvn(const std::string& path, const Cancellation* cancellation = nullptr);

/// Writes atomically: the file appears complete or not at all.
Status write_dvn(const Model& model, const std::string& path);

/// Describes everything but the weights.
Json model_to_json(const Model& model);

/// Reads a model from the JSON that model_to_json() writes. Checks types and ranges field by field;
/// validate() checks how they fit together. The graph, by far the largest part, is moved, not
/// copied.
Result<Model> model_from_json(Json json, const Cancellation* cancellation = nullptr);

/// Describes one run of a device command; reading checks every field.
Json run_to_json(const device::ConvRun& run);
Result<device::ConvRun> run_from_json(const Json& json);

/// Reads only how the network is used: the conversion of an image to its input, "decoder" and
/// "labels", in the same form. Members that are absent leave the model as it is.
Status use_from_json(const Json& json, Model* model);

/// Returns the network file for elements that name none: $DVNN_DEFAULT_NETWORK, else the installed
/// one.
std::string default_network();

}  // namespace dvnn::network
