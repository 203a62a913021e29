// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check_suite.h"
#include "objects/label_file.h"
#include "objects/object.h"
#include "objects/skeletons.h"

namespace dvnn::test::objects_tests {

DVNN_SUITE(objects);

using namespace dvnn::objects;

static Object object(double x0, double y0, double x1, double y1, int class_id = 0) {
  Object o;
  o.class_id = class_id;
  o.box = {x0, y0, x1, y1};
  return o;
}

DVNN_TEST(labels_are_looked_up_by_class) {
  const std::vector<std::string> labels = {"background", "red"};
  Objects found = {object(0, 0, 1, 1, 1), object(0, 0, 1, 1, 2), object(0, 0, 1, 1, -1)};
  set_labels(labels, &found);
  ck_assert_str_eq(found[0].label.c_str(), "red");
  ck_assert_str_eq(found[1].label.c_str(), "class 2");
  ck_assert_str_eq(found[2].label.c_str(), "class -1");
}

DVNN_TEST(boxes_go_back_through_the_transform) {
  // A 640x480 frame in a 320x320 input, letterboxed: half as large, 40 rows of border above.
  FrameMap map;
  map.transform = {0.5, 0, 0.5, 40, false};
  map.input = {320, 320};
  Objects found = {object(0.25, 0.5, 0.5, 0.75)};
  map_to_frame(map, &found);
  ck_assert_double_eq_tol(found[0].box.x0, 160, 1e-9);
  ck_assert_double_eq_tol(found[0].box.y0, 240, 1e-9);
  ck_assert_double_eq_tol(found[0].box.x1, 320, 1e-9);
  ck_assert_double_eq_tol(found[0].box.y1, 400, 1e-9);
}

DVNN_TEST(a_turned_input_swaps_the_axes_of_boxes) {
  // The frame is 100x50, the input 50x100 and a quarter turn away: input x comes of frame y.
  FrameMap map;
  map.transform = {-1, 50, 1, 0, true};
  map.input = {50, 100};
  map.clip = image::Corners{0, 0, 100, 50};
  Objects found = {object(0.8, 0, 1, 0.1)};
  map_to_frame(map, &found);
  ck_assert_double_eq_tol(found[0].box.x0, 0, 1e-9);
  ck_assert_double_eq_tol(found[0].box.x1, 10, 1e-9);
  ck_assert_double_eq_tol(found[0].box.y0, 0, 1e-9);
  ck_assert_double_eq_tol(found[0].box.y1, 10, 1e-9);
}

DVNN_TEST(what_lies_beyond_the_frame_is_cut_or_dropped) {
  FrameMap map;
  map.input = {100, 100};
  map.clip = image::Corners{0, 0, 100, 80};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Objects found = {object(0, 0.9, 1, 1, 1),       object(-1, -1, 0.5, 0.5, 2),
                   object(nan, 0, 1, 1, 3),       object(0, 0, 1, nan, 4),
                   object(0.5, 0.5, 0.5, 0.6, 5), object(-1e300, -1e300, 1e300, 1e300, 6)};
  map_to_frame(map, &found);
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 2);
  ck_assert(found[0].box.x0 == 0 && found[0].box.y0 == 0);
  ck_assert(found[0].box.x1 == 50 && found[0].box.y1 == 50);
  ck_assert_int_eq(found[1].class_id, 6);
  ck_assert(found[1].box.x1 == 100 && found[1].box.y1 == 80);
}

DVNN_TEST(without_a_frame_nothing_is_cut) {
  FrameMap map;
  map.input = {100, 100};
  Objects found = {object(-1, -1, 2, 2), object(3, 3, 3, 3)};
  map_to_frame(map, &found);
  ck_assert_uint_eq(found.size(), 2);
  ck_assert(found[0].box.x0 == -100 && found[0].box.y1 == 200);
}

DVNN_TEST(masks_turn_back_with_the_frame) {
  // Each orientation: a cell is found again where its place in the frame is.
  for (int which = 0; which < 8; ++which) {
    FrameMap map;
    map.input = {3, 2};
    map.transform.swap_xy = which & 1;
    map.transform.scale_x = which & 2 ? -1 : 1;
    map.transform.offset_x = which & 2 ? 3 : 0;
    map.transform.scale_y = which & 4 ? -1 : 1;
    map.transform.offset_y = which & 4 ? 2 : 0;
    Objects found;
    found.add();
    found[0].mask = {{0, 0, 1, 1}, 3, 2, {0, 1, 2, 3, 4, 5}};
    map_to_frame(map, &found);
    const Mask& mask = found[0].mask;
    ck_assert_int_eq(mask.width, which & 1 ? 2 : 3);
    ck_assert_int_eq(mask.height, which & 1 ? 3 : 2);
    ck_assert_double_eq(mask.place.x1 - mask.place.x0, mask.width);
    for (int cell = 0; cell < 6; ++cell) {
      double x = cell % 3 + 0.5, y = cell / 3 + 0.5;
      map.transform.invert(&x, &y);
      const auto place = static_cast<size_t>(std::floor(y) * mask.width + std::floor(x));
      ck_assert_msg(mask.cells[place] == cell, "orientation %d, cell %d", which, cell);
    }
  }
}

