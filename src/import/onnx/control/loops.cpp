// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/control/control.h"

#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::import {
namespace {

// Operations of all repetitions; a graph has at most 20000.
constexpr int64_t kMostOperations = 20000;

OnnxConstant scalar(int64_t value) {
  OnnxConstant constant;
  constant.values = {static_cast<double>(value)};
  constant.integral = true;
  return constant;
}

class Unroller final : public ControlImport {
 public:
  using ControlImport::ControlImport;

  Status loop();
  Status scan();

 private:
  struct Scanned {
    std::string name;  // of the whole
    int64_t axis, length;
    bool backwards;
  };

  OnnxEntry* find(const std::string& name) {
    const auto it = importer_.entries.find(name);
    return it != importer_.entries.end() ? &it->second : nullptr;
  }
  Status begin(int64_t count);
  Result<int64_t> trips();
  Status run_body(int64_t index);
  Result<bool> goes_on();
  Result<std::vector<OnnxEntry>> results(int from, int count);
  Status collect(int from, int64_t index);
  Status join(int output, int64_t axis, bool backwards, size_t place);
  Status run(const char* type, const std::vector<std::string>& inputs, const std::string& output,
             int64_t axis);
  Result<int64_t> axis_of(const char* attribute, int i, size_t rank) const;
  void set_states(const std::vector<OnnxEntry>& states, int first);
  Result<std::vector<Scanned>> read_scanned(int states);
  Status take_elements(const std::vector<Scanned>& scanned, int64_t index, int first);

