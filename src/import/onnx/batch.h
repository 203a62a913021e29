// SPDX-License-Identifier: Apache-2.0
// Adapts models that were exported for a batch of pictures to one picture. Private to the ONNX
// front end.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::import {

/// Changes a Reshape's numbers `dims`, written for `batch` times the elements of `in`, to those for
/// one picture: the dimension that contains the batch is divided by it. 0 copies the input's
/// dimension, -1 stands for the remaining elements. Numbers that fit already stay.
void reshape_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

/// Does the same for the dimensions that Expand and ConstantOfShape make, and for Tile's repeats: a
/// first dimension that is 1 in `in` and would become `batch` stays 1. Vectors are no batch of
/// pictures.
void expand_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

}  // namespace dvnn::import
