// SPDX-License-Identifier: Apache-2.0
// From every type and layout to every other: what a detour over row-major floats gives.
#include "tensor/convert_tensor.h"

#include "check_suite.h"

namespace dvnn::test::convert_tensor_tests {

DVNN_SUITE(convert_tensor);

namespace {

const ElementType kTypes[] = {ElementType::kFloat16, ElementType::kFloat32, ElementType::kUint8,
                              ElementType::kInt8};
const Layout kLayouts[] = {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8,
                           Layout::kHwc8};

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

}  // namespace dvnn::test::convert_tensor_tests
