// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "base/json.h"
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

// Calls visit(nchw_index, memory_index) for every element. The innermost loop is over channels, as
// in the device's buffers, so that long copies are sequential in memory.
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

bool is_device_buffer(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat16 && lies_in_chunks(desc.layout);
}

// The device's buffers are converted for every frame, so this is done in tiles, which stay in the
// cache while rows become columns. A line consists of pixels that are consecutive in memory.
constexpr int kTileLines = 16, kTilePixels = 32;

// A part of a chunk of channels, with the offsets of its first element in memory and in row-major
// order.
struct Tile {
  int64_t at, linear;
  int lines, pixels, channels;
  size_t line() const { return static_cast<size_t>(pixels * channels); }
};

// Row-major distances between lines of a chunk, between pixels of a line, and between planes.
struct Steps {
  int64_t line, pixel, plane;
};

Steps steps_of(const TensorDesc& desc) {
  const Shape& s = desc.shape;
  const int64_t plane = int64_t{s.h()} * s.w();
  return desc.layout == Layout::kWhc8 ? Steps{1, s.w(), plane} : Steps{s.w(), 1, plane};
}

template <typename Visit>
void for_each_tile(const TensorDesc& desc, const Steps& steps, Visit visit) {
  const Shape& s = desc.shape;
  const bool x_major = desc.layout == Layout::kWhc8;
  const int lines = x_major ? s.w() : s.h(), pixels = x_major ? s.h() : s.w();
  for (int n = 0; n < s.n(); ++n) {
    for (int c = 0; c < s.c(); c += 8) {
      const int64_t chunk = (int64_t{n} * s.c() + c) * steps.plane;
      const int channels = std::min(8, s.c() - c);
      for (int i = 0; i < lines; i += kTileLines) {
        for (int j = 0; j < pixels; j += kTilePixels) {
          visit(Tile{chunk + (int64_t{i} * pixels + j) * channels,
                     chunk + i * steps.line + j * steps.pixel, std::min(kTileLines, lines - i),
                     std::min(kTilePixels, pixels - j), channels});
        }
      }
    }
  }
}

// Calls visit(index in the tile's floats, row-major index) for a tile's elements in row-major
// order. Lines of a tile are slightly longer than a power of two, so that they do not share cache
// sets.
constexpr int kTileLine = kTilePixels * 8 + 16;
template <typename Visit>
void for_each_of(const Tile& tile, const Steps& steps, Visit visit) {
  for (int c = 0; c < tile.channels; ++c) {
    const int64_t linear = tile.linear + c * steps.plane;
    if (steps.line == 1) {
      for (int j = 0; j < tile.pixels; ++j) {
        const int first = j * tile.channels + c;
        const int64_t row = linear + j * steps.pixel;
        for (int i = 0; i < tile.lines; ++i) visit(i * kTileLine + first, row + i);
      }
    } else {
      for (int i = 0; i < tile.lines; ++i) {
        const int first = i * kTileLine + c;
        const int64_t row = linear + i * steps.line;
        for (int j = 0; j < tile.pixels; ++j) visit(first + j * tile.channels, row + j);
      }
    }
  }
}

int64_t line_of(const TensorDesc& desc, const Tile& tile) {
  const Shape& s = desc.shape;
  return int64_t{desc.layout == Layout::kWhc8 ? s.h() : s.w()} * tile.channels;
}

void read_device_buffer(const TensorDesc& desc, const half_t* from, float* to) {
  const Steps steps = steps_of(desc);
  alignas(64) float floats[kTileLines * kTileLine];
  for_each_tile(desc, steps, [&](const Tile& tile) {
    const int64_t line = line_of(desc, tile);
    for (int i = 0; i < tile.lines; ++i) {
      half_to_float(from + tile.at + i * line, floats + i * kTileLine, tile.line());
    }
    for_each_of(tile, steps, [&](int at, int64_t linear) { to[linear] = floats[at]; });
  });
}

