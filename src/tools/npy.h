// SPDX-License-Identifier: Apache-2.0
// NumPy's array files. Source: numpy.org, "NEP 1" (format versions 1.0 to 3.0).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::tools {

struct NpyArray {
  std::vector<int64_t> dims;  // none: a number
  std::vector<float> values;  // row-major
};

/// Reads an array of floats (2, 4 or 8 bytes), integers or truths, little-endian and row-major.
/// Errors name the file and what it has instead.
Result<NpyArray> read_npy(const std::string& path);
/// Writes row-major float32 values (format version 1.0).
Status write_npy(const std::string& path, const Shape& shape, const std::vector<float>& values);

}  // namespace dvnn::tools
