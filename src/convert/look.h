// SPDX-License-Identifier: Apache-2.0
// The facts that guesses of decoders go by. Private to src/convert.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/json.h"
#include "convert/exported.h"
#include "decode/decoder.h"

namespace dvnn::convert {

/// A family that the outputs are of.
struct Match {
  const char *preset, *family;
  Json more = nullptr;  // parameters beside the preset's, or in their place
};

/// Shapes without the ones in front, and how many cells grids have.
class Look {
 public:
  Look(Span<const decode::NamedOutput> outputs, const image::Size& input)
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

  /// Returns whether there is an output of rows x columns, in front of which there is at most a 1.
  bool has(int64_t rows, int64_t columns) const;
  bool has_name(const char* name) const;
  /// The one output of 1xAxB.
  bool single(int64_t* a, int64_t* b) const;
  const decode::NamedOutput& output(size_t i) const { return outputs_[i]; }
  const Shape& shape(size_t i) const { return outputs_[i].desc.shape; }

 private:
  Span<const decode::NamedOutput> outputs_;
  image::Size input_;
};

/// Heads of YOLO v8 to v12 and 26 before their boxes are decoded: an output or several for each
/// stride, in any order. Without facts of the file only shapes that leave no doubt.
std::optional<Match> raw_yolo(const Look& look, const Exported* exported);

/// What the file says, where the outputs are as it says.
std::optional<Match> exported_yolo(const Look& look, const Exported& exported);

}  // namespace dvnn::convert
