// SPDX-License-Identifier: Apache-2.0
// The model as an importer sees it: its numbers, and a node's inputs, attributes and results.
#include <algorithm>

#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "import/onnx/import.h"

namespace dvnn::import {

Status OnnxImporter::check_numbers(uint64_t more) const {
  return check_budget(Budget::kImportNumbers, numbers + more, "the constants' numbers");
}

Result<OnnxConstant> OnnxImporter::read(const onnx::TensorProto& tensor) const {
  DVNN_TRY(check_numbers(static_cast<uint64_t>(std::max<int64_t>(element_count(tensor), 0))));
  return read_tensor(tensor, folder);
}

Status OnnxImporter::read_initializers(const onnx::GraphProto& proto,
                                       const std::set<std::string>& late) {
  uint64_t all = 0;  // sum of all, before any of them is read
  for (const onnx::TensorProto& tensor : proto.initializer()) {
    all += static_cast<uint64_t>(std::max<int64_t>(element_count(tensor), 0));
    DVNN_TRY(check_numbers(all));
  }
  for (const onnx::TensorProto& tensor : proto.initializer()) {
    if (late.count(tensor.name()) > 0) {  // an initializer, and none of the inputs
      entries[tensor.name()].constant = std::make_shared<const OnnxConstant>();
      continue;
    }
    auto constant = read(tensor);
    if (!constant.ok()) return constant.error().within("initializer '" + tensor.name() + "'");
    set(tensor.name(), std::move(constant.value()));
  }
  return {};
}

const std::string& OnnxNode::name() const {
  if (!proto_.name().empty() || outputs() == 0) return proto_.name();
  return proto_.output(0);
}

bool OnnxNode::is_constant(int i) const {
  if (!has(i)) return false;
  const auto it = importer_->entries.find(proto_.input(i));
  return it != importer_->entries.end() && it->second.constant;
}

bool OnnxNode::is_integral(int i) const {
  if (!has(i)) return false;
  const auto it = importer_->entries.find(proto_.input(i));
  return it != importer_->entries.end() && it->second.integral;
}

bool OnnxNode::is_scalar(int i) const {
  if (!has(i)) return false;
  const auto it = importer_->entries.find(proto_.input(i));
  if (it == importer_->entries.end()) return false;
  return it->second.constant ? it->second.constant->dims.empty() : it->second.scalar;
}

size_t OnnxNode::rank_of(int i) const {
  if (is_scalar(i)) return 0;
  const auto it = importer_->entries.find(input_name(i));
  if (it == importer_->entries.end()) return 1;
  return it->second.constant ? it->second.constant->dims.size()
                             : builder().shape_of(it->second.value).axes();
}

bool OnnxNode::all_constant() const {
  for (int i = 0; i < inputs(); ++i) {
    if (has(i) && !is_constant(i)) return false;
  }
  return true;
}

Result<int> OnnxNode::value(int i) const {
  if (!has(i)) return malformed(format("input %d is missing", i));
  const auto it = importer_->entries.find(proto_.input(i));
  if (it == importer_->entries.end()) {
    return Error{ErrorCode::kNotFound,
                 "reads '" + proto_.input(i) + "', which nothing in the model makes"};
  }
  if (it->second.value >= 0) return it->second.value;
  const OnnxConstant& constant = *it->second.constant;
  const std::vector<int64_t> scalar = {1};
  DVNN_ASSIGN(it->second.value,
              builder().constant(proto_.input(i), constant.dims.empty() ? scalar : constant.dims,
                                 constant.floats()));
  return it->second.value;
}

Result<std::shared_ptr<const OnnxConstant>> OnnxNode::constant(int i) const {
  if (is_constant(i)) return importer_->entries.at(proto_.input(i)).constant;
  if (!has(i)) return malformed(format("input %d is missing", i));
  return unsupported(
      "input '" + proto_.input(i) +
      "' is computed from the picture, where numbers that are known beforehand are needed");
}

Result<std::vector<int64_t>> OnnxNode::ints_at(int input, const char* attribute_name) const {
  if (!has(input)) return integers(attribute_name);
  DVNN_ASSIGN(const auto numbers, constant(input));
  return numbers->ints();
}

const onnx::AttributeProto* OnnxNode::attribute(const char* name) const {
  for (const onnx::AttributeProto& a : proto_.attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

int64_t OnnxNode::integer(const char* name, int64_t fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_i() ? a->i() : fallback;
}

float OnnxNode::number(const char* name, float fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_f() ? a->f() : fallback;
}

std::string OnnxNode::text(const char* name, const char* fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_s() ? a->s() : fallback;
}

std::vector<int64_t> OnnxNode::integers(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<float> OnnxNode::numbers(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> OnnxNode::texts(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->strings().begin(), a->strings().end()};
}

const onnx::TensorProto* OnnxNode::tensor(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_t() ? &a->t() : nullptr;
}

const onnx::GraphProto* OnnxNode::graph(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_g() ? &a->g() : nullptr;
}

Json OnnxNode::attributes() const {
  Json all = Json::object();
  for (const onnx::AttributeProto& a : proto_.attribute()) {
    Json& value = all[printable(a.name())];
    if (a.has_f()) value = a.f();
    if (a.has_i()) value = a.i();
    if (a.has_s()) value = printable(a.s());
    if (a.floats_size() > 0) value = std::vector<float>(a.floats().begin(), a.floats().end());
    if (a.ints_size() > 0) value = std::vector<int64_t>(a.ints().begin(), a.ints().end());
  }
  return all;
}

Status OnnxNode::done(const Result<int>& value) const {
  return done_at(0, value);
}

Status OnnxNode::done_at(int output, const Result<int>& value) const {
  if (!value.ok()) return value.error();
  if (output < outputs() && !proto_.output(output).empty()) {
    importer_->set(proto_.output(output), value.value(), false);
  }
  return {};
}

Status OnnxNode::done(OnnxConstant constant) const {
  importer_->set(proto_.output(0), std::move(constant));
  return {};
}

Result<int64_t> onnx_axis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  const int64_t from_start = axis < 0 ? axis + count : axis;
  if (from_start >= 0 && from_start < count) return from_start;
  return malformed(
      format("axis %lld does not exist among %zu dimensions", static_cast<long long>(axis), rank));
}

Result<size_t> axis_at(const OnnxNode& node, int64_t fallback, size_t rank) {
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", fallback), rank));
  return static_cast<size_t>(axis);
}

}  // namespace dvnn::import
