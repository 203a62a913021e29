// SPDX-License-Identifier: Apache-2.0
// A network as a picture.
#pragma once

#include <string>

#include "network/model.h"

namespace dvnn::tools {

/// The steps as a Graphviz graph; CPU layers are dashed.
std::string dot_of(const network::Model& model);

/// The same as SVG, drawn by Graphviz' program `dot`; kNotFound if it is not installed.
Result<std::string> svg_of(const network::Model& model);

}  // namespace dvnn::tools
