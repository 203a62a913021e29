// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/half.h"

namespace dvnn {
namespace {

void convert_floats(ElementType from_type, const uint8_t* from, ElementType to_type, uint8_t* to,
                    size_t count) {
  if (from_type == to_type) {
    std::memcpy(to, from, count * element_size(to_type));
  } else if (to_type == ElementType::kFloat16) {
    float_to_half(reinterpret_cast<const float*>(from), reinterpret_cast<half_t*>(to), count);
  } else {
    half_to_float(reinterpret_cast<const half_t*>(from), reinterpret_cast<float*>(to), count);
  }
}

// Transposes `slow` lines of `fast` pixels, each of kBytes bytes (0: of `bytes`). It works in
// blocks, so that sources and targets stay in the cache.
template <size_t kBytes>
void transpose(const uint8_t* from, uint8_t* to, size_t slow, size_t fast, size_t bytes) {
  constexpr size_t kBlock = 32;
  const size_t size = kBytes > 0 ? kBytes : bytes;
  for (size_t i0 = 0; i0 < slow; i0 += kBlock) {
    for (size_t j0 = 0; j0 < fast; j0 += kBlock) {
      const size_t i1 = std::min(slow, i0 + kBlock), j1 = std::min(fast, j0 + kBlock);
      for (size_t i = i0; i < i1; ++i) {
        for (size_t j = j0; j < j1; ++j) {
          std::memcpy(to + (j * slow + i) * size, from + (i * fast + j) * size, size);
        }
      }
    }
  }
}

void transpose_pixels(const uint8_t* from, uint8_t* to, size_t slow, size_t fast, size_t bytes) {
  switch (bytes) {
    case 2:
      return transpose<2>(from, to, slow, fast, bytes);
    case 6:
      return transpose<6>(from, to, slow, fast, bytes);
    case 12:
      return transpose<12>(from, to, slow, fast, bytes);
    default:
      return transpose<0>(from, to, slow, fast, bytes);
  }
}

// Turns rows of pixels into columns, or columns into rows.
void turn_pixels(const ConstTensorView& from, const TensorView& to, std::vector<float>* scratch) {
  const Shape& s = from.desc.shape;
  const size_t count = s.count();
  const uint8_t* pixels = from.data;
  if (from.desc.type != to.desc.type) {
    scratch->resize(count);
    auto* converted = reinterpret_cast<uint8_t*>(scratch->data());
    convert_floats(from.desc.type, from.data, to.desc.type, converted, count);
    pixels = converted;
  }
  const bool rows = plain_layout(from.desc) == Layout::kNhwc;
  const size_t slow = rows ? s.extent(2) : s.extent(3);
  const size_t fast = rows ? s.extent(3) : s.extent(2);
  const size_t pixel = s.channels() * element_size(to.desc.type);
  for (size_t n = 0; n < s.extent(0); ++n) {
    const size_t at = n * slow * fast * pixel;
    transpose_pixels(pixels + at, to.data + at, slow, fast, pixel);
  }
}

}  // namespace

Layout plain_layout(const TensorDesc& desc) {
  if (desc.shape.rank != 4 || desc.shape.c() > 8) return desc.layout;
  if (desc.layout == Layout::kWhc8) return Layout::kNwhc;
  return desc.layout == Layout::kHwc8 ? Layout::kNhwc : desc.layout;
}

void convert_tensor(const ConstTensorView& from, const TensorView& to,
                    std::vector<float>* scratch) {
  const size_t count = from.desc.shape.count();
  const Layout a = plain_layout(from.desc), b = plain_layout(to.desc);
  const bool floats = is_float(from.desc.type) && is_float(to.desc.type);
  const bool pixels =
      (a == Layout::kNhwc || a == Layout::kNwhc) && (b == Layout::kNhwc || b == Layout::kNwhc);
  if (a == b && from.desc.type == to.desc.type) {
    std::memcpy(to.data, from.data, count * element_size(to.desc.type));
  } else if (a == b && floats) {
    convert_floats(from.desc.type, from.data, to.desc.type, to.data, count);
  } else if (pixels && (floats || from.desc.type == to.desc.type)) {
    turn_pixels(from, to, scratch);
  } else {
    scratch->resize(count);
    read_nchw(from, scratch->data());
    write_nchw(scratch->data(), to);
  }
}

}  // namespace dvnn
