// SPDX-License-Identifier: Apache-2.0
// Operators in whose place other nodes are imported: branches, loops, lists, and spectra of sound.
// Private to the ONNX front end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/import.h"

namespace dvnn::import {

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
