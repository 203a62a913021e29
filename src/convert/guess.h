// SPDX-License-Identifier: Apache-2.0
// Guesses the decoder of a network from the names and shapes of its outputs, if they leave no
// doubt.
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

/// Returns the decoder that fits the outputs, or nothing if it is uncertain, as several families
/// share the shapes. `input` is the size of the input in pixels; `exported` is the file's metadata,
/// or null.
Result<std::optional<Guess>> guess_decoder(Span<const decode::NamedOutput> outputs,
                                           const image::Size& input,
                                           const Exported* exported = nullptr);

/// Returns a warning if the outputs look like those of another family than the preset that the user
/// named, although its decoder takes them with `params`. Empty: no doubt.
Result<std::string> doubt_preset(Span<const decode::NamedOutput> outputs, const image::Size& input,
                                 const std::string& preset, const Json& params,
                                 const Exported* exported = nullptr);

}  // namespace dvnn::convert
