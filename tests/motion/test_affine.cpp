// SPDX-License-Identifier: Apache-2.0
#include "motion/affine.h"

#include <cmath>

#include "check_suite.h"

namespace dvnn::test::affine_tests {

DVNN_SUITE(motion_affine);

using motion::Affine;

DVNN_TEST(a_motion_and_its_inverse_leave_all_as_it_was) {
  const Affine map{1.1, -0.2, 30, 0.3, 0.9, -7};
  const Affine both = map.then(map.inverse());
  for (const auto& [x, y] : {std::pair{0.0, 0.0}, {100.0, 3.0}, {-5.0, 900.0}}) {
    double to_x = x, to_y = y;
    both.apply(&to_x, &to_y);
    ck_assert_double_eq_tol(to_x, x, 1e-9);
    ck_assert_double_eq_tol(to_y, y, 1e-9);
  }
}

DVNN_TEST(one_motion_after_another_is_both) {
  const Affine turn{0, -1, 0, 1, 0, 0}, shift{1, 0, 10, 0, 1, 20};
  double x = 3, y = 4;
  turn.then(shift).apply(&x, &y);  // to (-4, 3), and on
  ck_assert_double_eq(x, 6);
  ck_assert_double_eq(y, 23);
  x = 3, y = 4;
  shift.then(turn).apply(&x, &y);
  ck_assert_double_eq(x, -24);
  ck_assert_double_eq(y, 13);
}

DVNN_TEST(boxes_grow_around_their_middles_and_stay_upright) {
  const Affine zoom{0, -2, 100, 2, 0, 0};  // a quarter turn, twice as large
  const image::Corners box = zoom.apply(image::Corners{10, 20, 30, 60});
  ck_assert_double_eq(box.x0, 100 - 80 - 20);
  ck_assert_double_eq(box.x1, 100 - 80 + 20);
  ck_assert_double_eq(box.y0, 40 - 40);
  ck_assert_double_eq(box.y1, 40 + 40);
}

DVNN_TEST(what_no_camera_does_is_not_plausible) {
  ck_assert(Affine().is_plausible() && Affine().is_identity());
  ck_assert(!(Affine{0, 0, 0, 0, 0, 0}).is_plausible());
  ck_assert(!(Affine{-1, 0, 0, 0, 1, 0}).is_plausible());  // a mirror
  ck_assert(!(Affine{1, 0, std::nan(""), 0, 1, 0}).is_plausible());
}

}  // namespace dvnn::test::affine_tests
