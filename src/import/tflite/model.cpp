// SPDX-License-Identifier: Apache-2.0
#include "import/tflite/model.h"

#include <algorithm>
#include <cstring>

#include "base/budget.h"
#include "base/file.h"
#include "base/format.h"
#include "import/model_file.h"
#include "tensor/half.h"

namespace dvnn::import {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr int kMaxTableDepth = 16;
constexpr unsigned kMaxTables = 1000000;

template <typename List>
int count_of(const List* list) {
  return list ? static_cast<int>(list->size()) : 0;
}

template <typename T>
std::vector<double> read_as(Span<const uint8_t> bytes, size_t count) {
  std::vector<double> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

// Reads numbers of four bits: two in a byte, the first one in its lower half.
std::vector<double> read_nibbles(Span<const uint8_t> bytes, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    const int nibble = (bytes[i / 2] >> (i % 2 * 4)) & 15;
    values.push_back(nibble < 8 ? nibble : nibble - 16);
  }
  return values;
}

std::vector<double> read_halves(Span<const uint8_t> bytes, size_t count) {
  std::vector<double> values = read_as<uint16_t>(bytes, count);
  for (double& v : values) v = static_cast<double>(half_to_float(static_cast<half_t>(v)));
  return values;
}

struct NumberType {
  tfl::TensorType type;
  const char* name;
  int bits;
  std::vector<double> (*read)(Span<const uint8_t>, size_t);  // null: not numbers
};

using tfl::TensorType;
constexpr NumberType kTypes[] = {
    {TensorType::FLOAT32, "float32", 32, read_as<float>},
    {TensorType::FLOAT16, "float16", 16, read_halves},
    {TensorType::INT32, "int32", 32, read_as<int32_t>},
    {TensorType::UINT8, "uint8", 8, read_as<uint8_t>},
    {TensorType::INT64, "int64", 64, read_as<int64_t>},
    {TensorType::STRING, "string", 8, nullptr},
    {TensorType::BOOL, "bool", 8, read_as<uint8_t>},
    {TensorType::INT16, "int16", 16, read_as<int16_t>},
    {TensorType::COMPLEX64, "complex64", 64, nullptr},
    {TensorType::INT8, "int8", 8, read_as<int8_t>},
    {TensorType::FLOAT64, "float64", 64, read_as<double>},
    {TensorType::COMPLEX128, "complex128", 128, nullptr},
    {TensorType::UINT64, "uint64", 64, read_as<uint64_t>},
    {TensorType::RESOURCE, "resource", 8, nullptr},
    {TensorType::VARIANT, "variant", 8, nullptr},
    {TensorType::UINT32, "uint32", 32, read_as<uint32_t>},
    {TensorType::UINT16, "uint16", 16, read_as<uint16_t>},
    {TensorType::INT4, "int4", 4, read_nibbles},
};

const NumberType* find_type(TensorType type) {
  for (const NumberType& entry : kTypes) {
    if (entry.type == type) return &entry;
  }
  return nullptr;
}

Result<std::vector<double>> read_stored(const tfl::Tensor& tensor, Span<const uint8_t> bytes,
                                        int64_t elements) {
  const NumberType* type = find_type(tensor.type());
  if (!type || !type->read) {
    return unsupported("is of type " + tflite_type_name(tensor.type()) +
                       ", which is none of numbers");
  }
  const auto bits = static_cast<size_t>(type->bits);
  // The number of a sparse tensor's elements follows from its bytes.
  const bool sparse = tensor.sparsity() != nullptr;
  const size_t count = sparse ? bytes.size() * 8 / bits : static_cast<size_t>(elements);
  const size_t needed = (count * bits + 7) / 8;
  if (bytes.size() != needed) {
    return malformed(format("has %zu bytes, its %zu elements of %s need %zu", bytes.size(), count,
                            type->name, needed));
  }
  return type->read(bytes, count);
}

// Replaces each number by scale * (number - zero).
void scale_numbers(const TfliteScaling& scaling, OnnxConstant* constant) {
  size_t inner = 1;
  const auto axis = static_cast<size_t>(scaling.axis);
  for (size_t i = axis + 1; i < constant->dims.size(); ++i) {
    inner *= static_cast<size_t>(constant->dims[i]);
  }
  for (size_t i = 0; i < constant->values.size(); ++i) {
    const size_t s = scaling.scale.size() == 1 ? 0 : i / inner % scaling.scale.size();
    double& v = constant->values[i];
    // Rounded to a float, as the runtime does.
    v = static_cast<double>(static_cast<float>(scaling.scale[s] * (v - scaling.zero[s])));
  }
  constant->integral = false;
}

}  // namespace

