// SPDX-License-Identifier: Apache-2.0
// Bytes as text (RFC 4648).
#pragma once

#include <string>

namespace dvnn::publish {

std::string base64(const std::string& bytes);

}  // namespace dvnn::publish
