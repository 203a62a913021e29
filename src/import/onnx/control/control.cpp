// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/control/control.h"

#include "base/format.h"
#include "plan/graph/graph.h"

namespace dvnn::import {
namespace {

std::vector<ControlOperator> all_operators() {
  std::vector<ControlOperator> all;
  for (const auto& some :
       {branch_operators(), loop_operators(), list_operators(), spectral_operators()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

Status ControlImport::move(const char* type, const std::string& name, const std::string& output,
                           int64_t axis) {
  constexpr int64_t kAxesAreAnInput = 13;
  onnx::NodeProto proto = made_node(type, {name}, output);
  if (node_.opset() >= kAxesAreAnInput) {
    importer_.set(output + "/axis", whole_numbers({axis}));
    proto.add_input(output + "/axis");
  } else {
    add_attribute("axes", std::vector{axis}, &proto);
  }
  return import_(proto);
}

const ControlOperator* find_control_operator(const std::string& type) {
  static const std::vector<ControlOperator> all = all_operators();
  for (const ControlOperator& row : all) {
    if (type == row.type) return &row;
  }
  return nullptr;
}

namespace {

using Entries = std::vector<OnnxEntry>;

class Brancher final : public ControlImport {
 public:
  using ControlImport::ControlImport;

  Status run() {
    if (!node_.is_constant(0)) return compute_both();
    DVNN_ASSIGN(const auto condition, node_.constant(0));
    DVNN_TRY(expect_one(condition->values.size()));
    DVNN_ASSIGN(const Entries made, results(condition->values[0] != 0));
    for (int i = 0; i < node_.outputs(); ++i) {
      importer_.entries[node_.output_name(i)] = made[static_cast<size_t>(i)];
    }
    return {};
  }

 private:
  Status expect_one(size_t count) const {
    if (count == 1) return {};
    return malformed(format("its condition has %zu values, not one", count));
  }

  // Imports a branch, and returns its results.
  Result<Entries> results(bool condition) {
    const char* const name = condition ? "then_branch" : "else_branch";
    const onnx::GraphProto* const branch = node_.graph(name);
    if (!branch || branch->output_size() < node_.outputs()) {
      return malformed(format("lacks the %s, or a result of it", name));
    }
    // Names of the other branch, which may be the same, mean nothing here.
    for (const onnx::NodeProto& inner : branch->node()) {
      for (const std::string& made : inner.output()) importer_.entries.erase(made);
    }
    DVNN_TRY(importer_.read_initializers(*branch));
    for (const onnx::NodeProto& inner : branch->node()) {
      onnx::NodeProto own = inner;
      const std::string& rest =
          inner.name().empty() && inner.output_size() > 0 ? inner.output(0) : inner.name();
      if (is_open_) own.set_name(format("%s/%s/%s", node_.name().c_str(), name, rest.c_str()));
      DVNN_TRY(import_(own));
    }
    Entries made;
    for (int i = 0; i < node_.outputs(); ++i) {
      const auto it = importer_.entries.find(branch->output(i).name());
      if (it == importer_.entries.end()) {
        return malformed("the branch makes no '" + branch->output(i).name() + "'");
      }
      made.push_back(it->second);
    }
    return made;
  }

  std::vector<int64_t> dims_of(const OnnxEntry& entry) const {
    if (entry.constant) return entry.constant->dims;
    if (entry.scalar) return {};
    return plan::dims_of(node_.builder().shape_of(entry.value));
  }

  // The frame decides: what the other branch would have cost is computed, too.
  Status compute_both() {
    is_open_ = true;
    DVNN_ASSIGN(const int value, node_.value(0));
    DVNN_TRY(expect_one(static_cast<size_t>(node_.builder().shape_of(value).elements())));
    std::string condition = node_.input_name(0);
    if (!node_.is_scalar(0)) {
      condition = node_.output_name(0) + "/condition";
      DVNN_TRY(import_(made_node("Squeeze", {node_.input_name(0)}, condition)));
    }
    DVNN_ASSIGN(const Entries yes, results(true));
    DVNN_ASSIGN(const Entries no, results(false));
    for (int i = 0; i < node_.outputs(); ++i) {
      const auto at = static_cast<size_t>(i);
      DVNN_TRY(choose(condition, yes[at], no[at], node_.output_name(i)));
    }
    importer_.notes.push_back(
        format("'%s' (If) computes both of its branches in each frame, and takes one's results",
               node_.name().c_str()));
    return {};
  }

  Status choose(const std::string& condition, const OnnxEntry& yes, const OnnxEntry& no,
                const std::string& output) {
    if (output.empty()) return {};
    if (dims_of(yes) != dims_of(no)) {
      return unsupported("what the input shows decides which branch is computed, and their '" +
                         output + "' have different sizes, " + joined(dims_of(yes), "x") + " and " +
                         joined(dims_of(no), "x"));
    }
    importer_.entries[output + "/then"] = yes;
    importer_.entries[output + "/else"] = no;
    return import_(made_node("Where", {condition, output + "/then", output + "/else"}, output));
  }

  bool is_open_ = false;  // both branches are computed
};

}  // namespace

std::vector<ControlOperator> branch_operators() {
  return {{"If", import_by<&Brancher::run>}};
}

}  // namespace dvnn::import
