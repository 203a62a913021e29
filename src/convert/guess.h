// SPDX-License-Identifier: Apache-2.0
// Guesses the decoder of a network from the names and shapes of its outputs, if they leave no
// doubt.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/json.h"
#include "convert/exported.h"
#include "decode/decoder.h"

namespace dvnn::convert {

/// A preset's decoder.
struct Guess {
  std::string preset;
  std::string decoder;
  Json params;
  std::string family;  // for people: "YOLOX"
};

/// Returns the decoder that fits the outputs, or nothing if it is uncertain, as several families
/// share the shapes. `input` is the size of the input in pixels; `exported` is the file's metadata,
/// or null.
Result<std::optional<Guess>> guess_decoder(Span<const decode::NamedOutput> outputs,
                                           const image::Size& input,
                                           const Exported* exported = nullptr);

/// Returns a warning if the outputs look like those of another family than the preset that the user
/// named, although its decoder takes them with `params`. Empty: no doubt.
Result<std::string> doubt_preset(Span<const decode::NamedOutput> outputs, const image::Size& input,
                                 const std::string& preset, const Json& params,
                                 const Exported* exported = nullptr);

/// A family whose outputs these are.
struct Match {
  const char *preset, *family;
  Json more = nullptr;  // parameters that are added to the preset's, or replace them
};

/// The outputs of a network, with questions about their names and shapes.
class OutputFacts {
 public:
  OutputFacts(Span<const decode::NamedOutput> outputs, const image::Size& input)
      : outputs_(outputs), input_(input) {}
  size_t count() const { return outputs_.size(); }

  template <typename Strides = std::initializer_list<int>>
  int64_t cells(const Strides& strides) const {
    int64_t sum = 0;
    for (int stride : strides) {
      sum += static_cast<int64_t>(std::ceil(input_.width / stride)) *
             static_cast<int64_t>(std::ceil(input_.height / stride));
    }
    return sum;
  }
  int64_t cells(std::initializer_list<int> strides) const {
    return cells<std::initializer_list<int>>(strides);
  }

  /// Whether there is an output of rows x columns. Dimensions in front of these must be 1.
  bool has(int64_t rows, int64_t columns) const;
  bool has_name(const char* name) const;
  /// Whether there is a single output, of 1 x A x B.
  bool single(int64_t* a, int64_t* b) const;
  const decode::NamedOutput& output(size_t i) const { return outputs_[i]; }
  const Shape& shape(size_t i) const { return outputs_[i].desc.shape; }

 private:
  Span<const decode::NamedOutput> outputs_;
  image::Size input_;
};

/// Matches heads of YOLO v8 to v12 and 26 whose boxes are not decoded yet: one or more outputs per
/// stride, in any order. Without metadata, only shapes that leave no doubt match.
std::optional<Match> raw_yolo(const OutputFacts& facts, const Exported* exported);

/// Matches the task in the file's metadata, if the outputs agree with it.
std::optional<Match> exported_yolo(const OutputFacts& facts, const Exported& exported);

}  // namespace dvnn::convert
