// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/batch.h"

#include <algorithm>
#include <cstddef>

#include "import/onnx/model.h"

namespace dvnn::import {

void reshape_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims) {
  if (batch < 2) return;
  const bool open = std::find(dims->begin(), dims->end(), -1) != dims->end();
  std::vector<int64_t> copied = *dims;
  for (size_t i = 0; i < copied.size() && i < in.size(); ++i) {
    if (copied[i] == 0) copied[i] = in[i];
  }
  if (!open && element_count(copied) == element_count(in)) return;
  // Elements keep their order, and the batch is the outermost of the dimensions that change: so it
  // is in the first changed dimension, unless that is -1.
  for (size_t i = 0; i < dims->size(); ++i) {
    int64_t& d = (*dims)[i];
    const bool copies_batch = d == 0 && i < in.size() && in[i] == 1;
    if (d == -1 || copies_batch) return;
    if (i < in.size() && (d == 0 || d == in[i])) continue;
    if (d % batch == 0) d /= batch;
    return;
  }
}

void expand_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims) {
  constexpr size_t kLeast = 2;  // dimensions
  if (batch < 2 || dims->size() < kLeast || (*dims)[0] != batch) return;
  if (in.size() < dims->size() || in[0] == 1) (*dims)[0] = 1;
}

}  // namespace dvnn::import
