// SPDX-License-Identifier: Apache-2.0
// ONNX operators -> graph nodes, with every shape computed and every constant folded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/builder.h"
#include "import/onnx/model.h"
#include "import/options.h"
#include "onnx.pb.h"
#include "plan/graph/graph.h"

namespace dvnn::import {

/// Imports a model. Errors name node, operator and opset. External data lies in `folder`, or below
/// it. Surprising choices are described in `notes`, which may be null.
Result<Graph> import_onnx(onnx::ModelProto model, const std::string& folder,
                          const ImportOptions& options, std::vector<std::string>* notes);

/// Returns the supported operators, without If, which chooses between others.
std::vector<std::string> onnx_operators();

// --- private to the ONNX front end --------------------------------------------------------------

/// A state: an output that the next frame takes as an input.
struct OnnxState {
  std::string input, output;  // names of the model's
  std::vector<int64_t> dims;  // of the input
  bool is_open = false;       // the model leaves a dimension open: it is the output's
  bool is_found = false;      // by its name, as no option names it
};

/// Returns the states that `options` name, and those whose names are usual ones, such as r1i and
/// r1o, state and stateN, h and hn. States are not looked for in a model that has one input without
/// given values. Errors: an input or output that does not exist, or is named twice.
Result<std::vector<OnnxState>> find_onnx_states(const onnx::GraphProto& proto,
                                                const ImportOptions& options);

/// Compares each state with its next value in the imported graph. Returns false if a state that is
/// open was found to have other dimensions, which are set: the model must be imported again. Error:
/// the dimensions differ and are not open.
Result<bool> settle_onnx_states(const plan::Graph& graph, std::vector<OnnxState>* states);

/// Returns a sentence for the user about the states.
std::string tell_of_states(const std::vector<OnnxState>& states);

/// The real number that a quantised value stands for, which is not rounded.
struct OnnxReal {
  int value = -1;
  std::vector<double> scale, zero;  // zero: empty for 0
};

/// The meaning of a name: a value of the graph, or a constant.
struct OnnxEntry {
  int value = -1;
  std::shared_ptr<const OnnxConstant> constant;
  bool integral = false;  // of whole numbers
  bool scalar = false;    // without dimensions in ONNX; the graph has it as a vector of one
  std::optional<OnnxReal> real = {};
};

class OnnxNode;

struct OnnxImporter {
  explicit OnnxImporter(const ImportOptions& import_options) : options(import_options) {}
  GraphBuilder builder;
  const ImportOptions& options;
  std::map<std::string, OnnxEntry> entries;
  std::map<std::string, std::vector<OnnxEntry>> lists;  // of tensors, ONNX's sequences
  std::vector<OnnxState> states;  // the first of the graph's extra inputs, in this order
  int64_t opset = 0;
  std::string folder;    // where the model's external data lies
  int64_t batch = 0;     // pictures per run that the model was exported for; 0: one, or any number
  uint64_t numbers = 0;  // number of elements of all constants, including replaced ones
  size_t unrounded = 0;  // number of values that are quantised in the model, and not rounded here
  bool constants = false;  // importing constants that nodes make of constants
  // Notes for the user on how the model was read, each once.
  std::vector<std::string> notes;

  void set(const std::string& name, int value, bool integral) {
    entries[name] = {value, nullptr, integral};
  }
  void set(const std::string& name, OnnxConstant constant) {
    const bool integral = constant.integral;
    numbers += constant.values.size();
    entries[name] = {-1, std::make_shared<const OnnxConstant>(std::move(constant)), integral};
  }
  /// Returns an error if `more` numbers would exceed the limit of all constants.
  Status check_numbers(uint64_t more) const;
  /// Returns the numbers of a tensor, which may lie in another file.
  Result<OnnxConstant> read(const onnx::TensorProto& tensor) const;
  /// Makes constants of a graph's initializers; those named in `late` are empty ones.
  Status read_initializers(const onnx::GraphProto& proto, const std::set<std::string>& late = {});
};

/// A node as its importer sees it.
class OnnxNode {
 public:
  OnnxNode(const onnx::NodeProto& proto, OnnxImporter* importer)
      : proto_(proto), importer_(importer) {}

