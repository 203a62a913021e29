// SPDX-License-Identifier: Apache-2.0
// Reads TensorFlow Lite files and their numbers. Private to the TFLite front end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "import/onnx/model.h"
#include "tflite_generated.h"

namespace dvnn::import {

/// The model of a file. It is checked when it is read: offsets lie within the file, and indices of
/// tensors, buffers and operators exist.
class TfliteModel {
 public:
  /// Reads a file of at most 1 GiB. kMalformed if it is no TensorFlow Lite model.
  static Result<TfliteModel> read(const std::string& path);
  static Result<TfliteModel> parse(std::string bytes);

  const tfl::Model& root() const { return *tfl::GetModel(bytes_.data()); }
  /// Returns the first graph, which is the network; others are its branches and loops.
  const tfl::SubGraph& graph() const { return *root().subgraphs()->Get(0); }
  const tfl::Tensor& tensor(int i) const {
    return *graph().tensors()->Get(static_cast<unsigned>(i));
  }
  int tensors() const;
  /// Returns whether the tensor's numbers are in the file.
  bool is_constant(int tensor) const;
  /// Returns the numbers of a constant as they are used: quantised ones as scale * (number - zero
  /// point), a sparse tensor as a dense one.
  Result<OnnxConstant> numbers(int tensor) const;
  /// Returns an operator's name: "CONV_2D", or that of a custom one.
  std::string type_of(const tfl::Operator& op) const;
  /// Returns the whole file.
  const std::string& bytes() const { return bytes_; }
  /// Returns a buffer's bytes; none if there is no such buffer.
  Span<const uint8_t> buffer(uint32_t index) const;

 private:
  explicit TfliteModel(std::string bytes) : bytes_(std::move(bytes)) {}
  Status check() const;
  Status check_operator(const tfl::Operator& op) const;

  std::string bytes_;
};

/// Returns the elements of a list that may be absent.
std::vector<int64_t> tflite_list(const flatbuffers::Vector<int32_t>* list);
std::string tflite_text(const flatbuffers::String* text);

/// Scale and zero point of a quantised tensor, whose numbers stand for scale * (number - zero).
struct TfliteScaling {
  std::vector<double> scale, zero;  // one, or one per index of the axis
  int64_t axis = 0;
};

/// Returns the tensor's scaling; no scales if it has none. Error: kMalformed if it does not fit the
/// dimensions.
Result<TfliteScaling> tflite_scaling(const tfl::Tensor& tensor);

/// Returns the name of a type: "int8" etc.
std::string tflite_type_name(tfl::TensorType type);
bool is_tflite_real(tfl::TensorType type);

/// Returns all elements of a sparse tensor, row-major. `present`: those that it stores, in its
/// order. Error: kMalformed if its indices are out of range.
Result<std::vector<double>> spread_tflite(const tfl::Tensor& tensor,
                                          const std::vector<double>& present);

/// Returns the name; null for unassigned numbers, and for operators that no runtime implements.
const char* tflite_operator_name(int number);

}  // namespace dvnn::import
