// SPDX-License-Identifier: Apache-2.0
// Small TensorFlow Lite models for tests, written with the schema's generated builders, and what
// plain loops over arrays make of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "convert/convert.h"
#include "import/tflite/model.h"
#include "onnx_fixture.h"
#include "run_model.h"
#include "tensor/half.h"

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

// Arrays in TensorFlow Lite's order, and networks against what plain loops over them make.
// Tolerance: see test_numerics.cpp.
namespace dvnn::test::tflite_arrays {

// An array in row-major order, in double precision.
struct Array {
  std::vector<int> dims;
  std::vector<double> v;
  explicit Array(std::vector<int> sizes) : dims(std::move(sizes)) {
    size_t count = 1;
    for (int d : dims) count *= static_cast<size_t>(d);
    v.resize(count);
  }
  size_t at(std::initializer_list<int> index) const {
    size_t offset = 0, i = 0;
    for (int d : index) offset = offset * static_cast<size_t>(dims[i++]) + static_cast<size_t>(d);
    return offset;
  }
  double& operator()(std::initializer_list<int> index) { return v[at(index)]; }
  double operator()(std::initializer_list<int> index) const { return v[at(index)]; }
  std::vector<float> floats() const { return {v.begin(), v.end()}; }
};

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  int between(int least, int most) { return least + upto(most - least); }
  // Numbers that binary16 has.
  Array numbers(std::vector<int> dims, float low = -1, float high = 1) {
    Array a(std::move(dims));
    std::uniform_real_distribution<float> value(low, high);
    for (double& v : a.v) v = double{half_to_float(float_to_half(value(random_)))};
    return a;
  }

 private:
  std::mt19937 random_;
};

// (1, h, w, c) as the network's input has it.
inline std::vector<float> channels_first(const Array& a) {
  std::vector<float> out;
  for (int c = 0; c < a.dims[3]; ++c) {
    for (int y = 0; y < a.dims[1]; ++y) {
      for (int x = 0; x < a.dims[2]; ++x) out.push_back(static_cast<float>(a({0, y, x, c})));
    }
  }
  return out;
}

inline std::vector<int32_t> dims32(const Array& a) {
  return {a.dims.begin(), a.dims.end()};
}

inline void expect(const char* what, TfliteModel& model, const Array& in, const Array& want,
                   double tolerance = 0.01) {
  auto made = convert_model(model);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  const Shape& shape = made.value().tensor(made.value().outputs[0].tensor).desc.shape;
  ck_assert_msg(std::vector<int>(shape.dims, shape.dims + shape.rank) == want.dims, "%s: is %s",
                what, shape.to_string().c_str());
  const auto input = in.dims.size() == 4 ? channels_first(in) : in.floats();
  const auto out = run_model(what, std::move(made.value()), input.data());
  expect_close(what, out, want.floats().data(), want.v.size(), tolerance);
}

struct Window {
  tfl::Padding padding = tfl::Padding::SAME;
  int stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
};

inline int outputs(int size, int reach, int stride, tfl::Padding padding) {
  return padding == tfl::Padding::SAME ? (size + stride - 1) / stride : (size - reach) / stride + 1;
}

inline int before(int size, int reach, int stride, tfl::Padding padding) {
  if (padding == tfl::Padding::VALID) return 0;
  return std::max((outputs(size, reach, stride, padding) - 1) * stride + reach - size, 0) / 2;
}

}  // namespace dvnn::test::tflite_arrays
