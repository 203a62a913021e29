// SPDX-License-Identifier: Apache-2.0
// The grid network (grid_network.h) as an ONNX file, for others to run. Written byte by byte: the
// protobuf library would meet the same messages in ONNX Runtime, and end the process.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dvnn::test {

/// A message of protobuf's wire format. Numbers of fields are those of onnx.proto.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& bytes(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// What is appended to a model so that onnxinference takes an output's name for its tensor's id.
inline std::string onnx_output_id(const std::string& output) {
  return Message().message(14, Message().bytes(1, output).bytes(2, output)).text();
}

inline std::string onnx_grid() {
  auto floats = [](const std::string& name, const std::vector<uint64_t>& dims,
                   const std::vector<float>& values) {
    Message tensor;
    for (const uint64_t dim : dims) tensor.number(1, dim);
    std::string raw(values.size() * sizeof(float), '\0');
    std::memcpy(&raw[0], values.data(), raw.size());
    return tensor.number(2, 1).bytes(8, name).bytes(9, raw);
  };
  auto node = [](const char* op, const std::vector<std::string>& inputs,
                 const std::string& output) {
    Message made;
    for (const std::string& input : inputs) made.bytes(1, input);
    return made.bytes(2, output).bytes(4, op);
  };
  auto integers = [](const char* name, const std::vector<uint64_t>& values) {
    Message attribute;
    attribute.bytes(1, name);
    for (const uint64_t value : values) attribute.number(8, value);
    return attribute.number(20, 7);
  };
  auto integer = [](const char* name, uint64_t value) {
    return Message().bytes(1, name).number(3, value).number(20, 2);
  };
  auto picture = [](const std::string& name, const std::vector<uint64_t>& dims) {
    Message shape;
    for (const uint64_t dim : dims) shape.message(1, Message().number(1, dim));
    const Message type = Message().message(1, Message().number(1, 1).message(2, shape));
    return Message().bytes(1, name).message(2, type);
  };
  std::vector<float> red(2 * 3 * 16, 0.0f);
  for (size_t i = 0; i < 16; ++i) {
    red[3 * 16 + i] = 4;        // class 1, red
    red[3 * 16 + 16 + i] = -4;  // class 1, green
  }
  const auto stride = integers("strides", {4, 4});
  const auto order = integers("perm", {0, 2, 3, 1});
  Message graph;
  graph.message(1, node("Conv", {"x", "red", "red_bias"}, "conf_map").message(5, stride))
      .message(1, node("Conv", {"x", "still"}, "loc_map").message(5, stride))
      .message(1, node("Transpose", {"loc_map"}, "loc").message(5, order))
      .message(1, node("Transpose", {"conf_map"}, "conf_rows").message(5, order))
      .message(1, node("Softmax", {"conf_rows"}, "conf").message(5, integer("axis", 3)))
      .bytes(2, "grid")
      .message(5, floats("red", {2, 3, 4, 4}, red))
      .message(5, floats("red_bias", {2}, {0, -32}))
      .message(5, floats("still", {4, 3, 4, 4}, std::vector<float>(4 * 3 * 16, 0.0f)))
      .message(11, picture("x", {1, 3, 16, 16}))
      .message(12, picture("loc", {1, 4, 4, 4}))
      .message(12, picture("conf", {1, 4, 4, 2}));
  return Message()
             .number(1, 8)
             .message(8, Message().bytes(1, "").number(2, 13))
             .message(7, graph)
             .text() +
         onnx_output_id("loc") + onnx_output_id("conf");
}

}  // namespace dvnn::test
