// SPDX-License-Identifier: Apache-2.0
#include "image/view.h"

#include <cmath>
#include <cstdlib>

#include "check_suite.h"

namespace dvnn::test::view_tests {

DVNN_SUITE(view);

using namespace dvnn::image;

namespace {

double number() {
  return static_cast<double>(rand() % 2000 - 1000) / 100 + 0.005;
}

Transform random_transform() {
  Transform t;
  t.scale_x = number();
  t.scale_y = number();
  t.offset_x = number();
  t.offset_y = number();
  t.swap_xy = rand() % 2 != 0;
  return t;
}

// The same, or one that shears, too.
Transform random_affine() {
  Transform t = random_transform();
  if (rand() % 3 != 0) return t;
  t.swap_xy = false;
  t.shear_x = number();
  t.shear_y = number();
  return t;
}

void expect_near(double a, double b) {
  ck_assert_double_eq_tol(a, b, 1e-6 * std::max(1.0, std::fabs(b)));
}

}  // namespace

DVNN_TEST(the_way_back_undoes_the_way_there) {
  for (int i = 0; i < 1000; ++i) {
    const Transform t = random_affine();
    const double x = number(), y = number();
    double u = x, v = y;
    t.apply(&u, &v);
    t.invert(&u, &v);
    expect_near(u, x);
    expect_near(v, y);
  }
}

DVNN_TEST(a_changed_frame_leads_to_the_same_place_in_the_tensor) {
  for (int i = 0; i < 1000; ++i) {
    const Transform to_tensor = random_affine(), change = random_affine();
    const double x = number(), y = number();
    double direct_x = x, direct_y = y;
    to_tensor.apply(&direct_x, &direct_y);
    double u = x, v = y;
    change.apply(&u, &v);
    to_tensor.after(change).apply(&u, &v);
    expect_near(u, direct_x);
    expect_near(v, direct_y);
  }
}

DVNN_TEST(corners_stay_in_order) {
  for (int i = 0; i < 1000; ++i) {
    const Transform t = random_transform();
    const Corners c = t.apply(Corners{1, 2, 3, 4});
    ck_assert(c.x0 <= c.x1 && c.y0 <= c.y1);
    const Corners back = t.invert(c);
    expect_near(back.x0, 1);
    expect_near(back.y1, 4);
  }
}

DVNN_TEST(orientations_and_flips_are_each_others_names) {
  for (int i = 0; i <= static_cast<int>(Orientation::kAnti); ++i) {
    const auto o = static_cast<Orientation>(i);
    ck_assert(orientation_of(axis_flips(o)) == o);
  }
}

DVNN_TEST(a_view_follows_scaling_and_cropping) {
  View view;
  view.region = {0.5, 0, 0.5, 1};
  Transform half;
  half.scale_x = half.scale_y = 0.5;
  ck_assert(view.follow(half, {640, 480}, {320, 240}));
  ck_assert((view.region == RelativeRect{0.5, 0, 0.5, 1}));
  // 100 pixels of 320 are cut off on the left: the region began at 160.
  Transform crop;
  crop.offset_x = -100;
  ck_assert(view.follow(crop, {320, 240}, {220, 240}));
  expect_near(view.region.x, 60.0 / 220);
  expect_near(view.region.width, 160.0 / 220);
  // Nothing is left of it.
  crop.offset_x = -220;
  ck_assert(!view.follow(crop, {220, 240}, {10, 240}));
}

DVNN_TEST(all_of_a_frame_stays_all_of_it) {
  View view;
  Transform crop;
  crop.offset_x = -10;
  ck_assert(view.follow(crop, {100, 100}, {50, 100}));
  ck_assert(view.region == RelativeRect{});
}

DVNN_TEST(what_is_beyond_a_frame_stays_beyond_it) {
  View view;
  view.region = {-0.25, 0.25, 1, 1};
  Transform crop;  // its upper left quarter
  ck_assert(view.follow(crop, {200, 100}, {100, 50}));
  ck_assert(!(view.region == RelativeRect{}));
  ck_assert_double_eq_tol(view.region.x, -0.5, 1e-12);
  ck_assert_double_eq_tol(view.region.width, 2, 1e-12);
  // It begins where the quarter ends.
  View below = view;
  below.region = {-0.25, 0.5, 1, 0.75};
  ck_assert(!below.follow(crop, {200, 100}, {100, 50}));
}

DVNN_TEST(a_turned_frame_is_looked_at_the_other_way) {
  // The frame is turned upright upstream: the view need not turn it any more.
  View view;
  view.orientation = Orientation::k90;
  Transform turn;  // clockwise: new x comes of old y, backwards; new y of old x
  turn.swap_xy = true;
  turn.scale_x = -1;
  turn.offset_x = 480;
  ck_assert(view.follow(turn, {640, 480}, {480, 640}));
  ck_assert(view.orientation == Orientation::kIdentity);
}

DVNN_TEST(pads_of_a_colour_are_as_the_network_has_its_channels) {
  View view;
  view.pad_color = 0x102030;
  dvnn::InputSpec input;
  input.pad_value = {{1, 2, 3}};
  auto pads = [&](dvnn::ChannelOrder order) {
    input.order = order;
    return view.apply(input).pad_value;
  };
  using Pads = std::array<uint8_t, 3>;
  ck_assert(pads(dvnn::ChannelOrder::kRgb) == (Pads{{16, 32, 48}}));
  ck_assert(pads(dvnn::ChannelOrder::kBgr) == (Pads{{48, 32, 16}}));
  // 0.299 * 16 + 0.587 * 32 + 0.114 * 48 = 29.04
  ck_assert_uint_eq(pads(dvnn::ChannelOrder::kGray)[0], 29);
  view.pad_color.reset();
  ck_assert(pads(dvnn::ChannelOrder::kGray) == input.pad_value);
}

DVNN_TEST(a_slanted_view_follows_scaling_and_cropping) {
  View view;
  view.slant = Slant{0.25, 0.2, 0.75, 0.2, 0.25, 0.8};
  // 100 x 80 pixels from (50, 10) on, twice as large.
  Transform change;
  change.scale_x = change.scale_y = 2;
  change.offset_x = -100, change.offset_y = -20;
  ck_assert(view.follow(change, {200, 100}, {200, 160}));
  ck_assert(*view.slant == (Slant{0, 0.125, 1, 0.125, 0, 0.875}));
  change.scale_x = 0;  // nothing is left of it
  ck_assert(!view.follow(change, {200, 160}, {200, 160}));
}

DVNN_TEST(slants_are_alike_if_all_corners_are) {
  const Slant slant = {0.1, 0.2, 0.8, 0.3, 0.2, 0.9};
  ck_assert(slant == Slant(slant));
  for (double Slant::*member :
       {&Slant::x0, &Slant::y0, &Slant::x1, &Slant::y1, &Slant::x2, &Slant::y2}) {
    Slant other = slant;
    other.*member += 0.01;
    ck_assert(!(slant == other));
    View view, moved;
    view.slant = slant, moved.slant = other;
    ck_assert(!(view == moved) && view == View(view));
  }
}

}  // namespace dvnn::test::view_tests
