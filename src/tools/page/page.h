// SPDX-License-Identifier: Apache-2.0
// Creates a page of HTML about a network that needs nothing but a browser.
#pragma once

#include <string>

#include "base/span.h"
#include "tools/page/page_data.h"

namespace dvnn::tools {

/// Puts the parts of a page together: `html` has marks for its style, its script and its data,
/// which is JSON.
std::string assemble_page(const std::string& html, Span<const char* const> styles,
                          Span<const char* const> scripts, const std::string& data);

std::string page_of(const network::Model& model, const PageFacts& facts);

}  // namespace dvnn::tools
