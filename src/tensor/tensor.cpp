// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/names.h"
#include "tensor/half.h"

namespace dvnn {
namespace {

constexpr const char* kTypeNames[] = {"float16", "float32", "uint8", "int8"};
constexpr const char* kLayoutNames[] = {"nchw", "nhwc", "nwhc", "whc8", "hwc8"};

float load(ElementType type, const uint8_t* data, int64_t i) {
  switch (type) {
    case ElementType::kFloat16: {
      half_t h;
      std::memcpy(&h, data + 2 * i, sizeof h);
      return half_to_float(h);
    }
    case ElementType::kFloat32: {
      float f;
      std::memcpy(&f, data + 4 * i, sizeof f);
      return f;
    }
    case ElementType::kUint8:
      return data[i];
    case ElementType::kInt8:
      return static_cast<int8_t>(data[i]);
  }
  return 0;
}

void store(ElementType type, uint8_t* data, int64_t i, float value) {
  switch (type) {
    case ElementType::kFloat16: {
      const half_t h = float_to_half(value);
      std::memcpy(data + 2 * i, &h, sizeof h);
      break;
    }
    case ElementType::kFloat32:
      std::memcpy(data + 4 * i, &value, sizeof value);
      break;
    case ElementType::kUint8:
      data[i] = static_cast<uint8_t>(std::lrintf(std::clamp(value, 0.0f, 255.0f)));
      break;
    case ElementType::kInt8:
      data[i] = static_cast<uint8_t>(
          static_cast<int8_t>(std::lrintf(std::clamp(value, -128.0f, 127.0f))));
      break;
  }
}

// Calls visit(nchw_index, memory_index) for every element. The innermost loop walks channels, which
// is how device buffers lie, so that long copies stay in step with memory.
template <typename Visit>
void for_each_element(const TensorDesc& desc, Visit visit) {
  const Shape& s = desc.shape;
  const int64_t plane = int64_t{s.h()} * s.w();
  for (int n = 0; n < s.n(); ++n) {
    for (int c0 = 0; c0 < s.c(); c0 += 8) {
      const int chunk = std::min(8, s.c() - c0);
      for (int h = 0; h < s.h(); ++h) {
        for (int w = 0; w < s.w(); ++w) {
          const int64_t linear = (int64_t{n} * s.c() + c0) * plane + int64_t{h} * s.w() + w;
          const int64_t at = element_offset(desc.layout, s, n, c0, h, w);
          const int64_t step = desc.layout == Layout::kNchw ? plane : 1;
          for (int c = 0; c < chunk; ++c) visit(linear + c * plane, at + c * step);
        }
      }
    }
  }
}

// The device's buffers are what is converted for every frame. Calls visit(memory index, NCHW index
// of its first element, pixels, channels of the chunk, NCHW distance of pixels) for pieces of at
// most kPiece elements that lie side by side in memory: pixels along the layout's fast axis.
constexpr int kPiece = 256;

bool is_device_buffer(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat16 &&
         (desc.layout == Layout::kWhc8 || desc.layout == Layout::kHwc8);
}

template <typename Visit>
void for_each_piece(const TensorDesc& desc, Visit visit) {
  const Shape& s = desc.shape;
  const bool x_major = desc.layout == Layout::kWhc8;
  const int64_t plane = int64_t{s.h()} * s.w();
  const int slow = x_major ? s.w() : s.h(), fast = x_major ? s.h() : s.w();
  const int64_t slow_step = x_major ? 1 : s.w(), fast_step = x_major ? s.w() : 1;
  int64_t at = 0;
  for (int n = 0; n < s.n(); ++n) {
    for (int c = 0; c < s.c(); c += 8) {
      const int channels = std::min(8, s.c() - c);
      for (int i = 0; i < slow; ++i) {
        for (int j = 0; j < fast; j += kPiece / 8) {
          const int pixels = std::min(kPiece / 8, fast - j);
          visit(at, (int64_t{n} * s.c() + c) * plane + i * slow_step + j * fast_step, pixels,
                channels, fast_step);
          at += pixels * channels;
        }
      }
    }
  }
}

void read_device_buffer(const TensorDesc& desc, const half_t* from, float* to) {
  const int64_t plane = int64_t{desc.shape.h()} * desc.shape.w();
  for_each_piece(desc, [&](int64_t at, int64_t linear, int pixels, int channels, int64_t step) {
    float piece[kPiece];
    half_to_float(from + at, piece, static_cast<size_t>(pixels * channels));
    for (int c = 0; c < channels; ++c) {
      float* out = to + linear + c * plane;
      for (int i = 0; i < pixels; ++i) out[i * step] = piece[i * channels + c];
    }
  });
}

void write_device_buffer(const TensorDesc& desc, const float* from, half_t* to) {
  const int64_t plane = int64_t{desc.shape.h()} * desc.shape.w();
  for_each_piece(desc, [&](int64_t at, int64_t linear, int pixels, int channels, int64_t step) {
    float piece[kPiece];
    for (int c = 0; c < channels; ++c) {
      const float* in = from + linear + c * plane;
      for (int i = 0; i < pixels; ++i) piece[i * channels + c] = in[i * step];
    }
    float_to_half(piece, to + at, static_cast<size_t>(pixels * channels));
  });
}

}  // namespace

Shape::Shape(std::initializer_list<int> list) {
  for (int d : list) {
    if (rank < kMaxRank) dims[rank++] = d;
  }
}

int64_t Shape::elements() const {
  int64_t product = rank > 0 ? 1 : 0;
  for (int i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

bool Shape::operator==(const Shape& o) const {
  return rank == o.rank && std::equal(dims, dims + rank, o.dims);
}

std::string Shape::to_string() const {
  std::string text;
  for (int i = 0; i < rank; ++i) text += (i ? "x" : "") + std::to_string(dims[i]);
  return text;
}

int64_t TensorDesc::bytes() const {
  return shape.elements() * static_cast<int64_t>(element_size(type));
}

bool is_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kFloat32;
}

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return 2;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kUint8:
    case ElementType::kInt8:
      return 1;
  }
  return 0;
}

