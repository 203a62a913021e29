// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/control/control.h"

#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::import {
namespace {

using List = std::vector<OnnxEntry>;

constexpr size_t kMostInList = 1024;

class ListImport final : public ControlImport {
 public:
  using ControlImport::ControlImport;

  Status construct() {
    List made;
    for (int i = 0; i < node_.inputs(); ++i) {
      DVNN_ASSIGN(OnnxEntry entry, element(i));
      made.push_back(std::move(entry));
    }
    return done(std::move(made));
  }

  Status empty() { return done({}); }

  Status insert() {
    DVNN_ASSIGN(List made, list());
    DVNN_ASSIGN(OnnxEntry entry, element(1));
    DVNN_ASSIGN(const size_t at, place(2, made.size(), made.size() + 1));
    made.insert(made.begin() + static_cast<ptrdiff_t>(at), std::move(entry));
    return done(std::move(made));
  }

  Status erase() {
    DVNN_ASSIGN(List made, list());
    DVNN_ASSIGN(const size_t at, place(1, made.size() - 1, made.size()));
    made.erase(made.begin() + static_cast<ptrdiff_t>(at));
    return done(std::move(made));
  }

  Status at() {
    DVNN_ASSIGN(const List from, list());
    DVNN_ASSIGN(const size_t index, place(1, 0, from.size()));
    importer_.entries[node_.output_name(0)] = from[index];
    return {};
  }

  Status length() {
    DVNN_ASSIGN(const List from, list());
    OnnxConstant count;
    count.values = {static_cast<double>(from.size())};
    count.integral = true;
    return node_.done(std::move(count));
  }

  Status split() {
    DVNN_ASSIGN(const int value, node_.value(0));
    const std::vector<int64_t> dims = plan::dims_of(node_.builder().shape_of(value));
    DVNN_ASSIGN(const size_t axis, axis_at(node_, 0, dims.size()));
    DVNN_ASSIGN(const std::vector<int64_t> parts, lengths(dims[axis]));
    onnx::NodeProto proto = made_node("Split", {node_.input_name(0)}, part_name(0));
    for (size_t i = 1; i < parts.size(); ++i) proto.add_output(part_name(i));
    add_attribute("axis", static_cast<int64_t>(axis), &proto);
    constexpr int64_t kPartsAreAnInput = 13;
    if (node_.opset() >= kPartsAreAnInput) {
      const std::string name = own_name("parts");
      importer_.set(name, whole_numbers(parts));
      proto.add_input(name);
    } else {
      add_attribute("split", parts, &proto);
    }
    DVNN_TRY(import_(proto));
    const bool drops_axis = !node_.has(1) && node_.integer("keepdims", 1) == 0;
    List made;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string name = part_name(i);
      if (drops_axis) {
        DVNN_TRY(move("Squeeze", name, name + "/moved", static_cast<int64_t>(axis)));
        name += "/moved";
      }
      made.push_back(importer_.entries.at(name));
    }
    return done(std::move(made));
  }

  Status concat() {
    DVNN_ASSIGN(const List from, list());
    if (from.empty()) return unsupported("joins an empty list");
    const bool stacks = node_.integer("new_axis", 0) != 0;
    const int64_t axis = node_.integer("axis", 0);
    std::vector<std::string> names;
    for (size_t i = 0; i < from.size(); ++i) {
      names.push_back(part_name(i));
      importer_.entries[names.back()] = from[i];
      if (!stacks) continue;
      DVNN_TRY(move("Unsqueeze", names.back(), names.back() + "/moved", axis));
      names.back() += "/moved";
    }
    onnx::NodeProto proto = made_node("Concat", names, node_.output_name(0));
    add_attribute("axis", axis, &proto);
    return import_(proto);
  }

 private:
  Status done(List made) {
    if (made.size() > kMostInList) {
      return too_large(format("a list of %zu tensors, the limit is %zu", made.size(), kMostInList));
    }
    importer_.lists[node_.output_name(0)] = std::move(made);
    return {};
  }

  Result<List> list() const {
    const auto it = importer_.lists.find(node_.has(0) ? node_.input_name(0) : "");
    if (it != importer_.lists.end()) return it->second;
    return unsupported("reads a list of tensors whose length is not known at conversion");
  }

  Result<OnnxEntry> element(int input) const {
    const auto it = importer_.entries.find(node_.has(input) ? node_.input_name(input) : "");
    if (it != importer_.entries.end()) return it->second;
    return malformed(format("input %d, which a list is to hold, is no tensor", input));
  }

  // Returns an index below `end` that input `i` says, perhaps counted from the list's end.
  Result<size_t> place(int i, size_t fallback, size_t end) const {
    int64_t index = static_cast<int64_t>(fallback);
    if (node_.has(i)) {
      DVNN_ASSIGN(const auto number, node_.constant(i));
      const std::vector<int64_t> said = number->ints();
      if (said.size() != 1) return malformed("its place in the list is not one number");
      const auto size = static_cast<int64_t>(importer_.lists.at(node_.input_name(0)).size());
      index = said[0] < 0 ? said[0] + size : said[0];
    }
    if (index >= 0 && index < static_cast<int64_t>(end)) return static_cast<size_t>(index);
    return malformed("its place is not in the list");
  }

  // Returns the parts' lengths of an axis.
  Result<std::vector<int64_t>> lengths(int64_t whole) const {
    std::vector<int64_t> parts;
    int64_t each = 1;
    if (node_.has(1)) {
      DVNN_ASSIGN(const auto said, node_.constant(1));
      parts = said->ints();
      if (!said->dims.empty()) return parts;
      if (parts.size() != 1 || parts[0] < 1) return malformed("its parts have no length");
      each = parts[0];
      parts.clear();
    }
    if (whole / each >= static_cast<int64_t>(kMostInList)) {
      return too_large(format("a list of more than %zu tensors", kMostInList));
    }
    for (int64_t at = 0; at < whole; at += each) parts.push_back(std::min(each, whole - at));
    return parts;
  }

  std::string part_name(size_t i) const { return own_name(std::to_string(i)); }
};

}  // namespace

std::vector<ControlOperator> list_operators() {
  return {{"ConcatFromSequence", import_by<&ListImport::concat>},
          {"SequenceAt", import_by<&ListImport::at>},
          {"SequenceConstruct", import_by<&ListImport::construct>},
          {"SequenceEmpty", import_by<&ListImport::empty>},
          {"SequenceErase", import_by<&ListImport::erase>},
          {"SequenceInsert", import_by<&ListImport::insert>},
          {"SequenceLength", import_by<&ListImport::length>},
          {"SplitToSequence", import_by<&ListImport::split>}};
}

}  // namespace dvnn::import
