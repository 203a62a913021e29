// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <vector>

#include "check_suite.h"
#include "tensor/dlhdl.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::test::layout_tests {

DVNN_SUITE(layout);

constexpr Layout kLayouts[] = {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8,
                               Layout::kHwc8};

DVNN_TEST(chunked_offsets_follow_the_published_formula) {
  // dv-sdk wiki: 2 * (chunk*(W*H*8) + x*(H*C_) + y*C_ + n_), in elements; 20 channels: 8, 8, 4.
  const Shape shape = {1, 20, 5, 7};
  for (int n = 0; n < 20; ++n) {
    const int chunk = n / 8, in_chunk = n / 8 < 20 / 8 ? 8 : 20 % 8;
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 7; ++x) {
        const int base = chunk * (7 * 5 * 8) + n % 8;
        ck_assert_int_eq(element_offset(Layout::kWhc8, shape, 0, n, y, x),
                         base + x * (5 * in_chunk) + y * in_chunk);
        ck_assert_int_eq(element_offset(Layout::kHwc8, shape, 0, n, y, x),
                         base + y * (7 * in_chunk) + x * in_chunk);
      }
    }
  }
}

DVNN_TEST(every_layout_is_a_permutation) {
  for (int channels : {1, 3, 8, 9, 16, 20}) {
    const Shape shape = {2, channels, 3, 4};
    for (Layout layout : kLayouts) {
      std::set<int64_t> seen;
      for (int n = 0; n < 2; ++n)
        for (int c = 0; c < channels; ++c)
          for (int h = 0; h < 3; ++h)
            for (int w = 0; w < 4; ++w) seen.insert(element_offset(layout, shape, n, c, h, w));
      ck_assert_int_eq(static_cast<int64_t>(seen.size()), shape.elements());
      ck_assert_int_eq(*seen.rbegin(), shape.elements() - 1);
    }
  }
}

DVNN_TEST(reading_and_writing_are_inverse) {
  const Shape shape = {1, 11, 4, 3};
  std::vector<float> values(static_cast<size_t>(shape.elements())), back(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
  for (ElementType type :
       {ElementType::kFloat16, ElementType::kFloat32, ElementType::kUint8, ElementType::kInt8}) {
    for (Layout layout : kLayouts) {
      const TensorDesc desc = {type, layout, shape};
      std::vector<uint8_t> memory(static_cast<size_t>(desc.bytes()));
      write_nchw(values.data(), {desc, memory.data()});
      read_nchw({desc, memory.data()}, back.data());
      ck_assert(values == back);
    }
  }
}

DVNN_TEST(every_element_lies_where_its_offset_says) {
  // Sizes around those of the tiles in which device buffers are converted.
  for (const Shape& shape : {Shape{2, 11, 33, 17}, Shape{1, 8, 16, 32}, Shape{1, 3, 65, 15},
                             Shape{1, 17, 1, 40}, Shape{3, 9, 40, 1}}) {
    std::vector<float> values(static_cast<size_t>(shape.elements())), back(values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2039);
    for (Layout layout : kLayouts) {
      const TensorDesc desc = {ElementType::kFloat16, layout, shape};
      std::vector<half_t> memory(values.size());
      const TensorView view = {desc, reinterpret_cast<uint8_t*>(memory.data())};
      write_nchw(values.data(), view);
      read_nchw({desc, view.data}, back.data());
      ck_assert(values == back);
      size_t i = 0;
      for (int n = 0; n < shape.n(); ++n)
        for (int c = 0; c < shape.c(); ++c)
          for (int h = 0; h < shape.h(); ++h)
            for (int w = 0; w < shape.w(); ++w, ++i) {
              const auto at = static_cast<size_t>(element_offset(layout, shape, n, c, h, w));
              ck_assert(half_to_float(memory[at]) == values[i]);
            }
    }
  }
}

DVNN_TEST(integers_are_rounded_and_clamped) {
  const float from[] = {-300, -1.4f, 254.5f, 300};
  uint8_t unsigned_bytes[4];
  write_nchw(from, {{ElementType::kUint8, Layout::kNchw, {4}}, unsigned_bytes});
  ck_assert_uint_eq(unsigned_bytes[0], 0);
  ck_assert_uint_eq(unsigned_bytes[2], 254);
  ck_assert_uint_eq(unsigned_bytes[3], 255);
}

DVNN_TEST(numbers_that_are_not_finite_are_seen_in_every_type) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kFloat32}) {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      const TensorDesc desc = {type, Layout::kNhwc, {1, 3, 2, 2}};
      std::vector<float> values(12, -65504.0f);
      std::vector<uint8_t> bytes(static_cast<size_t>(desc.bytes()));
      write_nchw(values.data(), {desc, bytes.data()});
      ck_assert(all_finite({desc, bytes.data()}));
      values[7] = bad;
      write_nchw(values.data(), {desc, bytes.data()});
      ck_assert(!all_finite({desc, bytes.data()}));
    }
  }
  const uint8_t bytes[] = {255, 255, 255, 255};
  ck_assert(all_finite({{ElementType::kUint8, Layout::kNchw, {4}}, bytes}));
}

