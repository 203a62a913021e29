// SPDX-License-Identifier: Apache-2.0
// Finishes every imported graph, whatever framework it came from.
#pragma once

#include <string>

#include "base/result.h"
#include "convert/convert.h"
#include "network/model.h"
#include "plan/graph/graph.h"

namespace dvnn::convert {

/// A name as it may travel into a network file and onto terminals: printable, and no longer than a
/// file's name may be.
std::string clean_name(const std::string& name);

/// Plans what was imported of the file `path`, and finds its decoder. `kind` is the framework, for
/// the network's source. Errors name the file. `report` may be null.
Result<network::Model> finish(Result<plan::Graph> graph, const std::string& kind,
                              const std::string& path, const ConvertOptions& options,
                              Report* report);

}  // namespace dvnn::convert
