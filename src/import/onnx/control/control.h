// SPDX-License-Identifier: Apache-2.0
// Operators in whose place other nodes are imported: branches, loops, lists, and spectra of sound;
// and the nodes that these make. Private to the ONNX front end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/import.h"
#include "import/onnx/model.h"

namespace dvnn::import {

// AttributeProto's types, by onnx.proto3.
constexpr int kIntAttribute = 2;
constexpr int kIntsAttribute = 7;

/// Returns a node with one output, after which it is named.
inline onnx::NodeProto made_node(const char* type, const std::vector<std::string>& inputs,
                                 const std::string& output) {
  onnx::NodeProto proto;
  proto.set_op_type(type);
  proto.set_name(output);
  for (const std::string& input : inputs) proto.add_input(input);
  proto.add_output(output);
  return proto;
}

/// Adds a whole number, or several, to a node.
inline void add_attribute(const char* name, int64_t value, onnx::NodeProto* proto) {
  onnx::AttributeProto* attribute = proto->add_attribute();
  attribute->set_name(name);
  attribute->set_type(kIntAttribute);
  attribute->set_i(value);
}
inline void add_attribute(const char* name, const std::vector<int64_t>& values,
                          onnx::NodeProto* proto) {
  onnx::AttributeProto* attribute = proto->add_attribute();
  attribute->set_name(name);
  attribute->set_type(kIntsAttribute);
  for (int64_t value : values) attribute->add_ints(value);
}

/// Returns whole numbers as a constant that made nodes read: axes, shapes, lengths.
inline OnnxConstant whole_numbers(const std::vector<int64_t>& values) {
  OnnxConstant constant;
  constant.dims = {static_cast<int64_t>(values.size())};
  constant.values.assign(values.begin(), values.end());
  constant.integral = true;
  return constant;
}

/// Imports another node, in the operator's place.
using InnerImport = std::function<Status(const onnx::NodeProto&)>;

struct ControlOperator {
  const char* type;
  Status (*import)(const OnnxNode& node, const InnerImport& import);
};

/// Returns ONNX's own operator of this type if it is one of these, else null.
const ControlOperator* find_control_operator(const std::string& type);

/// If. A known condition chooses the branch that takes its place; otherwise both are computed, and
/// their results, of the same sizes, are chosen from element by element.
std::vector<ControlOperator> branch_operators();
/// Loop and Scan: the body is imported once for each repetition. Their number must be known:
/// constants decide how often a Loop repeats, and the input's shape how often a Scan does.
std::vector<ControlOperator> loop_operators();
/// Lists of tensors, ONNX's sequences, of known length: what exporters write for a split or for
/// tensors that a loop collects. Lists are known at conversion, tensors are what is in them.
std::vector<ControlOperator> list_operators();
/// Fourier transforms as products with known sines, and what is computed of known numbers for them.
std::vector<ControlOperator> spectral_operators();

/// What the importers of these operators share.
class ControlImport {
 public:
  ControlImport(const OnnxNode& node, const InnerImport& import)
      : node_(node), importer_(node.importer()), import_(import) {}

 protected:
  std::string own_name(const std::string& rest) const { return node_.output_name(0) + "/" + rest; }
  /// Squeezes or unsqueezes a value, by `type`, whose axes are an attribute or an input.
  Status move(const char* type, const std::string& name, const std::string& output, int64_t axis);

  const OnnxNode& node_;
  OnnxImporter& importer_;
  const InnerImport& import_;
};

template <class Importer>
Importer importer_with(Status (Importer::*step)());

/// Imports a node by one step of a class that is made for it.
template <auto kStep>
Status import_by(const OnnxNode& node, const InnerImport& import) {
  decltype(importer_with(kStep)) importer(node, import);
  return (importer.*kStep)();
}

}  // namespace dvnn::import