DVNN_TEST(objects_leave_their_memory_to_others) {
  Objects found;
  for (int i = 0; i < 3; ++i) {
    found.add().points.resize(100);
    found.back().confidence = static_cast<float>(i);
    found.back().label = "that of before";
    found.back().mask.width = 7;
    found.back().track_id = 7;
  }
  const Point* memory = found[2].points.data();
  found.remove_if([](const Object& object) { return object.confidence < 2; });
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_ptr_eq(found[0].points.data(), memory);
  found.clear();
  for (int i = 0; i < 3; ++i) {
    Object& object = found.add();
    ck_assert(object.points.empty() && object.label.empty() && object.confidence == 0);
    ck_assert(object.mask.width == 0 && object.track_id == 0);
    ck_assert_uint_ge(object.points.capacity(), 100);
  }
}

DVNN_TEST(rows_are_sorted_and_joined) {
  Objects found, more;
  const float sure[] = {9, 0.1f, 0.5f, 0.9f, 0.5f, 0.1f, 0.7f};
  for (int i = 0; i < 7; ++i) {
    found.add().confidence = sure[i];
    found.back().class_id = i;
  }
  found.sort_from(1);
  const int wanted[] = {0, 3, 6, 2, 4, 1, 5};
  for (size_t i = 0; i < 7; ++i) ck_assert_int_eq(found[i].class_id, wanted[i]);
  more.add().class_id = 7;
  more.take(&found);
  ck_assert(found.empty() && more.size() == 8);
  ck_assert(more[0].class_id == 7 && more[1].class_id == 0 && more[7].class_id == 5);
}

DVNN_TEST(a_mask_without_its_cells_stays_as_it_is) {
  FrameMap map;
  map.input = {100, 100};
  map.transform.scale_x = -1;
  Objects found;
  found.add();
  found[0].mask = {{0, 0, 1, 1}, 30, 20, {1, 2, 3}};
  map_to_frame(map, &found);
  ck_assert_uint_eq(found[0].mask.cells.size(), 3);
}

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

namespace {

class LabelFile {
 public:
  explicit LabelFile(const std::string& text) {
    ck_assert_ptr_nonnull(mkdtemp(folder_.data()));
    std::ofstream(path(), std::ios::binary) << text;
  }
  ~LabelFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/labels.txt"; }

 private:
  std::string folder_ = "/tmp/dvnn-labels-XXXXXX";
};

std::vector<std::string> labels_of(const std::string& text) {
  const LabelFile file(text);
  const auto labels = objects::read_labels(file.path());
  ck_assert_msg(labels.ok(), "%s", labels.ok() ? "" : labels.error().message.c_str());
  return labels.value();
}

void expect_refused(const std::string& text, const std::string& why) {
  const LabelFile file(text);
  const auto labels = objects::read_labels(file.path());
  ck_assert(!labels.ok());
  const std::string wanted = "'" + file.path() + "'" + why;
  ck_assert_str_eq(labels.error().message.c_str(), wanted.c_str());
}

}  // namespace

DVNN_TEST(a_line_is_a_label) {
  using Labels = std::vector<std::string>;
  ck_assert(labels_of("one\ntwo") == (Labels{"one", "two"}));
  ck_assert(labels_of("\xef\xbb\xbfone\r\n\r\nK\xc3\xa4se, large\r\n") ==
            (Labels{"one", "", "K\xc3\xa4se, large"}));
  ck_assert(labels_of(std::string(1024, 'x')) == Labels{std::string(1024, 'x')});
  ck_assert_uint_eq(labels_of(std::string(65536, '\n')).size(), 65536);
}

// A network's weights, given as its labels, were names of question marks.
DVNN_TEST(what_is_no_text_is_refused_with_its_line) {
  expect_refused("", " has no labels");
  const std::string tail = "; a label is a line of text";
  expect_refused("one\ntwo\n\xff\xfe\n", ", line 3: it is no UTF-8 text" + tail);
  expect_refused("one\nK\xe4se\n", ", line 2: it is no UTF-8 text" + tail);
  const std::string marks =
      ": it has a control character, a tab, or a mark of the direction of writing" + tail;
  expect_refused(std::string("a\0b\n", 4), ", line 1" + marks);
  expect_refused("0\tperson\n", ", line 1" + marks);
  expect_refused("one\n\x1b[31mred\n", ", line 2" + marks);
  expect_refused(
      "one\ntwo\n\xe2\x80\xae"
      "eerht\n",
      ", line 3" + marks);
  expect_refused("\n" + std::string(1025, 'x'), ", line 2: it has more than 1024 bytes" + tail);
  expect_refused(std::string(65537, '\n'), " has more than 65536 labels");
}

}  // namespace dvnn::test::objects_tests
