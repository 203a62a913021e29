// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/step_graph.h"

#include <algorithm>

namespace dvnn::tools {
namespace {

uint64_t end_of(const network::TensorInfo& tensor) {
  return tensor.offset + tensor.desc.bytes();
}

// Tensors are identified by their bytes: a step reads what was last written there.
bool overlap(const network::TensorInfo& a, const network::TensorInfo& b) {
  return a.storage == b.storage && a.offset < end_of(b) && b.offset < end_of(a);
}

void add_once(int step, std::vector<int>* sources) {
  if (std::find(sources->begin(), sources->end(), step) == sources->end()) {
    sources->push_back(step);
  }
}

}  // namespace

std::vector<std::vector<int>> step_sources(const network::Model& model) {
  std::vector<std::vector<int>> all(model.steps.size());
  for (size_t i = 0; i < model.steps.size(); ++i) {
    for (const int in : model.steps[i].inputs) {
      const network::TensorInfo& read = model.tensor(in);
      bool found = false;
      uint64_t covered = 0;
      for (size_t k = i; k-- > 0 && covered < read.desc.bytes();) {
        for (const int out : model.steps[k].outputs) {
          const network::TensorInfo& written = model.tensor(out);
          if (!overlap(read, written)) continue;
          add_once(static_cast<int>(k), &all[i]);
          covered += written.desc.bytes();
          found = true;
        }
      }
      if (!found) add_once(kFromInput, &all[i]);
    }
  }
  return all;
}

}  // namespace dvnn::tools
