// SPDX-License-Identifier: Apache-2.0
// Creates a page of HTML about a network that needs nothing but a browser.
#pragma once

#include <string>

#include "tools/page/page_data.h"

namespace dvnn::tools {

std::string page_of(const network::Model& model, const PageFacts& facts);

}  // namespace dvnn::tools
