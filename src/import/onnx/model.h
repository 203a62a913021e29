// SPDX-License-Identifier: Apache-2.0
// Reads ONNX files and their numbers, and adapts models that were exported for a batch of pictures
// to one picture. Private to the ONNX front end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "onnx.pb.h"

namespace dvnn::import {

/// Numbers known when the model is converted. All of ONNX's numeric types fit a double but for
/// integers beyond 2^53, which no model's shapes or weights need.
struct OnnxConstant {
  std::vector<int64_t> dims;  // rank 0: a scalar
  std::vector<double> values;
  bool integral = false;
  int64_t type = 0;  // TensorProto.DataType of what is read from a file; 0: computed

  std::vector<float> floats() const { return {values.begin(), values.end()}; }
  std::vector<int64_t> ints() const;
};

/// Product of dimensions; -1 if one is negative or there are too many elements.
int64_t element_count(const std::vector<int64_t>& dims);
int64_t element_count(const onnx::TensorProto& tensor);

/// Reads a file of at most 1 GiB. kMalformed if it is no ONNX model.
Result<onnx::ModelProto> read_onnx(const std::string& path);

/// The numbers of a tensor of any numeric type; kUnsupported for strings. Those of another file are
/// read from `folder` or below it, and from nowhere else.
Result<OnnxConstant> read_tensor(const onnx::TensorProto& tensor, const std::string& folder);

/// Returns whether operators of this domain are ONNX's own.
inline bool is_official(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

/// Returns whether read_tensor() reads the tensor's own bytes, and refuses nothing of it.
bool is_surely_read(const onnx::TensorProto& tensor);

/// Values of TensorProto.DataType that operators need.
constexpr int64_t kOnnxFloat = 1, kOnnxBool = 9;
bool is_onnx_real(int64_t data_type);
bool is_onnx_integer(int64_t data_type);

/// Changes a Reshape's numbers `dims`, written for `batch` times the elements of `in`, to those for
/// one picture: the dimension that contains the batch is divided by it. 0 copies the input's
/// dimension, -1 stands for the remaining elements. Numbers that fit already stay.
void reshape_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

/// Does the same for the dimensions that Expand and ConstantOfShape make, and for Tile's repeats: a
/// first dimension that is 1 in `in` and would become `batch` stays 1. Vectors are no batch of
/// pictures.
void expand_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims);

}  // namespace dvnn::import