  const onnx::GraphProto* body_ = nullptr;
  std::vector<std::vector<std::string>> collected_;  // by result that is collected: its parts
};

// Finds the body, and checks that it may be repeated so often.
Status Unroller::begin(int64_t count) {
  const int64_t each = std::max(1, body_->node_size());
  if (count > kMostOperations / each) {
    return too_large(
        format("repeats %lld operations %lld times, the limit is %lld operations in all",
               static_cast<long long>(each), static_cast<long long>(count),
               static_cast<long long>(kMostOperations)));
  }
  return importer_.read_initializers(*body_);
}

Status Unroller::run_body(int64_t index) {
  // A name of the repetition before must not stand in for one that is not made.
  for (const onnx::NodeProto& inner : body_->node()) {
    for (const std::string& name : inner.output()) importer_.entries.erase(name);
  }
  for (const onnx::NodeProto& inner : body_->node()) {
    onnx::NodeProto own = inner;
    const std::string& name =
        inner.name().empty() && inner.output_size() > 0 ? inner.output(0) : inner.name();
    own.set_name(
        format("%s/%lld/%s", node_.name().c_str(), static_cast<long long>(index), name.c_str()));
    DVNN_TRY(import_(own));
  }
  return {};
}

Result<std::vector<OnnxEntry>> Unroller::results(int from, int count) {
  std::vector<OnnxEntry> made;
  for (int i = from; i < from + count; ++i) {
    const std::string& name = body_->output(i).name();
    const OnnxEntry* entry = find(name);
    if (!entry) return malformed("its body makes no '" + name + "'");
    made.push_back(*entry);
  }
  return made;
}

Status Unroller::run(const char* type, const std::vector<std::string>& inputs,
                     const std::string& output, int64_t axis) {
  onnx::NodeProto proto = made_node(type, inputs, output);
  if (axis >= 0) add_attribute("axis", axis, &proto);
  return import_(proto);
}

// Keeps this repetition's part of each result that is collected.
Status Unroller::collect(int from, int64_t index) {
  for (int i = from; i < body_->output_size(); ++i) {
    const auto place = static_cast<size_t>(i - from);
    const std::string name = own_name(format("%zu/%lld", place, static_cast<long long>(index)));
    const OnnxEntry* entry = find(body_->output(i).name());
    if (!entry) return malformed("its body makes no '" + body_->output(i).name() + "'");
    importer_.entries[name] = OnnxEntry(*entry);
    collected_[place].push_back(name);
  }
  return {};
}

Status Unroller::join(int output, int64_t axis, bool backwards, size_t place) {
  if (output >= node_.outputs() || node_.output_name(output).empty()) return {};
  std::vector<std::string>& parts = collected_[place];
  if (parts.empty()) {
    return unsupported("repeats nothing, so that '" + node_.output_name(output) +
                       "' has no elements");
  }
  for (std::string& part : parts) {
    DVNN_TRY(move("Unsqueeze", part, part + "/whole", axis));
    part += "/whole";
  }
  if (backwards) std::reverse(parts.begin(), parts.end());
  return run("Concat", parts, node_.output_name(output), axis);
}

// --- Loop --------------------------------------------------------------------------------------

Result<int64_t> Unroller::trips() {
  for (int i : {0, 1}) {
    if (!node_.has(i) || node_.is_constant(i)) continue;
    return unsupported(
        "what the input shows decides how often it repeats: only a Loop of known length can be "
        "unrolled");
  }
  if (node_.has(1)) {
    DVNN_ASSIGN(const auto condition, node_.constant(1));
    if (condition->values.size() == 1 && condition->values[0] == 0) return 0;
  }
  if (!node_.has(0)) return kMostOperations;  // until the body says that it ends
  DVNN_ASSIGN(const auto count, node_.constant(0));
  if (count->values.size() != 1) {
    return malformed(format("its number of repetitions is %zu numbers", count->values.size()));
  }
  const double most = count->values[0];
  if (!(most > 0)) return 0;  // not a number, too
  return static_cast<int64_t>(std::min(most, 1e15));
}

Result<bool> Unroller::goes_on() {
  const OnnxEntry* entry = find(body_->output(0).name());
  if (!entry) return malformed("its body makes no condition");
  if (!entry->constant || entry->constant->values.size() != 1) {
    return unsupported(
        "what it computes decides when it ends: only a Loop of known length can be unrolled");
  }
  return entry->constant->values[0] != 0;
}

void Unroller::set_states(const std::vector<OnnxEntry>& states, int first) {
  for (size_t i = 0; i < states.size(); ++i) {
    importer_.entries[body_->input(first + static_cast<int>(i)).name()] = states[i];
  }
}

Status Unroller::loop() {
  constexpr int kBefore = 2;  // the number and the condition come before the values it carries
  body_ = node_.graph("body");
  const int carried = node_.inputs() - kBefore;
  const bool fits =
      body_ && carried >= 0 && node_.outputs() > 0 && body_->input_size() == carried + kBefore &&
      body_->output_size() >= carried + 1 && node_.outputs() <= body_->output_size() - 1;
  if (!fits) return malformed("its body does not fit its inputs and outputs");
  DVNN_ASSIGN(const int64_t most, trips());
  const bool is_counted = node_.has(0);
  DVNN_TRY(begin(is_counted ? most : 0));
  collected_.resize(static_cast<size_t>(body_->output_size() - 1 - carried));
  std::vector<OnnxEntry> states;
  for (int i = 0; i < carried; ++i) {
    const OnnxEntry* entry = find(node_.input_name(i + kBefore));
    if (!entry) return malformed("its inputs are not all made");
    states.push_back(*entry);
  }
  const int64_t limit = kMostOperations / std::max(1, body_->node_size());
  for (int64_t index = 0; index < most; ++index) {
    if (index >= limit) DVNN_TRY(begin(index + 1));
    importer_.set(body_->input(0).name(), scalar(index));
    importer_.set(body_->input(1).name(), scalar(1));
    set_states(states, kBefore);
    DVNN_TRY(run_body(index));
    DVNN_ASSIGN(const bool more, goes_on());
    DVNN_ASSIGN(states, results(1, carried));
    DVNN_TRY(collect(1 + carried, index));
    if (!more) break;
  }
  for (int i = 0; i < carried && i < node_.outputs(); ++i) {
    importer_.entries[node_.output_name(i)] = nth(states, i);
  }
  for (size_t i = 0; i < collected_.size(); ++i) {
    DVNN_TRY(join(carried + static_cast<int>(i), 0, false, i));
  }
  return {};
}

// --- Scan --------------------------------------------------------------------------------------

Result<int64_t> Unroller::axis_of(const char* attribute, int i, size_t rank) const {
  const std::vector<int64_t> axes = node_.integers(attribute);
  const auto index = static_cast<size_t>(i);
  return onnx_axis(index < axes.size() ? axes[index] : 0, rank);
}

Result<std::vector<Unroller::Scanned>> Unroller::read_scanned(int states) {
  std::vector<Scanned> scanned;
  const std::vector<int64_t> directions = node_.integers("scan_input_directions");
  for (int i = states; i < node_.inputs(); ++i) {
    const auto index = static_cast<size_t>(i - states);
    DVNN_ASSIGN(const int64_t axis, axis_of("scan_input_axes", i - states, node_.rank_of(i)));
    std::vector<int64_t> dims;
    if (node_.is_constant(i)) {
      DVNN_ASSIGN(const auto constant, node_.constant(i));
      dims = constant->dims;
    } else {
      DVNN_ASSIGN(const int value, node_.value(i));
      dims = plan::dims_of(node_.builder().shape_of(value));
    }
    if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) {
      return malformed("scans an axis that its input does not have");
    }
    scanned.push_back({node_.input_name(i), axis, nth(dims, axis),
                       index < directions.size() && directions[index] != 0});
    if (scanned.back().length == scanned.front().length) continue;
    return malformed("scans inputs of different lengths");
  }
  return scanned;
}

