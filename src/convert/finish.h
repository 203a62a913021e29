// SPDX-License-Identifier: Apache-2.0
// The last steps of every conversion, whatever framework the graph is from.
#pragma once

#include <string>

#include "base/result.h"
#include "convert/convert.h"
#include "network/model.h"
#include "plan/graph/graph.h"

namespace dvnn::convert {

/// Returns a name that is fit for a network file and terminals: printable, and no longer than a
/// file's name may be.
std::string clean_name(const std::string& name);

/// Plans the graph that was imported from the file `path`, and chooses its decoder. `kind` names
/// the framework in the network's source. Errors name the file. `report` may be null.
Result<network::Model> finish(Result<plan::Graph> graph, const std::string& kind,
                              const std::string& path, const ConvertOptions& options,
                              Report* report);

}  // namespace dvnn::convert
