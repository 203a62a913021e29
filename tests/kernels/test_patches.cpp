// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/patches.h"

#include "kernels/inputs.h"

namespace dvnn::test::patches_tests {

DVNN_SUITE(patches);

DVNN_TEST(patches_are_those_of_the_plain_form) {
  constexpr size_t kStride = 37;
  const std::vector<float> pixels = test::seeded_floats(12 * kStride, 1, 0, 255);
  const std::vector<float> others = test::seeded_floats(12 * kStride, 2, 0, 255);
  const auto all = [&](const kernels::PatchPlace& from, const kernels::PatchPlace& to, auto sample,
                       auto match) {
    kernels::Patch patch;
    sample(from, &patch);
    std::vector<float> found(2);
    match(to, patch, &found[0], &found[1]);
    for (const float* part : {patch.values, patch.along_x, patch.along_y})
      found.insert(found.end(), part, part + kernels::kPatchFloats);
    return found;
  };
  for (const float right : {0.0f, 0.3f, 0.99f}) {
    for (const float below : {0.0f, 0.7f}) {
      const kernels::PatchPlace from{&pixels[kStride + 9], kStride, right, below};
      const kernels::PatchPlace to{&others[kStride + 11], kStride, below, right};
      const std::vector<float> wanted =
          all(from, to, kernels::plain::sample_patch, kernels::plain::match_patch);
      test::on_every_target([&](const char* target) {
        test::assert_same(target, all(from, to, kernels::sample_patch, kernels::match_patch),
                          wanted);
      });
    }
  }
}

// Of a plane the gradient is what it rises by, and where it is shifted, the sums tell by how much.
DVNN_TEST(a_plane_has_its_slope) {
  constexpr size_t kStride = 20;
  std::vector<float> plane(12 * kStride);
  for (size_t i = 0; i < plane.size(); ++i)
    plane[i] = 3 * static_cast<float>(i % kStride) + 5 * static_cast<float>(i / kStride);
  kernels::Patch patch;
  kernels::sample_patch({&plane[kStride + 2], kStride, 0.5f, 0.25f}, &patch);
  ck_assert_float_eq_tol(patch.values[0], 3 * 2.5f + 5 * 1.25f, 1e-4f);
  for (size_t k = 0; k < kernels::kPatchFloats; ++k) {
    ck_assert_float_eq_tol(patch.along_x[k], 3, 1e-4f);
    ck_assert_float_eq_tol(patch.along_y[k], 5, 1e-4f);
  }
  // What differs by the same everywhere is light.
  float x = 1, y = 1;
  kernels::match_patch({&plane[kStride + 3], kStride, 0.5f, 0.25f}, patch, &x, &y);
  ck_assert_float_eq_tol(x, 0, 1e-3f);
  ck_assert_float_eq_tol(y, 0, 1e-3f);
}

DVNN_TEST(differences_add_up_alike) {
  const std::vector<float> a = test::seeded_floats(70, 3, 0, 255);
  const std::vector<float> b = test::seeded_floats(70, 4, 0, 255);
  for (const size_t count : {0, 1, 7, 8, 9, 31, 64, 69}) {
    const std::vector<float> wanted{kernels::plain::sum_of_differences(a.data(), &b[1], count)};
    test::on_every_target([&](const char* target) {
      test::assert_same(
          target, std::vector<float>{kernels::sum_of_differences(a.data(), &b[1], count)}, wanted);
    });
  }
}

}  // namespace dvnn::test::patches_tests
