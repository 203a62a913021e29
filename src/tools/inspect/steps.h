// SPDX-License-Identifier: Apache-2.0
// A network's steps in text and numbers, which step reads the results of which, and a drawing of
// that.
#pragma once

#include <string>
#include <vector>

#include "network/model.h"

namespace dvnn::tools {

/// Returns a step's runs on the device, "conv 3x3/2+max 2x2/2+relu | conv 1x1", or the type of a
/// CPU layer.
std::string describe(const network::Step& step);

/// Returns the bytes of packed weights that a step reads.
size_t weight_bytes(const network::Step& step);

constexpr int kFromInput = -1;  // stands for the network's input in lists of steps

/// Returns for each step the steps whose results it reads, or kFromInput, each once.
std::vector<std::vector<int>> step_sources(const network::Model& model);

/// Returns the steps as a Graphviz graph; CPU layers are dashed.
std::string dot_of(const network::Model& model);

/// Returns that graph as SVG, drawn by Graphviz' program `dot`; kNotFound if it is not installed.
Result<std::string> svg_of(const network::Model& model);

}  // namespace dvnn::tools
