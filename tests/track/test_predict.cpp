// SPDX-License-Identifier: Apache-2.0
// What a tracker shows in frames that were not inferred.
#include <algorithm>
#include <cmath>

#include "check_suite.h"
#include "track/track_stream.h"
#include "track/tracker.h"

namespace dvnn::test::predict_tests {

DVNN_SUITE(track_predict);

using namespace dvnn::track;

DVNN_TEST(frames_without_inference_have_predicted_boxes) {
  Stream stream(times(200, 1000));
  for (int i = 0; i <= 25; ++i) stream.see(40 * i, {at(100 + 4 * i, 100)});
  for (int i = 26; i <= 30; ++i) {
    stream.skip(40 * i);
    ck_assert_uint_eq(stream.tracker.predicted().size(), 1);
    const Tracker::Predicted& predicted = stream.tracker.predicted()[0];
    ck_assert_uint_eq(predicted.track->id, 1);
    ck_assert_double_eq_tol(predicted.box.x0, 100 + 4 * i, 4);
    ck_assert_double_eq_tol(predicted.box.y1, 180, 2);
  }
  // What the network looks for in vain is not there, as long as it is not known to blink.
  stream.see(40 * 31, {});
  ck_assert_uint_eq(stream.tracker.predicted().size(), 0);
  stream.skip(40 * 32);
  ck_assert_uint_eq(stream.tracker.predicted().size(), 0);
}

DVNN_TEST(networks_that_blink_are_known_to) {
  Stream stream(times(200, 1000));
  const auto look = [&](int i, bool seen) {
    std::vector<Detection> found;
    if (seen) found.push_back(at(100, 100));
    stream.see(40 * i, found);
  };
  int i = 0;
  for (; i < 99; ++i) look(i, i % 5 != 4);
  // It has mostly come back at once: it is shown for one look, and no longer.
  look(i++, false);
  ck_assert_uint_eq(stream.tracker.predicted().size(), 1);
  look(i++, false);
  ck_assert_uint_eq(stream.tracker.predicted().size(), 0);
  // If it mostly does not, no more.
  for (int k = 0; k < 100; ++k) look(i++, k % 5 < 2);
  look(i++, true);
  look(i++, false);
  ck_assert_uint_eq(stream.tracker.predicted().size(), 0);
}

DVNN_TEST(tentative_tracks_are_not_predicted) {
  Stream stream(times(200, 1000, kNever));
  stream.see(0, {at(100, 100)});
  stream.skip(40);
  ck_assert_uint_eq(stream.tracker.predicted().size(), 0);
}

DVNN_TEST(a_look_that_misses_a_new_track_speaks_against_it) {
  // What was seen only once is no slip of the network where the second look does not show it.
  Stream confirmed(times(200, 1000));
  confirmed.see(0, {at(300, 100)});
  confirmed.skip(120);
  ck_assert_uint_eq(confirmed.tracker.predicted().size(), 1);
  confirmed.see(160, {});
  ck_assert_uint_eq(confirmed.tracker.predicted().size(), 0);
  confirmed.skip(200);
  ck_assert_uint_eq(confirmed.tracker.predicted().size(), 0);
}

DVNN_TEST(who_was_seen_once_is_not_shown_for_long) {
  // It may go anywhere, at a pace. Who was seen twice goes on.
  for (const bool twice : {false, true}) {
    Stream stream(times(200, 5000));
    stream.see(0, {at(300, 100)});
    if (twice) stream.see(1, {at(300, 100)});
    stream.skip(80);
    ck_assert_uint_eq(stream.tracker.predicted().size(), 1);
    stream.skip(1000);
    ck_assert_uint_eq(stream.tracker.predicted().size(), twice ? 1 : 0);
  }
}

DVNN_TEST(who_comes_in_goes_on_as_others_did) {
  // 100 pixels per second, over each of the edges, looked at five times a second.
  for (int edge = 0; edge < 4; ++edge) {
    Stream stream(times(200, 2000));
    const auto shown = [&](double way) {
      Detection detection = at(300, 200);
      image::Corners& box = detection.box;
      if (edge == 0) box.x1 = way, box.x0 = std::max(0.0, way - 40);
      if (edge == 1) box.x0 = 640 - way, box.x1 = std::min(640.0, 680 - way);
      if (edge == 2) box.y1 = way, box.y0 = std::max(0.0, way - 80);
      if (edge == 3) box.y0 = 480 - way, box.y1 = std::min(480.0, 560 - way);
      return detection;
    };
    double ms = 0, off = 0;
    for (int who = 0; who < 20; ++who) {
      for (double way = 25; way <= 265; way += 20, ms += 200) {
        stream.see(ms, {shown(way)});
        if (way > 25) continue;
        stream.skip(ms + 100);
        ck_assert_uint_eq(stream.tracker.predicted().size(), 1);
        const image::Corners box = stream.tracker.predicted()[0].box, true_box = shown(35).box;
        off = edge < 2 ? std::abs(box.x0 + box.x1 - true_box.x0 - true_box.x1)
                       : std::abs(box.y0 + box.y1 - true_box.y0 - true_box.y1);
      }
      ms += 5000;
      stream.see(ms - 200, {});
    }
    // Both edges together would be off by a way of 10 if it stood still, or more.
    ck_assert_double_le(off, 5);
  }
}

DVNN_TEST(who_walks_behind_others_is_not_shown) {
  // Somebody large stands in front of a way, or behind it.
  for (const bool in_front : {true, false}) {
    Detection other;
    other.box = {280, in_front ? 90.0 : 60.0, 400, in_front ? 300.0 : 179.0};
    other.confidence = 0.9f;
    Stream stream(times(200, 5000));
    for (int i = 0; i <= 20; ++i) stream.see(40 * i, {at(140 + 4 * i, 100), other});
    int covered = 0;
    for (int i = 21; i <= 40; ++i) {
      stream.skip(40 * i);
      covered += stream.tracker.predicted().size() == 1;
      ck_assert_uint_eq(stream.tracker.predicted().back().track->id, 2);
    }
    ck_assert_int_eq(covered > 0, in_front);
  }
}

DVNN_TEST(lost_boxes_coast_as_long_as_asked) {
  Settings settings = times(200, 1000);
  settings.coast = 300 * kMillisecond;
  Stream stream(settings);
  stream.see(0, {at(100, 100)});
  for (int ms = 100; ms <= 600; ms += 100) {
    stream.see(ms, {});
    ck_assert_uint_eq(stream.tracker.predicted().size(), ms <= 300 ? 1 : 0);
  }
}

}  // namespace dvnn::test::predict_tests
