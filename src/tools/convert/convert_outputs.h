// SPDX-License-Identifier: Apache-2.0
// The files that `dvnet convert` writes beside a network file.
#pragma once

#include <string>

#include "convert/convert.h"
#include "tools/convert/accuracy.h"

namespace dvnn::tools {

/// Paths; empty ones are not written.
struct ConvertOutputs {
  std::string network;     // .dvn
  std::string cpp_folder;  // C++ sources and NAME_weights.bin
  std::string dot, svg;    // the steps as a picture
  std::string json;        // the network's description
  std::string report;      // report.h
};

/// Writes all but the report. The network file comes first.
Status write_outputs(const ConvertOutputs& outputs, const network::Model& model);

/// Reads a network file that was written and makes a slot of it, which commits every command: a
/// file that nothing can load is removed, and is an error. Those with users' own layers, which are
/// not here, are left.
Status check_written(const std::string& path, const network::Model& model);

}  // namespace dvnn::tools
