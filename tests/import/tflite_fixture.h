// SPDX-License-Identifier: Apache-2.0
// Small TensorFlow Lite models for tests, written with the schema's generated builders.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "convert/convert.h"
#include "import/tflite/model.h"
#include "onnx_fixture.h"

namespace dvnn::test {

namespace tfl = import::tfl;

class TfliteModel {
 public:
  using Dims = std::vector<int32_t>;
  template <typename T>
  using Offset = flatbuffers::Offset<T>;

  /// With an input "x" of these dimensions, tensor 0, in TensorFlow Lite's order.
  explicit TfliteModel(const Dims& input, tfl::TensorType type = tfl::TensorType::FLOAT32) {
    buffers_.push_back(tfl::CreateBuffer(b));
    inputs_ = {tensor("x", input, type)};
  }

  int tensor(const std::string& name, const Dims& dims,
             tfl::TensorType type = tfl::TensorType::FLOAT32, unsigned buffer = 0) {
    return add(name, dims, type, buffer, 0, 0);
  }
  /// A tensor whose numbers stand for scale * (number - zero).
  int quantised(const std::string& name, const Dims& dims, tfl::TensorType type,
                std::vector<float> scale, std::vector<int64_t> zero, int axis = 0,
                unsigned buffer = 0) {
    const auto scales = b.CreateVector(scale);
    const auto zeros = b.CreateVector(zero);
    const auto quantization = tfl::CreateQuantization(b, 0, 0, scales, zeros, 0, 0, axis);
    return add(name, dims, type, buffer, quantization, 0);
  }
  int sparse(const std::string& name, const Dims& dims, Offset<tfl::Sparsity> sparsity,
             unsigned buffer) {
    return add(name, dims, tfl::TensorType::FLOAT32, buffer, 0, sparsity);
  }
  /// A buffer with these numbers, of any type.
  template <typename T>
  unsigned numbers(const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    buffers_.push_back(tfl::CreateBuffer(b, b.CreateVector(bytes)));
    return static_cast<unsigned>(buffers_.size() - 1);
  }
  int floats(const std::string& name, const Dims& dims, const std::vector<float>& values) {
    return tensor(name, dims, tfl::TensorType::FLOAT32, numbers(values));
  }
  int ints(const std::string& name, const Dims& dims, const std::vector<int32_t>& values) {
    return tensor(name, dims, tfl::TensorType::INT32, numbers(values));
  }
  /// A list of whole numbers.
  int list(const std::string& name, const std::vector<int32_t>& values) {
    return ints(name, {static_cast<int32_t>(values.size())}, values);
  }
  int long_list(const std::string& name, const std::vector<int64_t>& values) {
    const Dims dims = {static_cast<int32_t>(values.size())};
    return tensor(name, dims, tfl::TensorType::INT64, numbers(values));
  }
  TfliteModel& input(int index) {
    inputs_.push_back(index);
    return *this;
  }

  /// An operator by its name; its options are those of the call, if there are any.
  TfliteModel& op(const std::string& type, const std::vector<int32_t>& reads,
                  const std::vector<int32_t>& makes) {
    return op(type, reads, makes, tfl::Options::NONE, Offset<void>());
  }
  template <typename T>
  TfliteModel& op(const std::string& type, const std::vector<int32_t>& reads,
                  const std::vector<int32_t>& makes, tfl::Options kind, Offset<T> options) {
    int number = 0;
    constexpr int kLast = 161;
    while (number < kLast && type != import::tflite_operator_name(number)) ++number;
    codes_.push_back(tfl::CreateOperatorCodeDirect(b, static_cast<int8_t>(std::min(number, 127)),
                                                   nullptr, 1, number));
    operators_.push_back(tfl::CreateOperatorDirect(b, static_cast<unsigned>(codes_.size() - 1),
                                                   &reads, &makes, kind, options.Union()));
    return *this;
  }
  /// An operator that is not TensorFlow Lite's, with its options' bytes.
  TfliteModel& custom(const std::string& type, const std::vector<int32_t>& reads,
                      const std::vector<int32_t>& makes, const std::vector<uint8_t>& bytes = {}) {
    constexpr int kCustom = 32;
    codes_.push_back(tfl::CreateOperatorCodeDirect(b, kCustom, type.c_str(), 1, kCustom));
    operators_.push_back(tfl::CreateOperatorDirect(b, static_cast<unsigned>(codes_.size() - 1),
                                                   &reads, &makes, tfl::Options::NONE, 0, &bytes));
    return *this;
  }
  /// The same with whole numbers of 32 bits.
  TfliteModel& custom(const std::string& type, const std::vector<int32_t>& reads,
                      const std::vector<int32_t>& makes, const std::vector<int32_t>& numbers) {
    std::vector<uint8_t> bytes(numbers.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return custom(type, reads, makes, bytes);
  }
  /// The file's description of itself (metadata.fbs).
  TfliteModel& describe(const std::vector<uint8_t>& bytes) {
    metadata_ = {tfl::CreateMetadataDirect(b, "TFLITE_METADATA", numbers(bytes))};
    return *this;
  }
  TfliteModel& only_input(int index) {
    inputs_ = {index};
    return *this;
  }
  TfliteModel& output(int index) {
    outputs_.push_back(index);
    return *this;
  }

  std::string bytes() {
    const auto graph =
        tfl::CreateSubGraphDirect(b, &tensors_, &inputs_, &outputs_, &operators_, "t");
    const std::vector<Offset<tfl::SubGraph>> graphs = {graph};
    const auto model =
        tfl::CreateModelDirect(b, 3, &codes_, &graphs, "", &buffers_, nullptr, &metadata_);
    b.Finish(model, "TFL3");
    return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
  }

  flatbuffers::FlatBufferBuilder b;

 private:
  int add(const std::string& name, const Dims& dims, tfl::TensorType type, unsigned buffer,
          Offset<tfl::Quantization> quantization, Offset<tfl::Sparsity> sparsity) {
    tensors_.push_back(tfl::CreateTensorDirect(b, &dims, type, buffer, name.c_str(), quantization,
                                               false, sparsity));
    return static_cast<int>(tensors_.size() - 1);
  }

  std::vector<Offset<tfl::Tensor>> tensors_;
  std::vector<Offset<tfl::Buffer>> buffers_;
  std::vector<Offset<tfl::OperatorCode>> codes_;
  std::vector<Offset<tfl::Operator>> operators_;
  std::vector<Offset<tfl::Metadata>> metadata_;
  std::vector<int32_t> inputs_, outputs_;
};

inline Result<network::Model> convert_tflite_bytes(const std::string& bytes,
                                                   convert::ConvertOptions options = {},
                                                   convert::Report* report = nullptr) {
  const TemporaryFile file(bytes);
  return convert::convert_tflite(file.path, options, report);
}

inline Result<network::Model> convert_model(TfliteModel& model,
                                            convert::ConvertOptions options = {},
                                            convert::Report* report = nullptr) {
  return convert_tflite_bytes(model.bytes(), std::move(options), report);
}

}  // namespace dvnn::test
