// SPDX-License-Identifier: Apache-2.0
// A tensor's description: element type, shape and layout (the order of elements in memory).
//
// Shapes are written in the model frameworks' order. A 4-D tensor is {n, c, h, w}; n also stands
// for the device's depth d, which is outermost in all layouts. Tensors of other ranks are plain
// arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn {

enum class ElementType : uint8_t { kFloat16, kFloat32, kUint8, kInt8 };

/// The layouts, each defined by the offset of element (n, c, h, w) of a 4-D tensor {N, C, H, W}, in
/// elements:
///   kNchw  ((n*C + c)*H + h)*W + w      row-major in the order of the shape; any rank
///   kNhwc  ((n*H + h)*W + w)*C + c      the device's "DHWC" with no channel chunks
///   kNwhc  ((n*W + w)*H + h)*C + c      the device's "DWHC": x is the slow spatial axis
///   kWhc8  n*C*H*W + k*8*H*W + (w*H + h)*ck + c%8   with k = c/8, ck = min(8, C - 8k)
///   kHwc8  n*C*H*W + k*8*H*W + (h*W + w)*ck + c%8
/// kWhc8 and kHwc8 are the device's own buffers (its last chunk is tight); for C <= 8 they are the
/// same as kNwhc and kNhwc. Source: dv-sdk wiki, "Network input output layout".
enum class Layout : uint8_t { kNchw, kNhwc, kNwhc, kWhc8, kHwc8 };

/// Whether channels are stored in chunks of eight.
inline bool lies_in_chunks(Layout layout) {
  return layout == Layout::kWhc8 || layout == Layout::kHwc8;
}

/// Dimensions, outermost first. Rank 0 means "no shape".
struct Shape {
  static constexpr int kMaxRank = 6;
  int rank = 0;
  int dims[kMaxRank] = {};

  Shape() = default;
  Shape(std::initializer_list<int> list);
  int operator[](int i) const { return dims[i]; }
  int& operator[](int i) { return dims[i]; }
  /// Returns the product of all dimensions; 0 for rank 0.
  int64_t elements() const;
  // elements(), a dimension and the rank as sizes of arrays; none of them may be negative.
  size_t count() const { return static_cast<size_t>(elements()); }
  size_t extent(int i) const { return static_cast<size_t>(dims[i]); }
  size_t axes() const { return static_cast<size_t>(rank); }
  bool operator==(const Shape& o) const;
  bool operator!=(const Shape& o) const { return !(*this == o); }
  /// Returns a text like "1x3x300x300".
  std::string to_string() const;
  // The image dimensions of a 4-D shape.
  int n() const { return dims[0]; }
  int c() const { return dims[1]; }
  int h() const { return dims[2]; }
  int w() const { return dims[3]; }
  size_t channels() const { return extent(1); }
  size_t pixels() const { return extent(2) * extent(3); }
};

/// Describes a tensor. For ranks other than 4, only kNchw is valid.
struct TensorDesc {
  ElementType type = ElementType::kFloat16;
  Layout layout = Layout::kNchw;
  Shape shape;

  size_t bytes() const;
  bool operator==(const TensorDesc& o) const {
    return type == o.type && layout == o.layout && shape == o.shape;
  }
  bool operator!=(const TensorDesc& o) const { return !(*this == o); }
};

/// A tensor in memory that the view does not own.
template <typename Byte>
struct BasicTensorView {
  TensorDesc desc;
  Byte* data = nullptr;
};
using TensorView = BasicTensorView<uint8_t>;
using ConstTensorView = BasicTensorView<const uint8_t>;

size_t element_size(ElementType type);
bool is_float(ElementType type);          // of 16 or 32 bits
const char* to_string(ElementType type);  // "float16", "float32", "uint8", "int8"
const char* to_string(Layout layout);     // "nchw", "nhwc", "nwhc", "whc8", "hwc8"
Result<ElementType> parse_element_type(std::string_view text);
Result<Layout> parse_layout(std::string_view text);

/// Returns the offset of (n, c, h, w) in elements, by the formulas above. No other code computes
/// it.
int64_t element_offset(Layout layout, const Shape& shape, int n, int c, int h, int w);

/// Copies a tensor of any type and layout to row-major float in the order of its shape.
void read_nchw(const ConstTensorView& from, float* to);
/// Writes row-major float to a tensor of any type and layout; integers are rounded to nearest and
/// clamped.
void write_nchw(const float* from, const TensorView& to);

/// Whether no element is infinite or NaN; true for integers.
bool all_finite(const ConstTensorView& tensor);

/// Limit of a described tensor's elements.
constexpr int64_t kMaxTensorElements = int64_t{1} << 28;

/// Checks that a shape has 1 to Shape::kMaxRank positive dimensions and at most kMaxTensorElements.
Status check_shape(const Shape& shape);

/// A description as JSON members: "type", "layout", "shape".
Json to_json(const TensorDesc& desc);
/// Reads the members, recording errors in `in`. The layout must fit the shape.
TensorDesc read_desc(JsonReader* in);

// Streams use other types and layouts than the device.

/// Returns the simplest layout with the same order: kNwhc or kNhwc for kWhc8 or kHwc8 of a single
/// chunk.
Layout plain_layout(const TensorDesc& desc);

/// Converts `from` to `to`, a tensor of the same shape, with the values of write_nchw(). Fast for
/// floats in rows or columns of pixels. `scratch` grows as needed; a caller that keeps it allocates
/// only once.
void convert_tensor(const ConstTensorView& from, const TensorView& to, std::vector<float>* scratch);

}  // namespace dvnn