DVNN_TEST(unknown_names_are_refused_with_the_known_ones) {
  const auto layout = parse_layout("chwn");
  ck_assert(!layout.ok());
  ck_assert(layout.error().message.find("whc8") != std::string::npos);
  ck_assert(!parse_element_type("").ok());
  ck_assert(parse_layout("hwc8").value() == Layout::kHwc8);
}

namespace {

const ElementType kTypes[] = {ElementType::kFloat16, ElementType::kFloat32, ElementType::kUint8,
                              ElementType::kInt8};
// A conversion gives what a detour over row-major floats gives.
void check(const TensorDesc& from, const TensorDesc& to, std::vector<float>* scratch) {
  const auto count = static_cast<size_t>(from.shape.elements());
  std::vector<float> values(count);
  // Small whole numbers, which every type has, and no two neighbours alike.
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 101);
  std::vector<float> have_store(count + 1), want_store(count), from_store(count);
  auto* source = reinterpret_cast<uint8_t*>(from_store.data());
  write_nchw(values.data(), {from, source});
  auto* want = reinterpret_cast<uint8_t*>(want_store.data());
  write_nchw(values.data(), {to, want});
  auto* have = reinterpret_cast<uint8_t*>(have_store.data());
  const auto bytes = static_cast<size_t>(to.bytes());
  std::fill(have, have + (count + 1) * sizeof(float), uint8_t{0xee});
  convert_tensor({from, source}, {to, have}, scratch);
  ck_assert_msg(std::equal(want, want + bytes, have) && have[bytes] == 0xee, "%s: %s %s to %s %s",
                from.shape.to_string().c_str(), to_string(from.type), to_string(from.layout),
                to_string(to.type), to_string(to.layout));
}

}  // namespace

DVNN_TEST(every_type_and_layout_becomes_every_other) {
  std::vector<float> scratch;
  for (const Shape& shape : {Shape{1, 3, 33, 65}, Shape{2, 1, 7, 5}, Shape{1, 8, 40, 3},
                             Shape{2, 11, 4, 9}, Shape{1, 6, 1, 70}}) {
    for (ElementType from_type : kTypes) {
      for (Layout from : kLayouts) {
        for (ElementType to_type : kTypes) {
          for (Layout to : kLayouts) {
            check({from_type, from, shape}, {to_type, to, shape}, &scratch);
          }
        }
      }
    }
  }
}

DVNN_TEST(layouts_in_one_chunk_have_plain_names) {
  auto plain = [](Layout layout, int channels) {
    return plain_layout({ElementType::kFloat16, layout, {1, channels, 2, 2}});
  };
  ck_assert(plain(Layout::kWhc8, 8) == Layout::kNwhc && plain(Layout::kHwc8, 3) == Layout::kNhwc);
  ck_assert(plain(Layout::kWhc8, 9) == Layout::kWhc8 && plain(Layout::kHwc8, 9) == Layout::kHwc8);
  ck_assert(plain(Layout::kNchw, 3) == Layout::kNchw && plain(Layout::kNwhc, 9) == Layout::kNwhc);
}

