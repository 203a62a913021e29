// SPDX-License-Identifier: Apache-2.0
// Writes the files of `dvnet convert`; its report has its decisions as JSON.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "convert/convert.h"
#include "tools/convert/accuracy.h"

namespace dvnn::tools {

/// Paths; files with an empty one are not written.
struct ConvertOutputs {
  std::string network;     // .dvn
  std::string cpp_folder;  // C++ sources and NAME_weights.bin
  std::string dot, svg;    // drawing of the steps
  std::string json;        // the network's description
  std::string report;      // see report_to_json()
};

/// Writes all files but the report. The network file comes first.
Status write_outputs(const ConvertOutputs& outputs, const network::Model& model);

/// Reads a written network file and creates a slot, which commits every command. A file that cannot
/// be loaded is removed, and is an error. Files with users' layers, which are not available here,
/// are not checked.
Status check_written(const std::string& path, const network::Model& model);

/// Returns each step's place, reason, MACs and weights; totals; bytes of I/O with and without
/// re-use; and `accuracy` if it was measured on any picture.
Json report_to_json(const network::Model& model, const convert::Report& report,
                    const Accuracy& accuracy);

}  // namespace dvnn::tools
