// SPDX-License-Identifier: Apache-2.0
// Models that were exported for a batch of pictures, of which the network takes one. Private to the
// ONNX front end.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::import {

/// A Reshape's numbers `dims`, written for `batch` times the elements of `in`, become those for one
/// picture: the dimension that holds the batch is divided by it. A 0 copies the input's dimension,
/// -1 is what is left. Numbers that fit already stay.
void reshape_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

/// The same for the dimensions that Expand and ConstantOfShape make, and for Tile's repeats: what
/// was one, of `in`, and becomes `batch` in front stays one. Vectors are no batch of pictures.
void expand_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

}  // namespace dvnn::import
