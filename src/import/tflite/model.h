// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite files and their numbers. Private to the TFLite front end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "import/onnx/model.h"
#include "tflite_generated.h"

namespace dvnn::import {

/// A file's model. It is checked when it is made: offsets lie within the file, and indices of
/// tensors, buffers and operators name one.
class TfliteModel {
 public:
  /// Reads a file of at most 1 GiB. kMalformed if it is no TensorFlow Lite model.
  static Result<TfliteModel> read(const std::string& path);
  static Result<TfliteModel> parse(std::string bytes);

  const tfl::Model& root() const { return *tfl::GetModel(bytes_.data()); }
  /// The first graph, which is the network; others are branches and loops of it.
  const tfl::SubGraph& graph() const { return *root().subgraphs()->Get(0); }
  const tfl::Tensor& tensor(int i) const {
    return *graph().tensors()->Get(static_cast<unsigned>(i));
  }
  int tensors() const;
  /// Returns whether the tensor's numbers are in the file.
  bool is_constant(int tensor) const;
  /// The numbers of a constant as they are used: those of a quantised one are scale * (number -
  /// zero point), and a sparse one is spread out.
  Result<OnnxConstant> numbers(int tensor) const;
  /// An operator's name: "CONV_2D", or that of a custom one.
  std::string type_of(const tfl::Operator& op) const;
  /// Everything in the file.
  const std::string& bytes() const { return bytes_; }
  /// A buffer's bytes; none if there is no such buffer.
  Span<const uint8_t> buffer(uint32_t index) const;

 private:
  explicit TfliteModel(std::string bytes) : bytes_(std::move(bytes)) {}
  Status check() const;
  Status check_operator(const tfl::Operator& op) const;

  std::string bytes_;
};

/// The elements of a list that may be absent.
std::vector<int64_t> tflite_list(const flatbuffers::Vector<int32_t>* list);
std::string tflite_text(const flatbuffers::String* text);

/// Scale and zero point of a quantised tensor, whose numbers stand for scale * (number - zero).
struct TfliteScaling {
  std::vector<double> scale, zero;  // one, or one for each index of the axis
  int64_t axis = 0;
};

/// The tensor's scaling; no scales if it has none. kMalformed if it does not fit the dimensions.
Result<TfliteScaling> tflite_scaling(const tfl::Tensor& tensor);

/// "int8" etc.
std::string tflite_type_name(tfl::TensorType type);
bool is_tflite_real(tfl::TensorType type);

/// The elements of a sparse tensor, row-major, from those that it has, in the order in which it has
/// them. kMalformed if its indices lead elsewhere.
Result<std::vector<double>> spread_tflite(const tfl::Tensor& tensor,
                                          const std::vector<double>& present);

}  // namespace dvnn::import
