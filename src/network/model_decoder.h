// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "decode/decoder.h"
#include "network/model.h"

namespace dvnn::network {

/// The model's outputs, as decoders are shown them.
std::vector<decode::NamedOutput> named_outputs(const Model& model);

/// The decoder that a valid model names, for the model's outputs; null if it names none. Errors are
/// those of decode::create_decoder(), to which `library` goes, too.
Result<std::unique_ptr<decode::Decoder>> create_decoder(
    const Model& model, const decode::CustomDecoders* library = nullptr);

}  // namespace dvnn::network
