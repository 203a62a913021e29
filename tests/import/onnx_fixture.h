// SPDX-License-Identifier: Apache-2.0
// Small ONNX models for tests, weights filled in from a seed.
#pragma once

#include <unistd.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check_suite.h"
#include "convert/convert.h"
#include "onnx.pb.h"
#include "run_model.h"

namespace dvnn::test {

class OnnxModel {
 public:
  /// Begins a model with an input "x" of these dimensions.
  explicit OnnxModel(std::vector<int64_t> input, int64_t opset = 11) {
    model.set_ir_version(6);
    model.add_opset_import()->set_version(opset);
    graph().set_name("t");
    onnx::ValueInfoProto* info = graph().add_input();
    describe("x", input, info);
  }
  /// Adds an input.
  OnnxModel& input(const std::string& name, const std::vector<int64_t>& dims) {
    describe(name, dims, graph().add_input());
    return *this;
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  /// Adds weights in [low, high].
  OnnxModel& weights(const std::string& name, std::vector<int64_t> dims, float low = -0.5f,
                     float high = 0.5f) {
    std::uniform_real_distribution<float> value(low, high);
    onnx::TensorProto* tensor = tensor_of(name, dims, 1);
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    for (int64_t i = 0; i < count; ++i) tensor->add_float_data(value(random_));
    return *this;
  }
  /// Adds weights of one number, as files have large ones: as bytes.
  OnnxModel& constant(const std::string& name, std::vector<int64_t> dims, float value) {
    onnx::TensorProto* tensor = tensor_of(name, dims, 1);
    size_t count = 1;
    for (int64_t d : dims) count *= static_cast<size_t>(d);
    const std::vector<float> values(count, value);
    tensor->set_raw_data(values.data(), count * sizeof value);
    return *this;
  }
  OnnxModel& ints(const std::string& name, std::vector<int64_t> values, bool scalar = false) {
    std::vector<int64_t> dims;
    if (!scalar) dims = {static_cast<int64_t>(values.size())};
    onnx::TensorProto* tensor = tensor_of(name, dims, 7);
    for (int64_t v : values) tensor->add_int64_data(v);
    return *this;
  }
  /// Adds indices of any shape.
  OnnxModel& places(const std::string& name, std::vector<int64_t> dims,
                    std::vector<int64_t> values) {
    onnx::TensorProto* tensor = tensor_of(name, dims, 7);
    for (int64_t v : values) tensor->add_int64_data(v);
    return *this;
  }
  OnnxModel& floats(const std::string& name, std::vector<float> values) {
    onnx::TensorProto* tensor = tensor_of(name, {static_cast<int64_t>(values.size())}, 1);
    for (float v : values) tensor->add_float_data(v);
    return *this;
  }
  /// Adds numbers of one of ONNX's integer types of up to 32 bits (TensorProto.DataType).
  OnnxModel& integers(const std::string& name, int type, std::vector<int64_t> dims,
                      const std::vector<int>& values) {
    onnx::TensorProto* tensor = tensor_of(name, dims, type);
    for (int v : values) tensor->add_int32_data(v);
    return *this;
  }
  OnnxModel& domain(const std::string& name) {
    graph().mutable_node(graph().node_size() - 1)->set_domain(name);
    return *this;
  }
  OnnxModel& node(const std::string& type, std::vector<std::string> inputs,
                  std::vector<std::string> outputs) {
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type(type);
    node->set_name(type + "_" + outputs[0]);
    for (const auto& name : inputs) node->add_input(name);
    for (const auto& name : outputs) node->add_output(name);
    return *this;
  }
  /// Adds an attribute to the last node.
  OnnxModel& list(const std::string& name, std::vector<int64_t> values) {
    onnx::AttributeProto* a = attribute(name, 7);
    for (int64_t v : values) a->add_ints(v);
    return *this;
  }
  OnnxModel& set(const std::string& name, int64_t value) {
    attribute(name, 2)->set_i(value);
    return *this;
  }
  OnnxModel& set(const std::string& name, int value) { return set(name, int64_t{value}); }
  OnnxModel& set(const std::string& name, float value) {
    attribute(name, 1)->set_f(value);
    return *this;
  }
  OnnxModel& set(const std::string& name, const char* value) {
    attribute(name, 3)->set_s(value);
    return *this;
  }
  OnnxModel& texts(const std::string& name, std::vector<const char*> values) {
    onnx::AttributeProto* a = attribute(name, 8);
    for (const char* v : values) a->add_strings(v);
    return *this;
  }
  OnnxModel& branch(const std::string& name, const onnx::GraphProto& value) {
    *attribute(name, 5)->mutable_g() = value;
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    describe(name, {}, graph().add_output());
    return *this;
  }

  onnx::ModelProto model;

 private:
  static void describe(const std::string& name, const std::vector<int64_t>& dims,
                       onnx::ValueInfoProto* info) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(1);
    tensor->mutable_shape();
    for (int64_t d : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (d > 0) dim->set_dim_value(d);
    }
  }
  onnx::TensorProto* tensor_of(const std::string& name, const std::vector<int64_t>& dims,
                               int type) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (int64_t d : dims) tensor->add_dims(d);
    return tensor;
  }
  onnx::AttributeProto* attribute(const std::string& name, int type) {
    onnx::AttributeProto* a = graph().mutable_node(graph().node_size() - 1)->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  }
  std::mt19937 random_{1};
};

/// A file with these bytes, removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    close(mkstemp(&path[0]));
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { unlink(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path = "/tmp/dvnn-model-XXXXXX";
};

inline Result<network::Model> convert_model(const OnnxModel& model,
                                            convert::ConvertOptions options = {},
                                            convert::Report* report = nullptr) {
  const TemporaryFile file(model.model.SerializeAsString());
  return convert::convert_onnx(file.path, options, report);
}

/// Converts a model, which must be possible.
inline network::Model made_of(const OnnxModel& model, const convert::ConvertOptions& options = {},
                              convert::Report* report = nullptr) {
  auto made = convert_model(model, options, report);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  return std::move(made.value());
}

/// Fails unless the model's first output is `want`, on the software device.
inline void expect_output(const char* what, const OnnxModel& model, const std::vector<float>& input,
                          const std::vector<float>& want) {
  const std::vector<float> got = run_model(what, made_of(model), input.data());
  expect_close(what, got, want.data(), want.size());
}

}  // namespace dvnn::test
