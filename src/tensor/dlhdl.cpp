// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlhdl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/format.h"

namespace dvnn {
namespace {

constexpr int kMostAtOnce = 32;

// Calls visit(row-major index, index in the buffer) for every element.
template <typename Visit>
void for_each(const DlhdlLayout& layout, const Shape& shape, Visit visit) {
  int64_t linear = 0;
  for (int z = 0; z < shape.c(); ++z) {
    for (int x = 0; x < shape.h(); ++x) {
      for (int y = 0; y < shape.w(); ++y) visit(linear++, layout.offset(shape, z, x, y));
    }
  }
}

}  // namespace

Status DlhdlLayout::check(const Shape& shape, ElementType type) {
  if (shape.rank != 4 || shape.n() != 1 || shape.elements() < 1) {
    return invalid_argument("a DLHDL buffer holds a tensor of shape 1xZxXxY, not " +
                            shape.to_string());
  }
  if (type != ElementType::kFloat32 && type != ElementType::kInt8) {
    return unsupported(format("a DLHDL buffer holds float32 or int8, not %s", to_string(type)));
  }
  return {};
}

Result<DlhdlLayout> DlhdlLayout::create(int conv_threads) {
  for (int channels = 1; channels <= kMostAtOnce; ++channels) {
    if (channels * channels != conv_threads) continue;
    int values = 1;
    while (values < channels) values *= 2;
    return DlhdlLayout(channels, values);
  }
  return invalid_argument(
      format("ConvThreadNumber must be the square of 1..%d, like 9 or 16, not %d", kMostAtOnce,
             conv_threads));
}

size_t DlhdlLayout::elements(const Shape& shape) const {
  const int64_t blocks = (shape.c() + channels_ - 1) / channels_;
  return static_cast<size_t>(blocks * values_) * shape.pixels();
}

int64_t DlhdlLayout::offset(const Shape& shape, int z, int x, int y) const {
  const int64_t rows = shape.h(), cols = shape.w();
  return (z / channels_ * rows * cols + y * rows + x) * values_ + z % channels_;
}

Status DlhdlLayout::pack(const float* from, const Shape& shape, ElementType type,
                         uint8_t* to) const {
  DVNN_TRY(check(shape, type));
  std::memset(to, 0, elements(shape) * element_size(type));
  for_each(*this, shape, [&](int64_t linear, int64_t at) {
    if (type == ElementType::kFloat32) {
      std::memcpy(to + 4 * at, from + linear, sizeof *from);
    } else {
      to[at] = static_cast<uint8_t>(
          static_cast<int8_t>(std::lrintf(std::clamp(from[linear], -128.0f, 127.0f))));
    }
  });
  return {};
}

Status DlhdlLayout::unpack(const uint8_t* from, const Shape& shape, ElementType type,
                           float* to) const {
  DVNN_TRY(check(shape, type));
  for_each(*this, shape, [&](int64_t linear, int64_t at) {
    if (type == ElementType::kFloat32) {
      std::memcpy(to + linear, from + 4 * at, sizeof *to);
    } else {
      to[linear] = static_cast<int8_t>(from[at]);
    }
  });
  return {};
}

}  // namespace dvnn
