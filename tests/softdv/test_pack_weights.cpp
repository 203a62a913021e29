// SPDX-License-Identifier: Apache-2.0
// The functions that pack weights for programs of the vendor's kind: what they say of sizes and of
// room, and that their bytes are our packer's.
#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check_suite.h"
#include "dmp_dv.h"
#include "tensor/packing.h"

namespace dvnn::test::pack_weights_tests {

DVNN_SUITE(softdv_pack_weights);

namespace {

constexpr uint8_t kBefore = 0xa5;  // what stood in the room
constexpr size_t kMore = 48;       // bytes of room that are not needed

struct alignas(16) Line {
  uint8_t bytes[16];
};

using Pack = std::function<int(uint8_t* packed, size_t* packed_size)>;

template <typename Function>
Function* symbol(const char* name) {
  static void* const library = dlopen(std::getenv("DVNN_SOFT_DEVICE"), RTLD_NOW);
  void* const found = library ? dlsym(library, name) : nullptr;
  ck_assert_msg(found != nullptr, "no %s", name);
  return reinterpret_cast<Function*>(found);
}

// Each way to ask, and what is to come of it.
void check_contract(const Pack& pack, const std::vector<uint8_t>& wanted) {
  size_t size = 0;
  ck_assert_int_eq(pack(nullptr, &size), 0);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(pack(nullptr, &size), -1);  // no room is of that size
  ck_assert_int_eq(pack(nullptr, nullptr) == 0, 0);

  std::vector<Line> room((wanted.size() + kMore) / sizeof(Line));
  uint8_t* const bytes = room.data()->bytes;
  const auto fill = [&] { std::memset(bytes, kBefore, wanted.size() + kMore); };
  fill();
  size = wanted.size() + kMore;
  ck_assert_int_eq(pack(bytes, &size), 0);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(std::memcmp(bytes, wanted.data(), wanted.size()), 0);
  for (size_t i = 0; i < kMore; ++i) ck_assert_uint_eq(bytes[wanted.size() + i], 0);

  // What fits, and nothing behind it.
  fill();
  size = wanted.size() - 1;
  ck_assert_int_eq(pack(bytes, &size), -1);
  ck_assert_uint_eq(size, wanted.size());
  ck_assert_int_eq(std::memcmp(bytes, wanted.data(), wanted.size() - 1), 0);
  ck_assert_uint_eq(bytes[wanted.size() - 1], kBefore);

  size = wanted.size();
  ck_assert_int_eq(pack(bytes + 1, &size), EINVAL);
}

// Weights, biases and slopes that differ from one another.
std::vector<half_t> numbers(size_t count, float from) {
  std::vector<half_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = float_to_half(from + static_cast<float>(i));
  return values;
}

}  // namespace

DVNN_TEST(convolutions_are_packed_as_their_contract_says) {
  constexpr int kM = 5, kC = 3, kX = 3, kY = 2;
  const auto weights = numbers(size_t{kM} * kC * kX * kY, 1), bias = numbers(kM, 200),
             slopes = numbers(kM, 300);
  for (const bool dilated : {false, true}) {
    const PackedGeometry geometry = {kM, kC, kX, kY, false, true, dilated};
    std::vector<uint8_t> wanted(packed_weights_size(geometry));
    pack_weights(geometry, {nullptr, weights.data(), bias.data(), slopes.data()}, wanted.data());
    auto* const function = symbol<decltype(dmp_dv_pack_conv_weights)>(
        dilated ? "dmp_dv_pack_dil_weights" : "dmp_dv_pack_conv_weights");
    check_contract(
        [&](uint8_t* packed, size_t* size) {
          return function(kC, kX, kY, kM, nullptr, weights.data(), bias.data(), slopes.data(),
                          packed, size);
        },
        wanted);
    size_t size = 0;
    ck_assert_int_eq(function(kC, 8, kY, kM, nullptr, weights.data(), bias.data(), slopes.data(),
                              nullptr, &size),
                     -1);
  }
}

DVNN_TEST(fully_connected_layers_are_packed_as_their_contract_says) {
  const FcGeometry geometry = {2, 3, 1, 4, 1, 2, true};
  const size_t outputs = 8, inputs = 6;
  const auto table = numbers(256, 0), bias = numbers(outputs, 200);
  std::vector<uint8_t> weights(outputs * inputs);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(3 * i);
  const PackedGeometry flat = {static_cast<int>(outputs), static_cast<int>(inputs), 1, 1, true};
  std::vector<uint8_t> wanted(packed_fc_size(flat));
  pack_fc(geometry, {table.data(), weights.data(), bias.data(), nullptr}, wanted.data());
  auto* const function = symbol<decltype(dmp_dv_pack_fc_weights)>("dmp_dv_pack_fc_weights");
  check_contract(
      [&](uint8_t* packed, size_t* size) {
        return function(2, 3, 1, 4, 1, 2, table.data(), weights.data(), bias.data(), packed, size);
      },
      wanted);
}

DVNN_TEST(fully_connected_layers_have_vectors_of_limited_length) {
  // The device takes vectors of 16384 numbers at the most.
  constexpr int kMost = 16384;
  auto* const function = symbol<decltype(dmp_dv_pack_fc_weights)>("dmp_dv_pack_fc_weights");
  auto* const last_error =
      symbol<decltype(dmp_dv_get_last_error_message)>("dmp_dv_get_last_error_message");
  const std::vector<half_t> table(256), bias(kMost);
  size_t size = 0;
  const auto asked = [&](const std::array<int, 6>& d) {
    size = 0;
    return function(d[0], d[1], d[2], d[3], d[4], d[5], table.data(), nullptr, bias.data(), nullptr,
                    &size);
  };
  for (size_t i = 0; i < 6; ++i) {
    std::array<int, 6> dims = {1, 1, 1, 1, 1, 1};
    dims[i] = kMost;
    ck_assert_int_eq(asked(dims), 0);
    ck_assert_uint_gt(size, 0);
    for (const int bad : {0, -1, kMost + 1, INT_MAX}) {
      dims[i] = bad;
      ck_assert_int_eq(asked(dims), EINVAL);
      const std::string words = "dimension " + std::to_string(bad) + " is not 1..16384";
      ck_assert_msg(std::strstr(last_error(), words.c_str()), "%s", last_error());
    }
  }
  // Their product counts, of either side, and may be beyond 32 bits.
  for (const std::array<int, 6>& dims :
       {std::array<int, 6>{128, 128, 2, 1, 1, 1}, std::array<int, 6>{1, 1, 1, 2, 128, 128},
        std::array<int, 6>{2048, 2048, 1024, 1, 1, 1}}) {
    ck_assert_int_eq(asked(dims), EINVAL);
    ck_assert_msg(std::strstr(last_error(), "a vector exceeds 16384"), "%s", last_error());
  }
  ck_assert_int_eq(asked({128, 64, 2, 2, 64, 128}), 0);
}

}  // namespace dvnn::test::pack_weights_tests
