// SPDX-License-Identifier: Apache-2.0
// An operator as its importer sees it: its tensors, and the ONNX operators that it becomes.
#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "import/options.h"
#include "import/tflite/import.h"

namespace dvnn::import {
namespace {

onnx::AttributeProto attribute_of(const OnnxAttribute& attribute) {
  onnx::AttributeProto proto;
  proto.set_name(attribute.name);
  if (const auto* i = std::get_if<int64_t>(&attribute.value)) proto.set_i(*i);
  if (const auto* f = std::get_if<float>(&attribute.value)) proto.set_f(*f);
  if (const auto* s = std::get_if<std::string>(&attribute.value)) proto.set_s(*s);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    for (int64_t v : *list) proto.add_ints(v);
  }
  return proto;
}

}  // namespace

int64_t tflite_picture_axis(int64_t axis) {
  constexpr int64_t kAxes[] = {0, 2, 3, 1};
  return nth(kAxes, axis);
}

TfliteNode::TfliteNode(const tfl::Operator& op, TfliteImporter* importer)
    : op_(op),
      importer_(importer),
      type_(importer->model.type_of(op)),
      inputs_(tflite_list(op.inputs())),
      outputs_(tflite_list(op.outputs())) {
  for (int64_t& in : inputs_) {
    if (in >= 0) in = nth(importer->same_as, in);
  }
}

const std::string& TfliteNode::name() const {
  static const std::string kNone;
  return outputs_.empty() ? kNone : nth(importer_->names, outputs_[0]);
}

Result<std::string> TfliteNode::plain(int i) const {
  if (!has(i)) return malformed(format("input %d is missing", i));
  DVNN_TRY(needs_whole(i));
  TfliteHeld& held = nth(importer_->held, input(i));
  const std::string& own = nth(importer_->names, input(i));
  if (!held.plain.empty()) return held.plain;
  if (!held.picture.empty()) {
    DVNN_ASSIGN(held.plain,
                run("Transpose", {held.picture}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}));
    return held.plain;
  }
  if (!importer_->model.is_constant(input(i))) {
    const bool state = input_tensor(i).is_variable();
    return unsupported("reads '" + own + "', " +
                       (state ? "a state that is kept from run to run, which is not supported"
                              : "which no operator before it makes"));
  }
  auto constant = importer_->model.numbers(input(i));
  if (!constant.ok()) return constant.error().within("'" + own + "'");
  importer_->onnx.set(own, std::move(constant.value()));
  held.plain = own;
  return held.plain;
}

Result<std::string> TfliteNode::picture(int i) const {
  if (!has(i)) return malformed(format("input %d is missing", i));
  DVNN_TRY(needs_whole(i));
  return picture_or_parts(i);
}

Result<std::string> TfliteNode::picture_or_parts(int i) const {
  if (!has(i)) return malformed(format("input %d is missing", i));
  TfliteHeld& held = nth(importer_->held, input(i));
  if (!held.picture.empty()) return held.picture;
  DVNN_ASSIGN(const std::string from, plain(i));
  const auto dims = dims_of(from);
  if (dims.size() != 4) {
    return unsupported("needs a picture (n x h x w x c), has " + given_shape_text(dims));
  }
  DVNN_ASSIGN(held.picture, run("Transpose", {from}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}));
  return held.picture;
}

bool TfliteNode::is_picture(int i) const {
  return has(i) && !nth(importer_->held, input(i)).picture.empty();
}

const std::shared_ptr<const TfliteParts>& TfliteNode::parts(int i) const {
  return nth(importer_->held, input(i)).parts;
}

Status TfliteNode::needs_whole(int i) const {
  if (!parts(i)) return {};
  return unsupported("'" + nth(importer_->names, input(i)) +
                     "' is what SPACE_TO_BATCH_ND makes of a picture, which convolutions and "
                     "functions of single elements alone may read");
}

bool TfliteNode::is_constant(int i) const {
  if (!has(i)) return false;
  const TfliteHeld& held = nth(importer_->held, input(i));
  const std::string& entry = held.plain.empty() ? held.picture : held.plain;
  if (entry.empty()) return importer_->model.is_constant(input(i));
  const auto it = importer_->onnx.entries.find(entry);
  return it != importer_->onnx.entries.end() && it->second.constant;
}

Result<std::shared_ptr<const OnnxConstant>> TfliteNode::constant(int i) const {
  DVNN_ASSIGN(const std::string entry, plain(i));
  const auto it = importer_->onnx.entries.find(entry);
  if (it != importer_->onnx.entries.end() && it->second.constant) return it->second.constant;
  return unsupported(
      "input '" + nth(importer_->names, input(i)) +
      "' is computed from the picture, where numbers that are known beforehand are needed");
}

Result<std::vector<int64_t>> TfliteNode::ints(int i) const {
  DVNN_ASSIGN(const auto known, constant(i));
  return known->ints();
}

Result<std::string> TfliteNode::weights(int i, const std::vector<int64_t>& order,
                                        const std::vector<int64_t>& dims) const {
  if (!has(i)) return malformed(format("input %d is missing", i));
  const TfliteHeld& held = nth(importer_->held, input(i));
  OnnxConstant from;
  if (held.plain.empty() && importer_->model.is_constant(input(i))) {
    auto read = importer_->model.numbers(input(i));
    if (!read.ok()) {
      return read.error().within("'" + nth(importer_->names, input(i)) + "'");
    }
    from = std::move(read.value());
  } else {
    DVNN_ASSIGN(const auto known, constant(i));
    from = *known;
  }
  if (from.dims.size() != order.size()) {
    return malformed("the weights are " + given_shape_text(from.dims));
  }
  OnnxConstant to = transposed(from, order);
  to.dims = dims;
  if (element_count(dims) != static_cast<int64_t>(to.values.size())) {
    return malformed("the weights " + given_shape_text(from.dims) + " do not fit " +
                     given_shape_text(dims));
  }
  return numbers(std::move(to));
}

