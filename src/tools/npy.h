// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy's array files. Source: numpy.org, "NEP 1" (format versions 1.0 to 3.0).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::tools {

struct NpyArray {
  std::vector<int64_t> dims;  // empty: a single number
  std::vector<float> values;  // row-major
};

/// Reads a little-endian, row-major array of floats (2, 4 or 8 bytes), integers or booleans. Errors
/// name the file and what it contains instead.
Result<NpyArray> read_npy(const std::string& path);
/// Writes row-major float32 values (format version 1.0).
Status write_npy(const std::string& path, const Shape& shape, const std::vector<float>& values);

}  // namespace dvnn::tools
