// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "decode/decoder.h"
#include "network/model.h"

namespace dvnn::network {

/// Returns the model's outputs in the form that decoders take.
std::vector<decode::NamedOutput> named_outputs(const Model& model);

/// Creates the decoder that a valid model names, for the model's outputs; null if it names none.
/// Errors are those of decode::create_decoder(), which also receives `library`.
Result<std::unique_ptr<decode::Decoder>> create_decoder(
    const Model& model, const decode::CustomDecoders* library = nullptr);

}  // namespace dvnn::network