const char* to_string(ElementType type) {
  return kTypeNames[static_cast<int>(type)];
}
const char* to_string(Layout layout) {
  return kLayoutNames[static_cast<int>(layout)];
}

Result<ElementType> parse_element_type(std::string_view text) {
  return parse_name<ElementType>(text, kTypeNames, "element type");
}

Result<Layout> parse_layout(std::string_view text) {
  return parse_name<Layout>(text, kLayoutNames, "layout");
}

int64_t element_offset(Layout layout, const Shape& s, int n, int c, int h, int w) {
  const int64_t C = s.c(), H = s.h(), W = s.w();
  const int64_t chunk_base = n * C * H * W + int64_t{c / 8} * 8 * H * W;
  const int64_t in_chunk = std::min<int64_t>(8, C - (c & ~7));
  switch (layout) {
    case Layout::kNchw:
      return ((n * C + c) * H + h) * W + w;
    case Layout::kNhwc:
      return ((n * H + h) * W + w) * C + c;
    case Layout::kNwhc:
      return ((n * W + w) * H + h) * C + c;
    case Layout::kWhc8:
      return chunk_base + (w * H + h) * in_chunk + (c & 7);
    case Layout::kHwc8:
      return chunk_base + (h * W + w) * in_chunk + (c & 7);
  }
  return 0;
}

void read_nchw(const ConstTensorView& from, float* to) {
  const TensorDesc& desc = from.desc;
  if (desc.layout == Layout::kNchw) {
    const int64_t count = desc.shape.elements();
    if (desc.type == ElementType::kFloat32) {
      std::memcpy(to, from.data, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = load(desc.type, from.data, i);
    }
    return;
  }
  if (is_device_buffer(desc)) {
    read_device_buffer(desc, reinterpret_cast<const half_t*>(from.data), to);
    return;
  }
  for_each_element(
      desc, [&](int64_t linear, int64_t at) { to[linear] = load(desc.type, from.data, at); });
}

void write_nchw(const float* from, const TensorView& to) {
  const TensorDesc& desc = to.desc;
  if (desc.layout == Layout::kNchw) {
    const int64_t count = desc.shape.elements();
    if (desc.type == ElementType::kFloat32) {
      std::memcpy(to.data, from, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i) store(desc.type, to.data, i, from[i]);
    }
    return;
  }
  if (is_device_buffer(desc)) {
    write_device_buffer(desc, from, reinterpret_cast<half_t*>(to.data));
    return;
  }
  for_each_element(
      desc, [&](int64_t linear, int64_t at) { store(desc.type, to.data, at, from[linear]); });
}

}  // namespace dvnn