std::vector<int64_t> tflite_list(const flatbuffers::Vector<int32_t>* list) {
  std::vector<int64_t> values;
  for (unsigned i = 0; list && i < list->size(); ++i) values.push_back(list->Get(i));
  return values;
}

std::string tflite_text(const flatbuffers::String* text) {
  return text ? text->str() : std::string();
}

std::string tflite_type_name(TensorType type) {
  const NumberType* known = find_type(type);
  return known ? known->name : format("number %d", static_cast<int>(type));
}

bool is_tflite_real(TensorType type) {
  return type == TensorType::FLOAT32 || type == TensorType::FLOAT16 || type == TensorType::FLOAT64;
}

Result<TfliteScaling> tflite_scaling(const tfl::Tensor& tensor) {
  TfliteScaling scaling;
  const tfl::Quantization* given = tensor.quantization();
  if (!given || is_tflite_real(tensor.type()) || count_of(given->scale()) == 0) return scaling;
  if (given->details_type() != 0) {
    return unsupported("is quantised in a way of its own, not by scales");
  }
  const unsigned scales = given->scale()->size();
  for (unsigned i = 0; i < scales; ++i) scaling.scale.push_back(given->scale()->Get(i));
  scaling.zero.assign(scales, 0);
  const int zeros = count_of(given->zero_point());
  for (unsigned i = 0; zeros > 0 && i < scales; ++i) {
    const bool one = zeros == 1;
    if (!one && static_cast<unsigned>(zeros) != scales) {
      return malformed(format("has %u scales and %d zero points", scales, zeros));
    }
    scaling.zero[i] = static_cast<double>(given->zero_point()->Get(one ? 0 : i));
  }
  scaling.axis = given->quantized_dimension();
  const std::vector<int64_t> dims = tflite_list(tensor.shape());
  const auto rank = static_cast<int64_t>(dims.size());
  if (scales == 1) return scaling;
  if (scaling.axis < 0 || scaling.axis >= rank ||
      dims[static_cast<size_t>(scaling.axis)] != static_cast<int64_t>(scales)) {
    return malformed(format("has %u scales, which are not as many as dimension %lld has", scales,
                            static_cast<long long>(scaling.axis)));
  }
  return scaling;
}

Result<TfliteModel> TfliteModel::read(const std::string& path) {
  DVNN_ASSIGN(const File file, open_model_file(path, kMaxBytes));
  std::string bytes(static_cast<size_t>(size_of(file)), '\0');
  DVNN_TRY(read_at(file.fd(), 0, bytes.data(), bytes.size()));
  auto model = parse(std::move(bytes));
  if (!model.ok()) return model.error().within("'" + path + "'");
  return model;
}

Result<TfliteModel> TfliteModel::parse(std::string bytes) {
  constexpr size_t kLeastBytes = 8;
  TfliteModel model(std::move(bytes));
  const auto* data = reinterpret_cast<const uint8_t*>(model.bytes_.data());
  const bool named =
      model.bytes_.size() >= kLeastBytes && flatbuffers::BufferHasIdentifier(data, "TFL3");
  flatbuffers::Verifier verifier(data, model.bytes_.size(), kMaxTableDepth, kMaxTables);
  if (!named || !verifier.VerifyBuffer<tfl::Model>("TFL3")) {
    return malformed(named ? "is a TensorFlow Lite model that is truncated or damaged"
                           : "is no TensorFlow Lite model (it lacks the mark TFL3)");
  }
  DVNN_TRY(model.check());
  return model;
}