void write_device_buffer(const TensorDesc& desc, const float* from, half_t* to) {
  const Steps steps = steps_of(desc);
  alignas(64) float floats[kTileLines * kTileLine];
  for_each_tile(desc, steps, [&](const Tile& tile) {
    const int64_t line = line_of(desc, tile);
    for_each_of(tile, steps, [&](int at, int64_t linear) { floats[at] = from[linear]; });
    for (int i = 0; i < tile.lines; ++i) {
      float_to_half(floats + i * kTileLine, to + tile.at + i * line, tile.line());
    }
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

size_t TensorDesc::bytes() const {
  return shape.count() * element_size(type);
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
    if (desc.type == ElementType::kFloat32) {
      std::memcpy(to, from.data, desc.bytes());
    } else if (desc.type == ElementType::kFloat16) {
      half_to_float(reinterpret_cast<const half_t*>(from.data), to, desc.shape.count());
    } else {
      const int64_t count = desc.shape.elements();
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
    if (desc.type == ElementType::kFloat32) {
      std::memcpy(to.data, from, desc.bytes());
    } else if (desc.type == ElementType::kFloat16) {
      float_to_half(from, reinterpret_cast<half_t*>(to.data), desc.shape.count());
    } else {
      const int64_t count = desc.shape.elements();
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

// In infinities and NaN, all bits of the exponent are set.
template <typename Word>
static bool has_full_exponent(const ConstTensorView& tensor, Word exponent) {
  const size_t count = tensor.desc.bytes() / sizeof(Word);
  unsigned found = 0;
  for (size_t i = 0; i < count; ++i) {
    Word bits;
    std::memcpy(&bits, tensor.data + i * sizeof(Word), sizeof bits);
    found |= (bits & exponent) == exponent ? 1u : 0u;
  }
  return found != 0;
}

// First checks all bytes, including padding, because that needs no knowledge of the layout and no
// memory.
bool all_finite(const ConstTensorView& tensor) {
  const TensorDesc& desc = tensor.desc;
  if (!is_float(desc.type)) return true;
  const bool is_suspect = desc.type == ElementType::kFloat16
                              ? has_full_exponent<uint16_t>(tensor, 0x7c00)
                              : has_full_exponent<uint32_t>(tensor, 0x7f800000);
  if (!is_suspect) return true;
  std::vector<float> values(desc.shape.count());
  read_nchw(tensor, values.data());
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

Status check_shape(const Shape& shape) {
  if (shape.rank < 1 || shape.rank > Shape::kMaxRank) {
    return too_large(format("%d dimensions, not 1..%d", shape.rank, Shape::kMaxRank));
  }
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 1) return malformed(format("dimension %d is %d, not positive", i, shape[i]));
    elements *= shape[i];  // both factors are below 2^31; checked before the next product
    if (elements > kMaxTensorElements) {
      return too_large(format("the number of elements is %lld, the limit is %lld",
                              static_cast<long long>(elements),
                              static_cast<long long>(kMaxTensorElements)));
    }
  }
  return {};
}

Json to_json(const TensorDesc& desc) {
  return {{"type", to_string(desc.type)},
          {"layout", to_string(desc.layout)},
          {"shape", std::vector<int>(desc.shape.dims, desc.shape.dims + desc.shape.rank)}};
}

TensorDesc read_desc(JsonReader* in) {
  TensorDesc desc;
  const std::string type = in->text("type"), layout = in->text("layout");
  const std::vector<int> dims = in->integers("shape", 1, INT_MAX, Shape::kMaxRank);
  if (!in->ok()) return desc;
  if (const auto parsed = parse_element_type(type); parsed.ok()) {
    desc.type = parsed.value();
  } else {
    in->fail("type", parsed.error().message);
  }
  if (const auto parsed = parse_layout(layout); parsed.ok()) {
    desc.layout = parsed.value();
  } else {
    in->fail("layout", parsed.error().message);
  }
  desc.shape.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), desc.shape.dims);
  if (const Status s = check_shape(desc.shape); !s.ok()) in->fail("shape", s.error().message);
  if (desc.layout != Layout::kNchw && desc.shape.rank != 4) {
    in->fail("layout", format("%s needs 4 dimensions, the shape is %s", to_string(desc.layout),
                              desc.shape.to_string().c_str()));
  }
  return desc;
}

}  // namespace dvnn
