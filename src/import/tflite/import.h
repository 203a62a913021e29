// SPDX-License-Identifier: Apache-2.0
// Imports TensorFlow Lite's operators as graph nodes. Each is written as the ONNX operators that
// compute it, and these are imported at once: so constants fold, and shapes are known, as there.
//
// Pictures are (N, H, W, C) in TensorFlow Lite and N x C x H x W in the graph. A tensor of four
// dimensions is held in either order, or both: an operator asks for the one it needs, and functions
// of single elements take the one that exists.
//
// Quantised tensors stand for real numbers, scale * (number - zero point). The network computes
// with these, and rounds none of them to 8 bits. If the range of a convolution's, product's or
// sum's result begins at 0, smaller numbers become 0.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "import/builder.h"
#include "import/onnx/import.h"
#include "import/options.h"
#include "import/tflite/model.h"

namespace dvnn::import {

/// Imports a model. Errors name the operator and the tensor that it makes. Surprising choices are
/// described in `notes`, which may be null.
Result<Graph> import_tflite(const TfliteModel& model, const ImportOptions& options,
                            std::vector<std::string>* notes);

/// A file's description of its picture and classes: the scale of a quantised input, and what tools
/// add to the file, with files in a ZIP archive behind the tables. Members without metadata are
/// empty.
struct TfliteMetadata {
  std::string description;          // "MobileNet V1", for people
  std::vector<std::string> labels;  // by class
  // Value = (pixel - mean) * scale, for all channels, or for each.
  std::vector<float> mean, scale;
  std::string problem;  // why labels that the file names are left out
};

/// Reads the metadata of `model`, of the file `path`. A separate process reads an archive
/// (sandbox.h); if it fails, the picture's metadata is not lost.
TfliteMetadata read_tflite_metadata(const TfliteModel& model, const std::string& path);

// --- private to the TFLite front end ------------------------------------------------------------

/// A batch of shifted parts of a picture, as SPACE_TO_BATCH_ND makes it, before any element is
/// moved: a convolution over each part is a dilated one over the picture.
struct TfliteParts {
  int64_t block_y = 1, block_x = 1;
};

/// A tensor as names of the ONNX front end's entries, empty if there is none yet.
struct TfliteHeld {
  std::string plain;    // in TensorFlow Lite's order
  std::string picture;  // N x C x H x W
  // If not null, `picture` is the whole picture of these parts.
  std::shared_ptr<const TfliteParts> parts;
};

/// An attribute of an ONNX node.
struct OnnxAttribute {
  const char* name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

struct TfliteImporter {
  TfliteImporter(const TfliteModel& given_model, const ImportOptions& import_options)
      : model(given_model), onnx(import_options), held(static_cast<size_t>(model.tensors())) {
    for (int i = 0; i < model.tensors(); ++i) same_as.push_back(i);
  }

  const TfliteModel& model;
  OnnxImporter onnx;
  std::vector<TfliteHeld> held;         // by tensor
  std::vector<std::string> names;       // by tensor, unique
  std::vector<int> same_as;             // by tensor: itself, or the constant that it equals
  std::vector<std::string> made_of_op;  // entries that only the current operator needs
  size_t made = 0;                      // number of entries beside those of tensors
  std::vector<std::string> notes;
};

/// An operator as its importer sees it.
class TfliteNode {
 public:
  TfliteNode(const tfl::Operator& op, TfliteImporter* importer);

  const std::string& type() const { return type_; }
  /// Returns the name of the tensor that the operator makes.
  const std::string& name() const;
  int inputs() const { return static_cast<int>(inputs_.size()); }
  int outputs() const { return static_cast<int>(outputs_.size()); }
  bool has(int i) const { return i < inputs() && inputs_[static_cast<size_t>(i)] >= 0; }
  int input(int i) const { return static_cast<int>(inputs_[static_cast<size_t>(i)]); }
  int output(int i) const { return static_cast<int>(outputs_[static_cast<size_t>(i)]); }
  const tfl::Tensor& input_tensor(int i) const { return importer_->model.tensor(input(i)); }
  const tfl::Tensor& output_tensor(int i) const { return importer_->model.tensor(output(i)); }
  const tfl::Operator& op() const { return op_; }
  TfliteImporter& importer() const { return *importer_; }