Status TfliteModel::check() const {
  if (count_of(root().subgraphs()) == 0 || count_of(graph().operators()) == 0 || tensors() == 0) {
    return malformed("holds no graph");
  }
  for (const tfl::Tensor* each : *graph().tensors()) {
    if (each->buffer() == 0 || each->buffer() < static_cast<unsigned>(count_of(root().buffers()))) {
      continue;
    }
    return malformed(format("tensor '%s' names buffer %u of %d", tflite_text(each->name()).c_str(),
                            each->buffer(), count_of(root().buffers())));
  }
  for (const auto* list : {graph().inputs(), graph().outputs()}) {
    for (int64_t i : tflite_list(list)) {
      if (i >= 0 && i < tensors()) continue;
      return malformed(
          format("an input or output is tensor %lld of %d", static_cast<long long>(i), tensors()));
    }
  }
  for (const tfl::Operator* op : *graph().operators()) DVNN_TRY(check_operator(*op));
  return {};
}

Status TfliteModel::check_operator(const tfl::Operator& op) const {
  if (op.opcode_index() >= static_cast<unsigned>(count_of(root().operator_codes()))) {
    return malformed(format("an operator is of code %u of %d", op.opcode_index(),
                            count_of(root().operator_codes())));
  }
  // The index -1 stands for an absent input.
  for (int64_t i : tflite_list(op.inputs())) {
    if (i >= -1 && i < tensors()) continue;
    return malformed(format("%s reads tensor %lld of %d", type_of(op).c_str(),
                            static_cast<long long>(i), tensors()));
  }
  for (int64_t i : tflite_list(op.outputs())) {
    if (i >= 0 && i < tensors()) continue;
    return malformed(format("%s makes tensor %lld of %d", type_of(op).c_str(),
                            static_cast<long long>(i), tensors()));
  }
  return {};
}

int TfliteModel::tensors() const {
  return count_of(graph().tensors());
}

Span<const uint8_t> TfliteModel::buffer(uint32_t index) const {
  if (index >= static_cast<unsigned>(count_of(root().buffers()))) return {};
  const tfl::Buffer& buffer = *root().buffers()->Get(index);
  if (buffer.data()) return {buffer.data()->data(), buffer.data()->size()};
  const bool outside = buffer.offset() > 1 && buffer.offset() <= bytes_.size() &&
                       buffer.size() <= bytes_.size() - buffer.offset();
  if (!outside) return {};
  return {reinterpret_cast<const uint8_t*>(bytes_.data()) + buffer.offset(),
          static_cast<size_t>(buffer.size())};
}

bool TfliteModel::is_constant(int i) const {
  return !buffer(tensor(i).buffer()).empty();
}

Result<OnnxConstant> TfliteModel::numbers(int i) const {
  const tfl::Tensor& from = tensor(i);
  OnnxConstant constant;
  constant.dims = tflite_list(from.shape());
  constant.integral = !is_tflite_real(from.type());
  const int64_t elements = element_count(constant.dims);
  if (elements < 0) return too_large("has impossible dimensions");
  DVNN_TRY(check_budget(Budget::kImportNumbers, static_cast<uint64_t>(elements),
                        "the constant's numbers"));
  DVNN_ASSIGN(constant.values, read_stored(from, buffer(from.buffer()), elements));
  if (from.sparsity()) {
    DVNN_ASSIGN(constant.values, spread_tflite(from, constant.values));
  }
  DVNN_ASSIGN(const TfliteScaling scaling, tflite_scaling(from));
  if (!scaling.scale.empty()) scale_numbers(scaling, &constant);
  return constant;
}

std::string TfliteModel::type_of(const tfl::Operator& op) const {
  const tfl::OperatorCode& code = *root().operator_codes()->Get(op.opcode_index());
  const int number = std::max<int>(code.old_builtin_code(), code.builtin_code());
  constexpr int kCustom = 32;
  if (number == kCustom) return tflite_text(code.custom_code());
  const char* name = tflite_operator_name(number);
  return name ? name : format("operator %d", number);
}

}  // namespace dvnn::import
