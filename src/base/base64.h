// SPDX-License-Identifier: Apache-2.0
// Converts between bytes and text (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dvnn {

std::string base64(std::string_view bytes);
/// Returns the bytes of a text. It must consist of whole groups of four, with padding; else returns
/// nothing.
std::optional<std::string> from_base64(const std::string& text);

}  // namespace dvnn