  const std::string& name() const;
  const std::string& type() const { return proto_.op_type(); }
  const onnx::NodeProto& proto() const { return proto_; }
  const std::string& input_name(int i) const { return proto_.input(i); }
  const std::string& output_name(int i) const { return proto_.output(i); }
  int inputs() const { return proto_.input_size(); }
  int outputs() const { return proto_.output_size(); }
  /// Returns whether input `i` is present: optional inputs may be absent or "".
  bool has(int i) const { return i < inputs() && !proto_.input(i).empty(); }
  bool is_constant(int i) const;
  bool all_constant() const;
  /// Returns whether the input holds whole numbers.
  bool is_integral(int i) const;
  /// Returns whether the input has no dimensions in ONNX; a value of the graph has one then.
  bool is_scalar(int i) const;
  /// Returns the number of the input's dimensions in ONNX; 1 if nothing has made it.
  size_t rank_of(int i) const;
  bool has_attribute(const char* name) const { return attribute(name) != nullptr; }
  /// Returns the input as a value of the graph; a constant is added as one.
  Result<int> value(int i) const;
  /// Returns the input as numbers. Error: it is computed at run time.
  Result<std::shared_ptr<const OnnxConstant>> constant(int i) const;
  /// Returns numbers that newer opsets have as an input, and older ones as an attribute.
  Result<std::vector<int64_t>> ints_at(int input, const char* attribute) const;

  int64_t integer(const char* attribute, int64_t fallback) const;
  float number(const char* attribute, float fallback) const;
  std::string text(const char* attribute, const char* fallback) const;
  std::vector<int64_t> integers(const char* attribute) const;
  std::vector<float> numbers(const char* attribute) const;
  std::vector<std::string> texts(const char* attribute) const;
  const onnx::TensorProto* tensor(const char* attribute) const;
  const onnx::GraphProto* graph(const char* attribute) const;
  /// Returns all attributes that are numbers, texts or lists of numbers.
  Json attributes() const;

  OnnxImporter& importer() const { return *importer_; }
  GraphBuilder& builder() const { return importer_->builder; }
  int64_t opset() const { return importer_->opset; }
  /// Binds the node's first output to `value`.
  Status done(const Result<int>& value) const;
  Status done(OnnxConstant constant) const;
  Status done_at(int output, const Result<int>& value) const;

 private:
  const onnx::AttributeProto* attribute(const char* name) const;
  const onnx::NodeProto& proto_;
  OnnxImporter* importer_;
};

/// Imports one of ONNX's own operators for another front end, which must have made its inputs.
/// Errors do not name the node.
Status import_onnx_node(const onnx::NodeProto& proto, OnnxImporter* importer);

/// Computes a node whose inputs are all constants. Returns false if the operator has no such rule.
Result<bool> fold_onnx(const OnnxNode& node);
/// Returns a constant with its axes in another order, which names each axis once.
OnnxConstant transposed(const OnnxConstant& in, const std::vector<int64_t>& order);
/// Returns whether folding may compute the operator.
bool folds_onnx(const std::string& type);

/// Returns the index of an axis that may count from the end.
Result<int64_t> onnx_axis(int64_t axis, size_t rank);
/// Returns the axis that attribute "axis" names.
Result<size_t> axis_at(const OnnxNode& node, int64_t fallback, size_t rank);

/// The part of a tensor of these dimensions that Slice takes, per axis.
struct OnnxSlice {
  std::vector<int64_t> begin, step, dims;
};
Result<OnnxSlice> read_onnx_slice(const OnnxNode& node, const std::vector<int64_t>& in);
/// Returns the dimensions after Reshape, and after Squeeze or Unsqueeze.
Result<std::vector<int64_t>> read_onnx_reshape(const OnnxNode& node,
                                               const std::vector<int64_t>& in);
Result<std::vector<int64_t>> read_onnx_squeeze(const OnnxNode& node,
                                               const std::vector<int64_t>& in);

}  // namespace dvnn::import
