// SPDX-License-Identifier: Apache-2.0
// Draws a network.
#pragma once

#include <string>

#include "network/model.h"

namespace dvnn::tools {

/// Returns the steps as a Graphviz graph; CPU layers are dashed.
std::string dot_of(const network::Model& model);

/// Returns that graph as SVG, drawn by Graphviz' program `dot`; kNotFound if it is not installed.
Result<std::string> svg_of(const network::Model& model);

}  // namespace dvnn::tools
