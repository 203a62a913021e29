// SPDX-License-Identifier: Apache-2.0
#include "plan/graph/graph.h"

#include <algorithm>

namespace dvnn::plan {

int Graph::add_value(const std::string& value_name, const Shape& shape) {
  values.push_back({value_name, shape});
  return static_cast<int>(values.size()) - 1;
}

std::vector<int> Graph::consumers(int value) const {
  std::vector<int> list;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& in = nodes[i].inputs;
    if (!nodes[i].dead && std::find(in.begin(), in.end(), value) != in.end()) {
      list.push_back(static_cast<int>(i));
    }
  }
  return list;
}

bool Graph::is_input(int value) const {
  return value == input || std::any_of(extra_inputs.begin(), extra_inputs.end(),
                                       [&](const ExtraInput& e) { return e.value == value; });
}

bool Graph::is_output(int value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

void Graph::sweep() {
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.dead; }),
              nodes.end());
}

}  // namespace dvnn::plan