std::vector<int64_t> TfliteNode::weight_dims(int i) const {
  if (!has(i)) return {};
  const TfliteHeld& held = nth(importer_->held, input(i));
  return held.plain.empty() ? tflite_list(input_tensor(i).shape()) : dims_of(held.plain);
}

Result<std::vector<int64_t>> TfliteNode::dims(int i) const {
  if (is_picture(i) && nth(importer_->held, input(i)).plain.empty()) {
    const auto d = dims_of(nth(importer_->held, input(i)).picture);
    return std::vector<int64_t>{d[0], d[2], d[3], d[1]};
  }
  DVNN_ASSIGN(const std::string entry, plain(i));
  return dims_of(entry);
}

std::vector<int64_t> TfliteNode::dims_of(const std::string& entry) const {
  const auto it = importer_->onnx.entries.find(entry);
  if (it == importer_->onnx.entries.end()) return {};
  if (it->second.constant) return it->second.constant->dims;
  if (it->second.scalar) return {};
  return import::dims_of(importer_->onnx.builder.shape_of(it->second.value));
}

Result<std::string> TfliteNode::run(const char* type, const std::vector<std::string>& inputs,
                                    const OnnxAttributes& attributes) const {
  DVNN_ASSIGN(const auto made, run(type, inputs, attributes, 1));
  return made[0];
}

Result<std::vector<std::string>> TfliteNode::run(const char* type,
                                                 const std::vector<std::string>& inputs,
                                                 const OnnxAttributes& attributes,
                                                 int results) const {
  onnx::NodeProto proto;
  proto.set_op_type(type);
  proto.set_name(name() + (type == std::string_view("Transpose") ? "_moved" : ""));
  for (const std::string& in : inputs) proto.add_input(in);
  for (const OnnxAttribute& attribute : attributes) {
    *proto.add_attribute() = attribute_of(attribute);
  }
  std::vector<std::string> made;
  for (int i = 0; i < results; ++i) {
    made.push_back(format("%s/%zu", name().c_str(), importer_->made++));
    proto.add_output(made.back());
  }
  DVNN_TRY(import_onnx_node(proto, &importer_->onnx));
  for (const std::string& each : made) {
    if (importer_->onnx.entries.count(each) == 0) {
      return malformed(format("%s makes fewer results than are read", type));
    }
  }
  return made;
}

std::string TfliteNode::numbers(OnnxConstant constant) const {
  const std::string entry = format("%s/%zu", name().c_str(), importer_->made++);
  importer_->onnx.set(entry, std::move(constant));
  importer_->made_of_op.push_back(entry);
  return entry;
}

std::string TfliteNode::list(const std::vector<int64_t>& values) const {
  OnnxConstant constant;
  constant.dims = {static_cast<int64_t>(values.size())};
  constant.values.assign(values.begin(), values.end());
  constant.integral = true;
  return numbers(std::move(constant));
}

std::string TfliteNode::number(double value) const {
  OnnxConstant constant;
  constant.values = {value};
  return numbers(std::move(constant));
}

Status TfliteNode::done_at(int at, const Result<std::string>& entry, bool picture) const {
  if (!entry.ok()) return entry.error();
  if (at >= outputs()) return {};
  TfliteHeld held;
  (picture ? held.picture : held.plain) = entry.value();
  // The entry is the operator's result, so it is kept.
  auto& own = importer_->made_of_op;
  own.erase(std::remove(own.begin(), own.end(), entry.value()), own.end());
  nth(importer_->held, output(at)) = std::move(held);
  return {};
}

Status TfliteNode::done_parts(const Result<std::string>& entry,
                              const std::shared_ptr<const TfliteParts>& parts) const {
  DVNN_TRY(done_picture(entry));
  nth(importer_->held, output(0)).parts = parts;
  return {};
}

void TfliteNode::done_as_input(int i) const {
  nth(importer_->same_as, output(0)) = input(i);
  nth(importer_->held, output(0)) = nth(importer_->held, input(i));
}

Result<std::string> TfliteNode::activated(const Result<std::string>& entry,
                                          tfl::Activation activation) const {
  if (!entry.ok()) return entry;
  const std::string& in = entry.value();
  switch (activation) {
    case tfl::Activation::NONE:
      break;
    case tfl::Activation::RELU:
      return run("Relu", {in});
    case tfl::Activation::RELU_N1_TO_1:
      return run("Clip", {in, number(-1), number(1)});
    case tfl::Activation::RELU6:
      return run("Clip", {in, number(0), number(6)});
    default:
      // TensorFlow Lite leaves such activations out, so the meaning of the model is unknown.
      return unsupported(
          format("the activation fused with it is %s, which no runtime computes there",
                 activation == tfl::Activation::TANH
                     ? "TANH"
                     : std::to_string(static_cast<int>(activation)).c_str()));
  }
  const tfl::TensorType type = output_tensor(0).type();
  DVNN_ASSIGN(const TfliteScaling scaling, tflite_scaling(output_tensor(0)));
  if (scaling.scale.size() != 1 || is_constant(0)) return entry;
  const bool from_zero = (type == tfl::TensorType::INT8 && scaling.zero[0] == -128) ||
                         (type == tfl::TensorType::UINT8 && scaling.zero[0] == 0);
  if (from_zero) return run("Relu", {in});
  return entry;
}

}  // namespace dvnn::import