Status Unroller::take_elements(const std::vector<Scanned>& scanned, int64_t index, int first) {
  for (size_t i = 0; i < scanned.size(); ++i) {
    const Scanned& from = scanned[i];
    const int64_t at = from.backwards ? from.length - 1 - index : index;
    const std::string& name = body_->input(first + static_cast<int>(i)).name();
    importer_.set(own_name("at"), scalar(at));
    importer_.entries.erase(name);
    const std::string made = own_name(format("in%zu/%lld", i, static_cast<long long>(index)));
    DVNN_TRY(run("Gather", {from.name, own_name("at")}, made, from.axis));
    importer_.entries[name] = OnnxEntry(importer_.entries[made]);
  }
  return {};
}

Status Unroller::scan() {
  constexpr int64_t kWithoutBatch = 9;
  if (node_.opset() < kWithoutBatch) {
    return unsupported("Scan of opset 8, with a batch, is not supported");
  }
  body_ = node_.graph("body");
  const int64_t count = node_.integer("num_scan_inputs", 0);
  const bool counts = count >= 1 && count <= node_.inputs();
  const int64_t states_before = counts ? node_.inputs() - count : 0;
  const bool fits =
      body_ && counts && node_.outputs() > 0 && body_->input_size() == node_.inputs() &&
      body_->output_size() >= states_before && node_.outputs() <= body_->output_size();
  if (!fits) return malformed("its body does not fit its inputs and outputs");
  const int carried = static_cast<int>(states_before);
  DVNN_ASSIGN(const auto scanned, read_scanned(carried));
  DVNN_TRY(begin(scanned[0].length));
  collected_.resize(static_cast<size_t>(body_->output_size() - carried));
  std::vector<OnnxEntry> states;
  for (int i = 0; i < carried; ++i) {
    const OnnxEntry* entry = find(node_.input_name(i));
    if (!entry) return malformed("its inputs are not all made");
    states.push_back(*entry);
  }
  for (int64_t index = 0; index < scanned[0].length; ++index) {
    set_states(states, 0);
    DVNN_TRY(take_elements(scanned, index, carried));
    DVNN_TRY(run_body(index));
    DVNN_ASSIGN(states, results(0, carried));
    DVNN_TRY(collect(carried, index));
  }
  for (int i = 0; i < carried && i < node_.outputs(); ++i) {
    importer_.entries[node_.output_name(i)] = nth(states, i);
  }
  const std::vector<int64_t> directions = node_.integers("scan_output_directions");
  for (size_t i = 0; i < collected_.size(); ++i) {
    const std::vector<std::string>& parts = collected_[i];
    const OnnxEntry* part = parts.empty() ? nullptr : find(parts[0]);
    const size_t rank = !part            ? 0
                        : part->constant ? part->constant->dims.size()
                        : part->scalar   ? 0
                                         : node_.builder().shape_of(part->value).axes();
    DVNN_ASSIGN(const int64_t axis, axis_of("scan_output_axes", static_cast<int>(i), rank + 1));
    const bool backwards = i < directions.size() && directions[i] != 0;
    DVNN_TRY(join(carried + static_cast<int>(i), axis, backwards, i));
  }
  return {};
}

}  // namespace

std::vector<ControlOperator> loop_operators() {
  return {{"Loop", import_by<&Unroller::loop>}, {"Scan", import_by<&Unroller::scan>}};
}

}  // namespace dvnn::import
