// SPDX-License-Identifier: Apache-2.0
#include "objects/skeletons.h"

#include <utility>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::skeletons_tests {

DVNN_SUITE(skeletons);

using dvnn::objects::find_skeleton;
using dvnn::objects::Skeleton;

DVNN_TEST(edges_and_names_are_of_points_that_the_set_has) {
  ck_assert_uint_eq(dvnn::objects::skeleton_names().size(), 8);
  for (const std::string& name : dvnn::objects::skeleton_names()) {
    const Skeleton* set = find_skeleton(name);
    ck_assert_ptr_nonnull(set);
    for (const auto& edge : set->edges) {
      ck_assert_int_lt(edge.from, set->count);
      ck_assert_int_lt(edge.to, set->count);
      ck_assert_int_ne(edge.from, edge.to);
    }
    if (!set->points.empty()) ck_assert_uint_eq(set->points.size(), set->count);
  }
}

// A face's lines are its contours: none of them forks, and rings are closed.
DVNN_TEST(contours_of_faces_do_not_fork) {
  // How many lines have ends: in 68 points jaw, brows, the ridge of the nose and its wings; brows
  // of 98 and 106 points are rings; 468 have two lines for each brow. Lips and eyes are rings in
  // all.
  const std::pair<const char*, int> kOpen[] = {
      {"face-68", 5}, {"face-98", 3}, {"face-106", 3}, {"face-468", 4}};
  for (const auto& [name, open] : kOpen) {
    const Skeleton* set = find_skeleton(name);
    ck_assert_ptr_nonnull(set);
    std::vector<int> lines(set->count, 0);
    for (const auto& edge : set->edges) {
      ++lines[static_cast<size_t>(edge.from)];
      ++lines[static_cast<size_t>(edge.to)];
    }
    int ends = 0;
    for (int count : lines) {
      ck_assert_int_le(count, 2);
      ends += count == 1;
    }
    ck_assert_msg(ends == 2 * open, "%s: %d ends", name, ends);
  }
}

DVNN_TEST(points_have_names_where_the_set_names_them) {
  const Skeleton* coco = find_skeleton("coco-17");
  ck_assert_uint_eq(coco->points.size(), 17);
  dvnn_assert_text(coco->points[9], "left wrist");
  ck_assert(find_skeleton("face-68")->points.empty());
  dvnn_assert_text(find_skeleton("hand-21")->points[8], "index finger tip");
  ck_assert_ptr_null(find_skeleton("coco-18"));
}

}  // namespace dvnn::test::skeletons_tests