// MathWorks' buffers against the examples of the page that publishes them.

namespace {

DlhdlLayout layout_for(int conv_threads) {
  const auto layout = DlhdlLayout::create(conv_threads);
  ck_assert(layout.ok());
  return layout.value();
}

// 1, 2, 3, ... in row-major order.
std::vector<float> counted(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

std::vector<int> packed(const DlhdlLayout& layout, const Shape& shape) {
  std::vector<uint8_t> bytes(static_cast<size_t>(layout.elements(shape)), 0xff);
  ck_assert(layout.pack(counted(shape).data(), shape, ElementType::kInt8, bytes.data()).ok());
  return {bytes.begin(), bytes.end()};
}

}  // namespace

DVNN_TEST(conv_threads_give_channels_and_transfer_size) {
  ck_assert_int_eq(layout_for(9).channels_at_once(), 3);
  ck_assert_int_eq(layout_for(9).values_per_transfer(), 4);
  ck_assert_int_eq(layout_for(16).values_per_transfer(), 4);
  ck_assert_int_eq(layout_for(25).values_per_transfer(), 8);
  for (int wrong : {0, -4, 8, 15, 33 * 33}) ck_assert(!DlhdlLayout::create(wrong).ok());
}

DVNN_TEST(sizes_are_the_published_ones) {
  const Shape four = {1, 4, 3, 3}, five = {1, 5, 3, 3};
  ck_assert_int_eq(layout_for(16).elements(four), 36);  // C = N = 4
  ck_assert_int_eq(layout_for(9).elements(four), 72);   // C = 3, N = 4
  ck_assert_int_eq(layout_for(16).elements(five), 72);  // stored as 3 x 3 x 8
}

DVNN_TEST(planes_are_padded_as_published) {
  // One pixel: planes 1 2 3 0 4 0 0 0 for C = 3, and 1 2 3 0 for three channels.
  ck_assert(packed(layout_for(9), {1, 4, 1, 1}) == (std::vector<int>{1, 2, 3, 0, 4, 0, 0, 0}));
  ck_assert(packed(layout_for(9), {1, 3, 1, 1}) == (std::vector<int>{1, 2, 3, 0}));
  ck_assert(packed(layout_for(16), {1, 3, 1, 1}) == (std::vector<int>{1, 2, 3, 0}));
}

DVNN_TEST(pixels_go_along_x_first) {
  // 2 x 3 pixels (X, Y) of 2 channels, N = 2: down the first column, then the next.
  const std::vector<int> want = {1, 7, 4, 10, 2, 8, 5, 11, 3, 9, 6, 12};
  ck_assert(packed(layout_for(4), {1, 2, 2, 3}) == want);
}

DVNN_TEST(packing_and_unpacking_give_the_tensor_back) {
  for (int threads : {1, 4, 9, 16, 25, 64}) {
    for (int z : {1, 2, 3, 4, 5, 8, 9}) {
      const Shape shape = {1, z, 3, 4};
      const DlhdlLayout layout = layout_for(threads);
      const std::vector<float> want = counted(shape);
      for (ElementType type : {ElementType::kFloat32, ElementType::kInt8}) {
        std::vector<uint8_t> bytes(static_cast<size_t>(layout.elements(shape)) *
                                   element_size(type));
        std::vector<float> have(want.size());
        ck_assert(layout.pack(want.data(), shape, type, bytes.data()).ok());
        ck_assert(layout.unpack(bytes.data(), shape, type, have.data()).ok());
        ck_assert(have == want);
      }
    }
  }
  uint8_t byte = 0;
  const float value = 1;
  ck_assert(!layout_for(4).pack(&value, {1, 1, 1, 1}, ElementType::kFloat16, &byte).ok());
  ck_assert(!layout_for(4).pack(&value, {1}, ElementType::kInt8, &byte).ok());
}

}  // namespace dvnn::test::layout_tests
