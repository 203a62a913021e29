// SPDX-License-Identifier: Apache-2.0
// The JSON description of a model, as it stands in a .dvn file.
#pragma once

#include "base/cancel.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "network/model.h"

namespace dvnn::network {

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

}  // namespace dvnn::network
