// SPDX-License-Identifier: Apache-2.0
// Walks over a model's operators, sets its inputs and outputs, and has the table of operators.
#include "import/tflite/import.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/format.h"
#include "base/nth.h"
#include "import/options.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

struct TfliteRow {
  const char* type;
  Status (*import)(const TfliteNode&);
};

constexpr TfliteRow kOperators[] = {
#define DVNN_ROW(type, import) {type, import},
    DVNN_TFLITE_OPERATORS(DVNN_ROW)
#undef DVNN_ROW
};

const TfliteRow* find_operator(const std::string& type) {
  for (const TfliteRow& row : kOperators) {
    if (type == row.type) return &row;
  }
  return nullptr;
}

constexpr size_t kMostOperators = 20000;
constexpr const char* kSuppression = "TFLite_Detection_PostProcess";

// Returns names and values of a custom operator's options, as far as they are numbers.
std::string told_options(const tfl::Operator& op) {
  const auto* given = op.custom_options();
  if (!given || given->size() == 0) return "";
  // A copy is aligned for numbers of any size.
  const std::vector<uint8_t> bytes(given->begin(), given->end());
  if (!flexbuffers::VerifyBuffer(bytes.data(), bytes.size())) return "";
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  if (!root.IsMap()) return "";
  const flexbuffers::Map map = root.AsMap();
  std::string told;
  constexpr size_t kMost = 16;
  for (size_t i = 0; i < std::min(map.size(), kMost); ++i) {
    const flexbuffers::Reference value = map.Values()[i];
    if (!value.IsNumeric()) continue;
    told += (told.empty() ? " (" : ", ") + std::string(map.Keys()[i].AsKey()) +
            format(" %g", value.AsDouble());
  }
  return told.empty() ? told : told + ")";
}

// --- the model's ends ---------------------------------------------------------------------------

class Walk {
 public:
  Walk(const TfliteModel& model, const ImportOptions& options) : importer_(model, options) {
    // Uses the model's own names as long as they are unique.
    std::set<std::string> taken;
    for (int i = 0; i < model.tensors(); ++i) {
      std::string name = tflite_text(model.tensor(i).name());
      if (name.empty()) name = format("tensor_%d", i);
      if (!taken.insert(name).second) taken.insert(name += format("_%d", i));
      importer_.names.push_back(name);
    }
    constexpr int64_t kOpset = 21;
    importer_.onnx.opset = kOpset;
  }

  Result<Graph> run(std::vector<std::string>* notes) {
    DVNN_TRY(find_wanted());
    DVNN_TRY(find_needed());
    DVNN_TRY(import_inputs());
    const auto& operators = *model().graph().operators();
    for (unsigned i = 0; i < operators.size(); ++i) {
      if (needed_[i]) DVNN_TRY(import_operator(*operators.Get(i)));
    }
    DVNN_TRY(set_outputs());
    if (notes) notes->insert(notes->end(), importer_.notes.begin(), importer_.notes.end());
    importer_.onnx.builder.graph.name = tflite_text(model().graph().name());
    return std::move(importer_.onnx.builder.graph);
  }

 private:
  const TfliteModel& model() const { return importer_.model; }
  const ImportOptions& options() const { return importer_.onnx.options; }

  // Returns the operator that ends a detector with suppression, which the decoder does here; null
  // if there is none.
  const tfl::Operator* suppression() const {
    const std::vector<int64_t> outputs = tflite_list(model().graph().outputs());
    for (const tfl::Operator* op : *model().graph().operators()) {
      const std::vector<int64_t> made = tflite_list(op->outputs());
      if (model().type_of(*op) == kSuppression && made == outputs) return op;
    }
    return nullptr;
  }

  // Asks for the model's own results, or for the inputs of its suppression: boxes and scores.
  void want_own() {
    const tfl::Operator* end = suppression();
    for (int64_t i : tflite_list(end ? end->inputs() : model().graph().outputs())) {
      if (!end || (i >= 0 && !model().is_constant(static_cast<int>(i)))) {
        wanted_.push_back(static_cast<int>(i));
      }
    }
    if (!end) return;
    std::vector<std::string> names;
    for (int i : wanted_) names.push_back(nth(importer_.names, i));
    importer_.notes.push_back(std::string("the model ends with ") + kSuppression +
                              ", which is the decoder's work: it is cut at " + some_names(names) +
                              told_options(*end));
  }

