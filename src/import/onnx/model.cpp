// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/format.h"
#include "import/model_file.h"
#include "tensor/half.h"

namespace dvnn::import {
namespace {

// Types of ONNX's TensorProto.DataType.
enum DataType {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kUint4 = 21,
  kInt4 = 22,
};

template <typename T>
Status read_raw(const std::string& raw, size_t count, std::vector<double>* values) {
  if (raw.size() != count * sizeof(T)) {
    return malformed(format("raw_data has %zu bytes, its %zu elements need %zu", raw.size(), count,
                            count * sizeof(T)));
  }
  values->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    values->push_back(static_cast<double>(value));
  }
  return {};
}

template <typename T, typename List>
Status read_list(const List& list, size_t count, std::vector<double>* values) {
  if (static_cast<size_t>(list.size()) != count) {
    return malformed(format("holds %d numbers, its dimensions say %zu", list.size(), count));
  }
  values->reserve(count);
  for (const auto value : list) {
    // Lists have wider types than some tensors: check the range.
    if constexpr (std::is_integral_v<T>) {
      if (static_cast<T>(value) != value) {
        return malformed("holds " + std::to_string(value) + ", which its type does not have");
      }
    }
    values->push_back(static_cast<double>(value));
  }
  return {};
}

// Reads a tensor's numbers from its raw bytes, elements of T, or from the list of its type.
template <typename T, typename List>
Status read_numbers(const onnx::TensorProto& tensor, const List& list, size_t count,
                    std::vector<double>* values) {
  return tensor.has_raw_data() ? read_raw<T>(tensor.raw_data(), count, values)
                               : read_list<T>(list, count, values);
}

// Reads numbers of four bits, two in each byte, the lower one first; lists have one byte per
// number.
Status read_nibbles(const onnx::TensorProto& tensor, size_t count, std::vector<double>* values) {
  std::string bytes = tensor.raw_data();
  if (!tensor.has_raw_data()) {
    for (int32_t number : tensor.int32_data()) bytes += static_cast<char>(number);
  }
  if (bytes.size() != (count + 1) / 2) {
    return malformed(format("has %zu bytes, its %zu elements of 4 bits need %zu", bytes.size(),
                            count, (count + 1) / 2));
  }
  const bool negative = tensor.data_type() == kInt4;  // values from 8 on are negative
  values->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const int nibble = static_cast<unsigned char>(bytes[i / 2]) >> (i % 2 * 4) & 15;
    values->push_back(negative && nibble > 7 ? nibble - 16 : nibble);
  }
  return {};
}

// The upper half of a binary32's bits.
double bfloat_to_double(uint32_t bits) {
  constexpr int kLowerHalf = 16;
  const uint32_t whole = bits << kLowerHalf;
  float value;
  std::memcpy(&value, &whole, sizeof(value));
  return value;
}

Result<OnnxConstant> read_numbers_of(const onnx::TensorProto& tensor) {
  OnnxConstant constant;
  constant.dims.assign(tensor.dims().begin(), tensor.dims().end());
  const int64_t elements = element_count(constant.dims);
  if (elements < 0) return too_large("has impossible dimensions");
  const size_t count = static_cast<size_t>(elements);
  std::vector<double>* v = &constant.values;
  constant.integral = true;
  constant.type = tensor.data_type();
  switch (tensor.data_type()) {
    case kFloat:
      constant.integral = false;
      DVNN_TRY(read_numbers<float>(tensor, tensor.float_data(), count, v));
      break;
    case kDouble:
      constant.integral = false;
      DVNN_TRY(read_numbers<double>(tensor, tensor.double_data(), count, v));
      break;
    case kFloat16:
      constant.integral = false;
      DVNN_TRY(read_numbers<uint16_t>(tensor, tensor.int32_data(), count, v));
      for (double& value : *v) {
        value = static_cast<double>(half_to_float(static_cast<half_t>(value)));
      }
      break;
    case kBfloat16:
      constant.integral = false;
      DVNN_TRY(read_numbers<uint16_t>(tensor, tensor.int32_data(), count, v));
      for (double& value : *v) value = bfloat_to_double(static_cast<uint32_t>(value));
      break;
    case kInt64:
      DVNN_TRY(read_numbers<int64_t>(tensor, tensor.int64_data(), count, v));
      break;
    case kInt32:
      DVNN_TRY(read_numbers<int32_t>(tensor, tensor.int32_data(), count, v));
      break;
    case kInt16:
      DVNN_TRY(read_numbers<int16_t>(tensor, tensor.int32_data(), count, v));
      break;
    case kInt8:
      DVNN_TRY(read_numbers<int8_t>(tensor, tensor.int32_data(), count, v));
      break;
    case kUint16:
      DVNN_TRY(read_numbers<uint16_t>(tensor, tensor.int32_data(), count, v));
      break;
    case kUint8:
    case kBool:
      DVNN_TRY(read_numbers<uint8_t>(tensor, tensor.int32_data(), count, v));
      break;
    case kUint32:
      DVNN_TRY(read_numbers<uint32_t>(tensor, tensor.uint64_data(), count, v));
      break;
    case kUint64:
      DVNN_TRY(read_numbers<uint64_t>(tensor, tensor.uint64_data(), count, v));
      break;
    case kUint4:
    case kInt4:
      DVNN_TRY(read_nibbles(tensor, count, v));
      break;
    default:
      return unsupported(format("data type %d is not supported", tensor.data_type()));
  }
  return constant;
}