  /// Returns an input in TensorFlow Lite's order, or with its channels first.
  Result<std::string> plain(int i) const;
  Result<std::string> picture(int i) const;
  /// Returns whether an input is a picture that is held with its channels first.
  bool is_picture(int i) const;
  /// As picture(), for operators that work on parts (TfliteParts) in the same way as on the whole.
  Result<std::string> picture_or_parts(int i) const;
  const std::shared_ptr<const TfliteParts>& parts(int i) const;
  bool is_constant(int i) const;
  /// Returns an input's numbers. Error: kUnsupported if they are computed at run time.
  Result<std::shared_ptr<const OnnxConstant>> constant(int i) const;
  Result<std::vector<int64_t>> ints(int i) const;
  /// Returns weights with their axes in another order. No other operator uses the entry.
  Result<std::string> weights(int i, const std::vector<int64_t>& order,
                              const std::vector<int64_t>& dims) const;
  /// Returns the dimensions of weights, and of any other input, in TensorFlow Lite's order.
  std::vector<int64_t> weight_dims(int i) const;
  Result<std::vector<int64_t>> dims(int i) const;
  std::vector<int64_t> dims_of(const std::string& entry) const;

  /// Adds an ONNX operator and returns the name of its result. The last one added for an operator
  /// has the operator's name.
  Result<std::string> run(const char* type, const std::vector<std::string>& inputs,
                          const OnnxAttributes& attributes = {}) const;
  Result<std::vector<std::string>> run(const char* type, const std::vector<std::string>& inputs,
                                       const OnnxAttributes& attributes, int results) const;
  /// Adds a constant of whole numbers, or of others.
  std::string list(const std::vector<int64_t>& values) const;
  std::string number(double value) const;
  std::string numbers(OnnxConstant constant) const;

  /// Binds an output to an entry.
  Status done(const Result<std::string>& entry) const { return done_at(0, entry, false); }
  Status done_picture(const Result<std::string>& entry) const { return done_at(0, entry, true); }
  Status done_at(int output, const Result<std::string>& entry, bool picture) const;
  /// Binds the output to a picture, or to parts of one if there are any.
  Status done_parts(const Result<std::string>& entry,
                    const std::shared_ptr<const TfliteParts>& parts) const;
  /// Makes the output the constant that input `i` is.
  void done_as_input(int i) const;
  /// Returns a result with the operator's activation, and clamped to a quantised range that begins
  /// at 0.
  Result<std::string> activated(const Result<std::string>& entry, tfl::Activation activation) const;

 private:
  Status needs_whole(int i) const;

  const tfl::Operator& op_;
  TfliteImporter* importer_;
  std::string type_;
  std::vector<int64_t> inputs_, outputs_;
};

/// Returns the index of a picture's axis in the order with channels first, and reorders a list of
/// one number per axis.
int64_t tflite_picture_axis(int64_t axis);
template <typename T>
std::vector<T> tflite_picture_order(const std::vector<T>& list) {
  return {list[0], list[3], list[1], list[2]};
}

/// Windows over pictures, as TensorFlow Lite describes them.
struct TfliteWindow {
  tfl::Padding padding = tfl::Padding::VALID;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
};

/// Checks the numbers of a window before they are used: files may hold any.
Status check_window(const TfliteWindow& window);

/// Adds the attributes of an ONNX operator over a picture.
void add_window(const TfliteWindow& window, OnnxAttributes* attributes);
/// Adds those of a convolution with such weights over each of a picture's parts: over the whole
/// picture, it is dilated by the number of parts along each axis.
void add_window_over_parts(const TfliteWindow& window, const TfliteParts& parts,
                           const std::vector<int64_t>& weights, OnnxAttributes* attributes);

/// Reads the first `count` whole numbers of 32 bits of a custom operator's options.
Result<std::vector<int64_t>> custom_numbers(const TfliteNode& node, size_t count);

}  // namespace dvnn::import
