// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/places.h"

#include <algorithm>
#include <array>

#include "base/nth.h"

namespace dvnn::plan {
namespace {

constexpr int kAddressAlignment = 16;  // in bytes, of a buffer's offset; the driver requires it

using Index = std::array<int64_t, Shape::kMaxRank>;

// Returns the address of an element, counted in elements.
int64_t address_of(const TensorDesc& desc, const Index& at) {
  if (desc.layout != Layout::kNchw) {
    return element_offset(desc.layout, desc.shape, static_cast<int>(at[0]), static_cast<int>(at[1]),
                          static_cast<int>(at[2]), static_cast<int>(at[3]));
  }
  int64_t address = 0;
  for (size_t i = 0; i < desc.shape.axes(); ++i) {
    address = address * desc.shape.dims[i] + at[i];
  }
  return address;
}

// Calls visit(index) for the elements that determine all addresses; ends early if it returns false.
// A layout has fixed distances between rows and between columns of a channel, so an element, the
// next one in its row and the one below it determine the channel's place. A row-major array has a
// fixed distance along each axis.
template <typename Visit>
bool for_each_deciding(const TensorDesc& desc, Visit visit) {
  const Shape& shape = desc.shape;
  const bool row_major = desc.layout == Layout::kNchw;
  Index at = {};
  const auto with_neighbours = [&](size_t from) {
    if (!visit(at)) return false;
    for (size_t axis = from; axis < shape.axes(); ++axis) {
      if (shape.dims[axis] < 2) continue;
      ++at[axis];
      const bool goes_on = visit(at);
      --at[axis];
      if (!goes_on) return false;
    }
    return true;
  };
  if (row_major) return with_neighbours(0);
  for (at[0] = 0; at[0] < shape.n(); ++at[0]) {
    for (at[1] = 0; at[1] < shape.c(); ++at[1]) {
      if (!with_neighbours(2)) return false;
    }
  }
  return true;
}

bool is_inside(const Shape& whole, const Section& section, const Shape& part) {
  if (part.rank != whole.rank || section.begin.size() != whole.axes() ||
      section.step.size() != whole.axes()) {
    return false;
  }
  for (int i = 0; i < whole.rank; ++i) {
    const int64_t first = nth(section.begin, i);
    const int64_t last = first + int64_t{nth(section.step, i)} * (part[i] - 1);
    if (std::min(first, last) < 0 || std::max(first, last) >= whole[i]) return false;
  }
  return part.elements() > 0;
}

}  // namespace

std::optional<uint64_t> lies_within(const TensorDesc& whole, const Section& section,
                                    const TensorDesc& part) {
  if (whole.type != part.type || !is_inside(whole.shape, section, part.shape)) return std::nullopt;
  const auto in_whole = [&](const Index& at) {
    Index from = {};
    for (size_t i = 0; i < whole.shape.axes(); ++i) {
      from[i] = section.begin[i] + section.step[i] * at[i];
    }
    return address_of(whole, from);
  };
  const int64_t begin = in_whole({});
  // The elements that decide one of two layouts need not decide the other, so both are checked.
  const auto lies = [&](const Index& at) { return in_whole(at) == begin + address_of(part, at); };
  const TensorDesc by_channel = {part.type, whole.layout, part.shape};
  if (!for_each_deciding(part, lies) || !for_each_deciding(by_channel, lies)) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(begin) * element_size(whole.type);
  // The device reads and writes only binary16.
  if (whole.type == ElementType::kFloat16 && bytes % kAddressAlignment != 0) return std::nullopt;
  return bytes;
}

namespace {

bool is_row_major(const TensorDesc& desc) {
  const TensorDesc plain = {desc.type, Layout::kNchw, desc.shape};
  return for_each_deciding(
      desc, [&](const Index& at) { return address_of(desc, at) == address_of(plain, at); });
}

}  // namespace

bool same_addresses(const TensorDesc& a, const TensorDesc& b) {
  if (a.type != b.type || a.shape.elements() != b.shape.elements()) return false;
  return (a.layout == b.layout && a.shape == b.shape) || (is_row_major(a) && is_row_major(b));
}

}  // namespace dvnn::plan