  // Finds the results to compute.
  Status find_wanted() {
    if (options().outputs.empty()) {
      want_own();
      return {};
    }
    std::vector<std::string> made;
    std::set<int> results;
    for (const tfl::Operator* op : *model().graph().operators()) {
      for (int64_t i : tflite_list(op->outputs())) {
        made.push_back(nth(importer_.names, i));
        results.insert(static_cast<int>(i));
      }
    }
    for (const std::string& name : options().outputs) {
      const auto it = std::find(importer_.names.begin(), importer_.names.end(), name);
      const int i = static_cast<int>(it - importer_.names.begin());
      if (results.count(i) == 0) {
        return invalid_argument("--outputs " + name +
                                ": the model makes no such result; it makes " + some_names(made));
      }
      wanted_.push_back(i);
    }
    return {};
  }

  // Finds the operators that the results need. They are stored in the order in which they run.
  Status find_needed() {
    const auto& operators = *model().graph().operators();
    if (operators.size() > kMostOperators) {
      return too_large(
          format("has %u operators, of which there may be %zu", operators.size(), kMostOperators));
    }
    needed_.assign(operators.size(), false);
    read_.insert(wanted_.begin(), wanted_.end());
    for (unsigned i = operators.size(); i-- > 0;) {
      const auto outputs = tflite_list(operators.Get(i)->outputs());
      needed_[i] = std::any_of(outputs.begin(), outputs.end(), [&](int64_t made) {
        return read_.count(static_cast<int>(made)) > 0;
      });
      if (!needed_[i]) continue;
      for (int64_t in : tflite_list(operators.Get(i)->inputs())) {
        read_.insert(static_cast<int>(in));
      }
    }
    return {};
  }

  Status import_inputs() {
    std::vector<std::string> all, open;
    int picture = -1, idle = -1;
    for (int64_t each : tflite_list(model().graph().inputs())) {
      const int i = static_cast<int>(each);
      const std::string& name = nth(importer_.names, i);
      all.push_back(name);
      if (const GivenInput* given = find_given(options(), name)) {
        DVNN_TRY(set_input(i, *given));
      } else if (read_.count(i) > 0) {
        open.push_back(name);
        picture = i;
      } else {
        idle = i;
      }
    }
    DVNN_TRY(check_given(options(), all));
    if (open.size() > 1) return ask_for_values(open);
    if (picture < 0) picture = idle;
    if (picture < 0) return malformed("has no input");
    return import_input(picture);
  }

  // Returns an input's dimensions as the model has them; -1: open.
  std::vector<int64_t> input_dims(int i) const {
    std::vector<int64_t> dims = tflite_list(model().tensor(i).shape());
    const std::vector<int64_t> signature = tflite_list(model().tensor(i).shape_signature());
    if (signature.size() == dims.size()) dims = signature;
    for (int64_t& d : dims) d = d > 0 ? d : -1;
    return dims;
  }

  Status set_input(int i, const GivenInput& given) {
    OnnxConstant constant;
    constant.dims = input_dims(i);
    DVNN_ASSIGN(constant.values, fill_given(given, &constant.dims));
    constant.integral = is_whole(i);
    hold(i, std::move(constant));
    return {};
  }

  void hold(int i, OnnxConstant constant) {
    const std::string& name = nth(importer_.names, i);
    importer_.onnx.set(name, std::move(constant));
    nth(importer_.held, i).plain = name;
  }

  bool is_whole(int i) const {
    const tfl::Tensor& tensor = model().tensor(i);
    const auto scaling = tflite_scaling(tensor);
    return !is_tflite_real(tensor.type()) && scaling.ok() && scaling.value().scale.empty();
  }

  Status import_input(int i) {
    const std::string& name = nth(importer_.names, i);
    std::vector<int64_t> dims = input_dims(i);
    if (dims.empty()) dims = {1};
    // PyTorch's exporters keep channels first.
    const auto is_color = [](int64_t d) { return d == 1 || d == 3; };
    constexpr int64_t kLeastSide = 16;
    const bool picture = dims.size() == 4;
    const bool first = picture && is_color(dims[1]) && !is_color(dims[3]) &&
                       std::min(std::abs(dims[2]), std::abs(dims[3])) >= kLeastSide;
    const size_t rows = picture ? (first ? 2 : 1) : dims.size() < 3 ? 0 : dims.size() - 2;
    set_size(rows, &dims);
    if (picture && dims[0] > 1) importer_.onnx.batch = dims[0];
    if (dims[0] < 0 || picture) dims[0] = 1;
    for (int64_t d : dims) {
      if (d > 0) continue;
      return unsupported("input '" + name + "' has no fixed size (" + given_shape_text(dims) +
                         "): give one with --size WxH");
    }
    GraphBuilder& b = importer_.onnx.builder;
    TfliteHeld& held = nth(importer_.held, i);
    (picture && !first ? held.picture : held.plain) = name;
    if (picture && !first) dims = tflite_picture_order(dims);
    DVNN_ASSIGN(const int value, b.input(name, dims));
    importer_.onnx.set(name, value, is_whole(i));
    return {};
  }

