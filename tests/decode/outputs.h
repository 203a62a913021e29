// SPDX-License-Identifier: Apache-2.0
// Outputs by hand, for tests of decoders.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/json.h"
#include "check_suite.h"
#include "decode/decoder.h"

namespace dvnn::test {

/// The outputs of a network, in their own memory.
class Outputs {
 public:
  /// An output of `values`, which are given in the order of the shape.
  Outputs& add(const char* name, Shape shape, const std::vector<float>& values,
               ElementType type = ElementType::kFloat32, Layout layout = Layout::kNchw) {
    const TensorDesc desc{type, layout, shape};
    ck_assert_int_eq(shape.elements(), static_cast<int64_t>(values.size()));
    memory_.emplace_back(static_cast<size_t>(desc.bytes()));
    write_nchw(values.data(), {desc, memory_.back().data()});
    named_.push_back({name, desc});
    views_.push_back({desc, memory_.back().data()});
    return *this;
  }

  Result<std::unique_ptr<decode::Decoder>> make(const char* decoder, const Json& params) const {
    return decode::create_decoder(decoder, params, named_);
  }

  /// Returns the objects that the decoder finds. The decoder must accept the outputs.
  objects::Objects found(const char* decoder, const Json& params, float threshold) const {
    auto made = make(decoder, params);
    ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
    objects::Objects objects;
    // Decodes twice, because a decoder reuses its working memory.
    ck_assert(made.value()->decode(views_, threshold, &objects).ok());
    objects.clear();
    ck_assert(made.value()->decode(views_, threshold, &objects).ok());
    return objects;
  }

  /// Returns the error of a decoder that must be refused.
  std::string refusal(const char* decoder, const Json& params) const {
    auto made = make(decoder, params);
    ck_assert(!made.ok());
    return made.error().message;
  }

  Span<const decode::NamedOutput> named() const { return named_; }
  Span<const ConstTensorView> views() const { return views_; }

 private:
  std::deque<std::vector<uint8_t>> memory_;
  std::vector<decode::NamedOutput> named_;
  std::vector<ConstTensorView> views_;
};

inline decode::NamedOutput output(const char* name, Shape shape) {
  return {name, {ElementType::kFloat32, Layout::kNchw, shape}};
}

inline ConstTensorView view(const decode::NamedOutput& o, const std::vector<float>& values) {
  return {o.desc, reinterpret_cast<const uint8_t*>(values.data())};
}

/// Parameters of an SSD with 2 x 2 anchors of 8 pixels in an image of 16 x 16.
inline Json ssd_params() {
  return {{"loc", "loc"},
          {"conf", "conf"},
          {"num_classes", 2},
          {"anchors",
           {{"rule", "min-boxes"}, {"image", {16, 16}}, {"strides", {8}}, {"min_boxes", {{8}}}}}};
}

inline void assert_box(const objects::Object& object, double x0, double y0, double x1, double y1) {
  constexpr double kTolerance = 1e-3;
  ck_assert_msg(
      std::abs(object.box.x0 - x0) < kTolerance && std::abs(object.box.y0 - y0) < kTolerance &&
          std::abs(object.box.x1 - x1) < kTolerance && std::abs(object.box.y1 - y1) < kTolerance,
      "%g %g %g %g is not %g %g %g %g", object.box.x0, object.box.y0, object.box.x1, object.box.y1,
      x0, y0, x1, y1);
}

// Detectors' outputs over a small grid: a picture of 32x16 at stride 8: 4 x 2 cells. Cell 5 is in
// column 1, row 1.
inline constexpr size_t kCells = 8, kCell = 5;

// Returns one row per cell: `row` for kCell, `others` elsewhere.
inline std::vector<float> one_row(const std::vector<float>& row, float others = 0) {
  std::vector<float> rows(kCells * row.size(), others);
  std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(kCell * row.size()));
  return rows;
}

inline std::vector<float> transposed(const std::vector<float>& rows, size_t columns) {
  std::vector<float> turned(rows.size());
  const size_t count = rows.size() / columns;
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < columns; ++c) turned[c * count + i] = rows[i * columns + c];
  }
  return turned;
}

inline const Json kGrid = {{"image", {32, 16}}, {"strides", {8}}};

inline Json with(Json params, const Json& more) {
  params.update(more);
  return params;
}

}  // namespace dvnn::test
