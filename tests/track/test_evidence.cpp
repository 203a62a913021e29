// SPDX-License-Identifier: Apache-2.0
// What is believed to be there: the evidence that begins a track, and what classes and looks tell
// beside places.
#include "check_suite.h"
#include "track/track_stream.h"

namespace dvnn::test::evidence_tests {

DVNN_SUITE(track_evidence);

using namespace dvnn::track;

DVNN_TEST(tracks_are_confirmed_by_evidence_in_time) {
  // Each look of 0.9 has log-odds of 2.2, but looks within 40 ms say the same thing.
  const struct {
    double interval, confirmed;  // in ms
  } cases[] = {{5, 145}, {16, 144}, {40, 160}, {100, 400}, {300, 1200}};
  for (const auto& c : cases) {
    Stream stream(times(500, 1000, 10));
    for (double ms = 0; ms <= 1500; ms += c.interval) {
      stream.see(ms, {at(100, 100)});
      ck_assert_msg(stream.id(0) == (ms >= c.confirmed ? 1 : 0), "every %g ms, at %g", c.interval,
                    ms);
      ck_assert_uint_eq(stream.tracker.started().size(), ms == c.confirmed ? 1 : 0);
    }
  }
  // What the detector itself doubts is never one, however long it lasts.
  Settings settings = times(500, 1000, 4);
  settings.sure = 0.4f;
  settings.start = 0.5f;
  Stream doubted(settings);
  for (int i = 0; i < 100; ++i) {
    doubted.see(40 * i, {at(100, 100, i == 0 ? 0.55f : 0.45f)});
    ck_assert_uint_eq(doubted.id(0), 0);
  }
}

// Where all that is there gets 0.98, five looks of 0.7 are no evidence; elsewhere they are.
DVNN_TEST(doubts_of_a_detector_that_is_mostly_sure_begin_nothing) {
  for (const bool sure : {false, true}) {
    Stream stream(times(500, 1000, 4));
    for (int i = 0; i < 150; ++i) {
      std::vector<Detection> seen;
      for (int k = 0; k < 5; ++k) seen.push_back(at(100 * k, 300, sure ? 0.98f : 0.8f));
      if (i >= 140) seen.push_back(at(100, 50, 0.7f));
      stream.see(40 * i, seen);
    }
    ck_assert_uint_eq(stream.id(5), sure ? 0 : 6);
  }
}

// A setting that lets less than 0.5 begin a track means that the detector is sure at that score.
DVNN_TEST(a_detector_that_is_never_sure_is_believed_where_it_may_begin_tracks) {
  Settings settings = times(500, 1000, 4);
  settings.sure = settings.start = 0.3f;
  Stream stream(settings);
  for (int i = 0; i < 40; ++i) {
    std::vector<Detection> seen;
    for (int k = 0; k < 5; ++k) seen.push_back(at(100 * k, 300, 0.5f));
    // Later it is known that 0.5 is as sure as it gets.
    if (i >= 32) seen.push_back(at(100, 50, 0.5f));
    stream.see(40 * i, seen);
    ck_assert_uint_eq(stream.id(0), i < 4 ? 0 : 1);
    if (i >= 32) ck_assert_uint_eq(stream.id(5), i < 34 ? 0 : 6);
  }
}

// Three looks of 0.8 are enough, but not where things mostly flash up.
DVNN_TEST(where_most_starts_are_false_new_tracks_are_doubted) {
  for (const bool flashes : {false, true}) {
    Stream stream(times(200, 1000, 4));
    for (int i = 0; i < 60; ++i) {
      std::vector<Detection> seen;
      if (flashes && i % 2 == 0) seen.push_back(at(100 * (i % 7), 300, 0.8f));
      stream.see(100 * i, seen);
    }
    for (int i = 0; i < 3; ++i) stream.see(6000 + 100 * i, {at(100, 50, 0.8f)});
    ck_assert_uint_eq(stream.id(0), flashes ? 0 : 1);
    for (int i = 3; i < 5; ++i) stream.see(6000 + 100 * i, {at(100, 50, 0.8f)});
    ck_assert_uint_eq(stream.id(0), 1);
  }
}

DVNN_TEST(a_missed_look_is_evidence_against_a_new_track) {
  for (const bool missed : {false, true}) {
    Stream stream(times(500, 1000, 4));
    for (int i = 0; i < 4; ++i) {
      if (missed && i == 1)
        stream.see(40 * i, {});
      else
        stream.see(40 * i, {at(100, 100, 0.8f)});
    }
    // Three looks of 0.8, log-odds of 4.2, or four.
    ck_assert_uint_eq(stream.id(0), missed ? 0 : 1);
  }
}

DVNN_TEST(no_evidence_asked_for_is_at_once) {
  Stream stream(times(200, 1000, 0));
  for (int i = 0; i < 60; ++i) {
    stream.see(150 * i, {at(100 * (i % 7), 300 + 100 * (i % 3), 0.6f)});
    ck_assert_uint_ne(stream.id(0), 0);
  }
}

DVNN_TEST(tentative_tracks_end_after_their_probation) {
  for (double gap : {150.0, 250.0}) {
    Stream stream(times(200, 1000, kNever));
    stream.see(0, {at(100, 100)});
    for (double ms = 50; ms < gap; ms += 50) stream.see(ms, {});
    ck_assert_uint_eq(stream.tracker.tracks().size(), 1);
    stream.see(gap, {});
    ck_assert_uint_eq(stream.tracker.tracks().size(), gap > 200 ? 0 : 1);
    ck_assert_uint_eq(stream.tracker.ended().size(), 0);  // nobody was told that it began
  }
}

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

}  // namespace dvnn::test::evidence_tests