bool has_nibbles(int64_t data_type) {
  return data_type == kUint4 || data_type == kInt4;
}

// Returns the bytes per number; 0: not supported.
size_t bytes_of_type(int64_t data_type) {
  switch (data_type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
    case kFloat16:
    case kBfloat16:
      return 2;
    case kFloat:
    case kInt32:
    case kUint32:
      return 4;
    case kDouble:
    case kInt64:
    case kUint64:
      return 8;
    default:
      return 0;
  }
}

Status take_number(const onnx::StringStringEntryProto& entry, const char* key, int64_t* number) {
  if (entry.key() != key) return {};
  const std::string& text = entry.value();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  if (error == std::errc() && stop == end) return {};
  return malformed("its data's " + std::string(key) + " is '" + short_text(text, 40) +
                   "', and must be a whole number");
}

// Reads external data as raw data. Its size follows from the dimensions.
Status read_external(const std::string& folder, onnx::TensorProto* tensor) {
  std::string location;
  int64_t offset = 0, length = -1;
  const auto count = static_cast<size_t>(std::max<int64_t>(element_count(*tensor), 0));
  const size_t size = has_nibbles(tensor->data_type()) ? (count + 1) / 2
                                                       : count * bytes_of_type(tensor->data_type());
  for (const auto& entry : tensor->external_data()) {
    if (entry.key() == "location") location = entry.value();
    DVNN_TRY(take_number(entry, "offset", &offset));
    DVNN_TRY(take_number(entry, "length", &length));
  }
  if (length != -1 && static_cast<uint64_t>(length) != size) {
    return malformed(format("its data has %lld bytes, its dimensions need %zu",
                            static_cast<long long>(length), size));
  }
  DVNN_ASSIGN(auto bytes, read_beside(folder, location, offset, size));
  tensor->set_raw_data(std::move(bytes));
  tensor->clear_data_location();
  return {};
}

}  // namespace

std::vector<int64_t> OnnxConstant::ints() const {
  std::vector<int64_t> list;
  constexpr double kLargest = 9e15;
  for (double v : values) {
    list.push_back(std::fabs(v) < kLargest ? static_cast<int64_t>(v)
                   : v < 0                 ? INT64_MIN
                                           : INT64_MAX);
  }
  return list;
}

int64_t element_count(const std::vector<int64_t>& dims) {
  constexpr int64_t kMost = int64_t{1} << 28;
  int64_t count = 1;
  for (int64_t d : dims) {
    if (d < 0 || d > kMost || (count *= d) > kMost) return -1;
  }
  return count;
}

int64_t element_count(const onnx::TensorProto& tensor) {
  return element_count(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
}

Result<onnx::ModelProto> read_onnx(const std::string& path) {
  onnx::ModelProto model;
  DVNN_TRY(parse_model_file(path, "an ONNX model", &model));
  if (!model.has_graph() || model.graph().node_size() == 0) {
    return malformed("'" + path + "' holds no graph: not an ONNX model?");
  }
  return model;
}

bool is_onnx_real(int64_t data_type) {
  return data_type == kFloat || data_type == kFloat16 || data_type == kDouble ||
         data_type == kBfloat16;
}

bool is_onnx_integer(int64_t data_type) {
  return (data_type >= kUint8 && data_type <= kInt64) || data_type == kBool ||
         data_type == kUint32 || data_type == kUint64 || data_type == kUint4 || data_type == kInt4;
}

bool is_surely_read(const onnx::TensorProto& tensor) {
  const int64_t count = element_count(tensor);
  const size_t bytes = bytes_of_type(tensor.data_type());
  return tensor.data_location() == 0 && count >= 0 && bytes > 0 && tensor.has_raw_data() &&
         tensor.raw_data().size() == static_cast<size_t>(count) * bytes;
}

Result<OnnxConstant> read_tensor(const onnx::TensorProto& tensor, const std::string& folder) {
  if (tensor.data_location() == 0) return read_numbers_of(tensor);
  onnx::TensorProto filled = tensor;
  DVNN_TRY(read_external(folder, &filled));
  return read_numbers_of(filled);
}

void reshape_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims) {
  if (batch < 2) return;
  const bool open = std::find(dims->begin(), dims->end(), -1) != dims->end();
  std::vector<int64_t> copied = *dims;
  for (size_t i = 0; i < copied.size() && i < in.size(); ++i) {
    if (copied[i] == 0) copied[i] = in[i];
  }
  if (!open && element_count(copied) == element_count(in)) return;
  // Elements keep their order, and the batch is the outermost of the dimensions that change: so it
  // is in the first changed dimension, unless that is -1.
  for (size_t i = 0; i < dims->size(); ++i) {
    int64_t& d = (*dims)[i];
    const bool copies_batch = d == 0 && i < in.size() && in[i] == 1;
    if (d == -1 || copies_batch) return;
    if (i < in.size() && (d == 0 || d == in[i])) continue;
    if (d % batch == 0) d /= batch;
    return;
  }
}

void expand_one_of(int64_t batch, const std::vector<int64_t>& in, std::vector<int64_t>* dims) {
  constexpr size_t kLeast = 2;  // dimensions
  if (batch < 2 || dims->size() < kLeast || (*dims)[0] != batch) return;
  if (in.size() < dims->size() || in[0] == 1) (*dims)[0] = 1;
}

}  // namespace dvnn::import