  // Sets the size that the user gives: of a picture, or as WxH with H = 1 the length of numbers.
  void set_size(size_t rows, std::vector<int64_t>* dims) const {
    if (options().width < 1) return;
    if (dims->size() < 3) {
      dims->back() = options().width;
    } else {
      nth(*dims, rows) = options().height;
      nth(*dims, rows + 1) = options().width;
    }
  }

  Status set_outputs() {
    Graph& graph = importer_.onnx.builder.graph;
    for (int i : wanted_) {
      const std::string& name = nth(importer_.names, i);
      DVNN_ASSIGN(const int value, output_value(i));
      graph.outputs.push_back(value);
      graph.output_names.push_back(name);
    }
    if (graph.outputs.empty()) return malformed("has no outputs");
    return {};
  }

  // Returns an output in TensorFlow Lite's order.
  Result<int> output_value(int i) {
    const std::string& name = nth(importer_.names, i);
    const Error none = {ErrorCode::kMalformed,
                        "output '" + name + "' is not computed from the input"};
    const TfliteHeld& held = nth(importer_.held, i);
    if (held.parts) return unsupported("output '" + name + "' is in parts");
    const std::string& entry = held.plain.empty() ? held.picture : held.plain;
    const auto it = importer_.onnx.entries.find(entry);
    if (it == importer_.onnx.entries.end() || it->second.value < 0) return none;
    if (!held.plain.empty()) return it->second.value;
    return importer_.onnx.builder.permute(name + "_nhwc", it->second.value, {0, 2, 3, 1});
  }

  // --- operators ---------------------------------------------------------------------------------

  Status import_operator(const tfl::Operator& op) {
    const TfliteNode node(op, &importer_);
    Status status = import_known(node);
    for (const std::string& entry : importer_.made_of_op) importer_.onnx.entries.erase(entry);
    importer_.made_of_op.clear();
    if (status.ok()) status = importer_.onnx.check_numbers(0);
    if (status.ok()) return status;
    // The only place that adds the operator's name.
    Error error = status.error().within(node.type() + " '" + node.name() + "'");
    if (error.code == ErrorCode::kUnsupported) error.message += cut_before(node);
    return error;
  }

  Status import_known(const TfliteNode& node) {
    if (node.outputs() == 0) return malformed("has no output");
    const auto declared = options().custom_layers.find(node.type());
    if (declared != options().custom_layers.end()) return import_declared(node, declared->second);
    const TfliteRow* row = find_operator(node.type());
    if (!row) {
      return unsupported(
          "the operator is not supported: docs/converter.md lists those that are, and "
          "--layer-types declares your own");
    }
    if (node.inputs() == 0) return malformed("has no input");
    return row->import(node);
  }

  // Imports an operator that the user declared. Its options are not read.
  Status import_declared(const TfliteNode& node, const CustomLayer& declared) {
    std::vector<int> inputs;
    for (int i = 0; i < node.inputs(); ++i) {
      DVNN_ASSIGN(const std::string entry, node.is_picture(i) ? node.picture(i) : node.plain(i));
      const auto it = importer_.onnx.entries.find(entry);
      if (it->second.value < 0) {
        DVNN_ASSIGN(it->second.value,
                    importer_.onnx.builder.constant(entry, it->second.constant->dims,
                                                    it->second.constant->floats()));
      }
      inputs.push_back(it->second.value);
    }
    const bool picture = node.inputs() > 0 && node.is_picture(0);
    DVNN_ASSIGN(const int value, importer_.onnx.builder.custom(node.name(), node.type(), declared,
                                                               Json::object(), std::move(inputs)));
    importer_.onnx.set(node.name() + "_made", value, false);
    return node.done_at(0, node.name() + "_made",
                        picture && importer_.onnx.builder.shape_of(value).rank == 4);
  }

  std::string cut_before(const TfliteNode& node) const {
    std::string list;
    for (int i = 0; i < node.inputs(); ++i) {
      if (!node.has(i) || node.is_constant(i)) continue;
      const std::string& name = nth(importer_.names, node.input(i));
      if (name.find(',') != std::string::npos) return "";
      list += (list.empty() ? "" : ",") + name;
    }
    return list.empty() ? list : "; cut the model before it: --outputs " + list;
  }

  TfliteImporter importer_;
  std::vector<int> wanted_;
  std::vector<bool> needed_;
  std::set<int> read_;
};

}  // namespace

Result<Graph> import_tflite(const TfliteModel& model, const ImportOptions& options,
                            std::vector<std::string>* notes) {
  return Walk(model, options).run(notes);
}

}  // namespace dvnn::import
