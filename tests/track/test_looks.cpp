// SPDX-License-Identifier: Apache-2.0
// What classes and looks tell beside places.
#include "check_suite.h"
#include "track/track_stream.h"

namespace dvnn::test::looks_tests {

DVNN_SUITE(track_looks);

using namespace dvnn::track;

DVNN_TEST(classes_do_not_mix) {
  Stream stream(times(200, 1000));
  stream.see(0, {at(100, 100, 0.9f, 1), at(110, 100, 0.9f, 2)});
  for (int i = 1; i < 5; ++i) {
    // Each stands where the other one was.
    stream.see(40 * i, {at(110, 100, 0.9f, 1), at(100, 100, 0.9f, 2)});
    ck_assert_uint_eq(stream.id(0), 1);
    ck_assert_uint_eq(stream.id(1), 2);
  }
}

DVNN_TEST(a_label_that_flips_takes_no_name) {
  // A detector that takes one van in three for a bus; in the end, it is one.
  Stream stream(times(200, 1000));
  for (int i = 0; i < 30; ++i) {
    stream.see(40 * i, {at(100 + 2 * i, 100, 0.9f, i % 3 == 2 ? 2 : 1)});
    ck_assert_uint_eq(stream.id(0), 1);
    ck_assert_int_eq(stream.tracker.track_of(0)->class_id, 1);
  }
  for (int i = 30; i < 60; ++i) stream.see(40 * i, {at(100 + 2 * i, 100, 0.9f, 2)});
  ck_assert_uint_eq(stream.id(0), 1);
  ck_assert_int_eq(stream.tracker.track_of(0)->class_id, 2);
}

DVNN_TEST(looks_tell_whom_places_do_not) {
  const float left[] = {4, 0, 0}, right[] = {0, 0.5f, 0};  // of any length
  for (bool known : {false, true}) {
    Stream stream(times(200, 2000));
    Detection a = at(100, 100), b = at(160, 100);
    if (known) {
      a.embedding = {left, 3};
      b.embedding = {right, 3};
    }
    for (int i = 0; i < 5; ++i) stream.see(40 * i, {a, b});
    for (int i = 5; i < 10; ++i) stream.see(40 * i, {});
    // They come back close to where the other one was.
    std::swap(a.box, b.box);
    a.box.x0 -= 25, a.box.x1 -= 25;
    b.box.x0 += 25, b.box.x1 += 25;
    stream.see(400, {a, b});
    ck_assert_uint_eq(stream.id(0), known ? 1 : 2);
    ck_assert_uint_eq(stream.id(1), known ? 2 : 1);
  }
}

// Hidden for a second, it appears at an unexpected place.
DVNN_TEST(looks_alone_find_what_went_elsewhere) {
  const float own[] = {4, 0, 0}, other[] = {0, 0.5f, 0};
  const struct {
    Span<const float> look;
    double x;
    bool same;
  } cases[] = {{own, 300, true}, {other, 300, false}, {{}, 300, false}, {own, 590, false}};
  for (const auto& c : cases) {
    Stream stream(times(200, 2000));
    Detection hides = at(100, 100), stays = at(20, 300);
    hides.embedding = own;
    stays.embedding = other;
    for (int i = 0; i < 20; ++i) stream.see(40 * i, {hides, stays});
    for (int i = 20; i < 45; ++i) stream.see(40 * i, {stays});
    Detection found = at(c.x, 100);
    found.embedding = c.look;
    stream.see(40 * 45, {found, stays});
    ck_assert_msg(stream.id(0) == (c.same ? 1 : 3), "at %g: %d", c.x,
                  static_cast<int>(stream.id(0)));
    ck_assert_uint_eq(stream.id(1), 2);
  }
}

}  // namespace dvnn::test::looks_tests
