// SPDX-License-Identifier: Apache-2.0
// Bytes as text (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dvnn {

std::string base64(std::string_view bytes);
/// The bytes of such a text; nothing if it is none, as whole groups of four with their padding.
std::optional<std::string> from_base64(const std::string& text);

}  // namespace dvnn
