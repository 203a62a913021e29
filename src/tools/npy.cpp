// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <cstring>

#include "base/file.h"
#include "base/format.h"
#include "tensor/half.h"
#include "tensor/tensor.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

// Returns the value of `key` in the header, a Python dictionary: up to the next comma outside
// parentheses.
std::string field_of(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  size_t begin = at == std::string::npos ? at : header.find(':', at);
  if (begin == std::string::npos) return "";
  begin = header.find_first_not_of(" :", begin);
  size_t end = begin;
  for (int open = 0; end < header.size(); ++end) {
    open += header[end] == '(' ? 1 : header[end] == ')' ? -1 : 0;
    if (open <= 0 && (header[end] == ',' || header[end] == '}')) break;
  }
  return begin == std::string::npos ? "" : header.substr(begin, end - begin);
}

Result<std::vector<int64_t>> parse_dims(const std::string& text) {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  if (text.empty() || text[0] != '(') return malformed("names no shape");
  const char* at = text.c_str() + 1;
  while (*at != '\0' && *at != ')') {
    char* end = nullptr;
    const long long d = std::strtoll(at, &end, 10);
    if (end == at || d < 0 || d > kMaxTensorElements || dims.size() > 16 ||
        (elements *= d) > kMaxTensorElements) {
      return malformed("its shape " + short_text(text, 60) + " is impossible");
    }
    dims.push_back(d);
    for (at = end; *at == ',' || *at == ' ';) ++at;
  }
  return dims;
}

template <typename T>
std::vector<float> numbers(const char* data, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(value);
  }
  return values;
}

std::vector<float> halves(const char* data, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    half_t value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    values[i] = half_to_float(value);
  }
  return values;
}

struct NumberType {
  const char* name;
  size_t bytes;
  std::vector<float> (*read)(const char* data, size_t count);
};

constexpr NumberType kTypes[] = {
    {"<f4", 4, numbers<float>},    {"<f8", 8, numbers<double>},   {"<f2", 2, halves},
    {"|u1", 1, numbers<uint8_t>},  {"|i1", 1, numbers<int8_t>},   {"|b1", 1, numbers<uint8_t>},
    {"<i2", 2, numbers<int16_t>},  {"<u2", 2, numbers<uint16_t>}, {"<i4", 4, numbers<int32_t>},
    {"<u4", 4, numbers<uint32_t>}, {"<i8", 8, numbers<int64_t>},  {"<u8", 8, numbers<uint64_t>},
};

Result<NpyArray> parse_npy(const std::string& bytes) {
  constexpr size_t kLengthAt = 8;
  if (bytes.size() < 12 || bytes.compare(0, kMagicBytes, kMagic, kMagicBytes) != 0) {
    return malformed("is no NumPy array (.npy)");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const bool wide = byte(kMagicBytes) > 1;  // versions 2.0 and 3.0 have longer headers
  const size_t begin = kLengthAt + (wide ? 4 : 2);
  size_t length = byte(kLengthAt) | byte(kLengthAt + 1) << 8;
  if (wide) length |= byte(kLengthAt + 2) << 16 | byte(kLengthAt + 3) << 24;
  if (length > bytes.size() - begin) return malformed("ends in its header");
  const std::string header = bytes.substr(begin, length);
  if (field_of(header, "fortran_order").compare(0, 5, "False") != 0) {
    return unsupported("is in Fortran's order: save it row-major");
  }
  NpyArray array;
  DVNN_ASSIGN(array.dims, parse_dims(field_of(header, "shape")));
  size_t count = 1;
  for (int64_t d : array.dims) count *= static_cast<size_t>(d);
  const std::string type = field_of(header, "descr");
  for (const NumberType& known : kTypes) {
    if (type != "'" + std::string(known.name) + "'") continue;
    if (bytes.size() - begin - length != count * known.bytes) {
      return malformed(format("has %zu bytes of numbers, needs %zu", bytes.size() - begin - length,
                              count * known.bytes));
    }
    array.values = known.read(bytes.data() + begin + length, count);
    return array;
  }
  return unsupported("has numbers of type " + short_text(type, 40));
}

}  // namespace

Result<NpyArray> read_npy(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  DVNN_ASSIGN(const std::string bytes, read_file(path, kMaxBytes));
  auto array = parse_npy(bytes);
  if (array.ok()) return array;
  return array.error().within("'" + path + "'");
}

Status write_npy(const std::string& path, const Shape& shape, const std::vector<float>& values) {
  std::string dims;
  for (int i = 0; i < shape.rank; ++i) dims += std::to_string(shape[i]) + ",";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + "), }";
  // Magic, version and length take 10 bytes; the whole is padded to a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string begin(kMagic, kMagicBytes);
  begin += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  begin += header;
  begin.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return write_file(path, begin);
}

}  // namespace dvnn::tools
