// SPDX-License-Identifier: Apache-2.0
// Guesses which decoder the outputs of a network want, where their names and shapes leave no doubt.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "convert/exported.h"
#include "decode/decoder.h"

namespace dvnn::convert {

/// A preset's decoder.
struct Guess {
  std::string preset;
  std::string decoder;
  Json params;
  std::string family;  // for people: "YOLOX"
};

/// `input` is the size of the network's input in pixels, `exported` what the model's file says, if
/// it does. Shapes that several families share are no certainty, and give nothing.
Result<std::optional<Guess>> guess_decoder(Span<const decode::NamedOutput> outputs,
                                           const image::Size& input,
                                           const Exported* exported = nullptr);

/// Tells people what speaks against the preset that they named, although its decoder, with
/// `params`, takes the outputs: that these are another family's. Empty if nothing does.
Result<std::string> doubt_preset(Span<const decode::NamedOutput> outputs, const image::Size& input,
                                 const std::string& preset, const Json& params,
                                 const Exported* exported = nullptr);

}  // namespace dvnn::convert
