// SPDX-License-Identifier: Apache-2.0
#include "track/tracker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check_suite.h"
#include "track/track_stream.h"

namespace dvnn::test::tracker_tests {

DVNN_SUITE(track_tracker);

using namespace dvnn::track;

// One detection may be of two: of the one in front, which was seen all the time, rather than of the
// one behind it, which may be anywhere by now.
DVNN_TEST(what_was_seen_all_the_time_keeps_its_detection) {
  Stream stream(times(200, 2000));
  for (int i = 0; i < 30; ++i) stream.see(40 * i, {at(100, 100), at(112, 100)});
  for (int i = 30; i < 50; ++i) stream.see(40 * i, {at(100, 100)});
  stream.see(40 * 50, {at(105, 100)});
  ck_assert_uint_eq(stream.id(0), 1);
  // Both are seen again.
  stream.see(40 * 51, {at(100, 100), at(112, 100)});
  ck_assert_uint_eq(stream.id(0), 1);
  ck_assert_uint_eq(stream.id(1), 2);
}

DVNN_TEST(lost_tracks_are_found_again_until_they_end) {
  for (double gap : {900.0, 1100.0}) {
    Stream stream(times(200, 1000));
    stream.see(0, {at(100, 100)});
    ck_assert_uint_eq(stream.id(0), 1);
    bool ended = false;
    for (double ms = 100; ms < gap; ms += 100) {
      stream.see(ms, {});
      ck_assert(stream.tracker.tracks()[0]->state == State::kLost);
    }
    stream.see(gap + 50, {});
    ended = !stream.tracker.ended().empty();
    ck_assert_int_eq(ended, gap > 1000);
    if (ended) {
      const Track& track = *stream.tracker.ended()[0];
      ck_assert(track.state == State::kEnded && track.id == 1);
      ck_assert_int_eq(track.seen, 0);
    }
    stream.see(gap + 60, {at(100, 100)});
    ck_assert_uint_eq(stream.id(0), ended ? 2 : 1);
  }
}

DVNN_TEST(slow_streams_keep_their_tracks) {
  // A frame every ten seconds: more than every setting, and yet the next frame.
  Stream stream;
  for (int i = 0; i < 5; ++i) stream.see(10000.0 * i, {at(100 + 2 * i, 100)});
  ck_assert_uint_eq(stream.id(0), 1);
}

DVNN_TEST(weak_detections_keep_tracks_and_begin_none) {
  Stream stream(times(200, 1000));
  stream.see(0, {at(300, 100, 0.3f)});
  ck_assert_uint_eq(stream.tracker.tracks().size(), 0);
  stream.see(40, {at(100, 100, 0.9f)});
  stream.see(80, {at(102, 100, 0.3f)});
  ck_assert_uint_eq(stream.id(0), 1);
  stream.see(120, {at(104, 100, 0.05f)});  // less than `weak`
  ck_assert_uint_eq(stream.id(0), 0);
  stream.see(160, {at(106, 100, 0.3f)});  // does not bring a lost one back
  ck_assert_uint_eq(stream.id(0), 0);
  stream.see(200, {at(108, 100, 0.9f)});
  ck_assert_uint_eq(stream.id(0), 1);
}

DVNN_TEST(boxes_beyond_the_frame_keep_their_tracks) {
  // Feet below the frame, as detectors that guess what is hidden give them.
  Stream stream(times(200, 2000));
  for (int i = 0; i < 60; ++i) {
    Detection walks = at(100 + 3 * i, 430), comes = at(300, 200 + 5 * i);
    stream.see(40 * i, {walks, comes});
    ck_assert_uint_eq(stream.id(0), 1);
    if (comes.box.y0 < 470) ck_assert_uint_eq(stream.id(1), 2);
    if (i > 10) ck_assert_double_eq_tol(stream.tracker.smoothed(0).y1, walks.box.y1, 3);
  }
}

DVNN_TEST(what_comes_near_keeps_its_name_and_size) {
  // Twice as large each second, at ten frames a second.
  Stream stream(times(200, 1000));
  for (int i = 0; i < 25; ++i) {
    const double half = 12 * std::exp2(0.1 * i);
    Detection car;
    car.box = {320 - 1.4 * half, 240 - half, 320 + 1.4 * half, 240 + half};
    stream.see(100 * i, {car});
    ck_assert_uint_eq(stream.id(0), 1);
  }
}

// The box behind the one that vanishes is lower by a quarter: in a class of constant heights no
// object shrinks that fast, however much the boxes overlap.
DVNN_TEST(who_was_hidden_does_not_take_the_name_of_who_hides) {
  Stream stream(times(200, 1000));
  const Detection front = at(300, 200);
  Detection behind = front;
  behind.box = {305, 207, 335, 266};
  for (int i = 0; i < 40; ++i) stream.see(40 * i, {front});
  const uint64_t name = stream.id(0);
  stream.see(40 * 40, {behind});
  ck_assert_uint_ne(stream.id(0), name);
  stream.see(40 * 41, {behind, front});
  ck_assert_uint_eq(stream.id(1), name);
}

DVNN_TEST(crossing_ways_keep_their_names) {
  Stream stream(times(200, 1000));
  for (int i = 0; i <= 50; ++i) {
    const double left = 100 + 4 * i, right = 300 - 4 * i;
    // In the middle only one of them is seen.
    if (std::fabs(left - right) < 25) {
      stream.see(40 * i, {at(left, 100)});
      continue;
    }
    stream.see(40 * i, {at(left, 100), at(right, 108)});
    ck_assert_uint_eq(stream.id(0), 1);
    ck_assert_uint_eq(stream.id(1), 2);
  }
}

DVNN_TEST(what_is_found_again_has_its_new_speed) {
  // Hidden, it turns around. Its way since it was last seen, 12 pixels to the left in 640 ms, is
  // all that is known of its speed: one step of the filter would make 26 pixels per second of it.
  Stream stream(times(200, 2000));
  for (int i = 0; i < 25; ++i) stream.see(40 * i, {at(100 + 2 * i, 100)});
  for (int i = 25; i < 40; ++i) stream.see(40 * i, {});
  const Time found = 40 * 40;
  stream.see(found, {at(136, 100)});
  ck_assert_uint_eq(stream.id(0), 1);
  ck_assert_double_eq_tol(stream.tracker.track_of(0)->filter.speed_x(), -12 / 0.64, 3.5);
}

DVNN_TEST(jumps_end_tracks) {
  const struct {
    const char* what;
    double ms;
    bool jumps;
  } cases[] = {{"the next frame", 1040, false},
               {"a short gap", 2500, false},
               {"a long gap", 9000, true},
               {"back in time", 500, true}};
  for (const auto& c : cases) {
    Stream stream;
    for (int i = 0; i <= 25; ++i) stream.see(40 * i, {at(100, 100)});
    ck_assert_uint_eq(stream.id(0), 1);
    stream.see(c.ms, {at(100, 100)});
    ck_assert_msg(stream.tracker.ended().size() == (c.jumps ? 1 : 0), "%s", c.what);
    for (int i = 1; i <= 5; ++i) stream.see(c.ms + 40 * i, {at(100, 100)});
    ck_assert_msg(stream.id(0) == (c.jumps ? 2 : 1), "%s", c.what);
  }
  Stream stream(times(200, 1000));
  stream.see(0, {at(100, 100)});
  stream.tracker.reset();
  ck_assert_uint_eq(stream.tracker.ended().size(), 1);
  ck_assert_uint_eq(stream.tracker.tracks().size(), 0);
  stream.see(10, {at(100, 100)});
  ck_assert_uint_eq(stream.id(0), 2);  // names are not given twice
}

// As streams of a frame a minute, they jump once, and then that is their interval. Four times such
// a gap is more nanoseconds than a number holds.
DVNN_TEST(frames_may_be_a_century_apart) {
  constexpr uint64_t kIds[] = {1, 2, 2};
  Stream stream(times(500, 1000, 0));
  for (int i = 0; i < 3; ++i) {
    stream.see(4e12 * i, {at(100, 100)});
    ck_assert_uint_eq(stream.id(0), kIds[i]);
  }
}

DVNN_TEST(what_leaves_the_frame_is_gone) {
  Stream stream(times(200, 5000));
  double x = 500;
  int frame = 0;
  for (; x + 40 <= kFrame.width; ++frame, x += 10) stream.see(40 * frame, {at(x, 100)});
  bool seen = true;
  int last = frame;
  for (; frame < last + 40; ++frame) {
    stream.skip(40 * frame);
    const auto& predicted = stream.tracker.predicted();
    ck_assert_msg(seen || predicted.empty(), "it comes back");
    seen = !predicted.empty();
    if (seen) ck_assert_double_le(predicted[0].box.x1, kFrame.width);
  }
  ck_assert(!seen);
  // An inferred frame without it ends it, long before `lost`.
  stream.see(40 * frame, {});
  ck_assert_uint_eq(stream.tracker.ended().size(), 1);
}

// Only what the frame shows of somebody.
Detection cut(double x, double y) {
  Detection detection = at(x, y);
  detection.box.x0 = std::max(detection.box.x0, 0.0);
  detection.box.x1 = std::min(detection.box.x1, kFrame.width);
  return detection;
}

DVNN_TEST(who_leaves_keeps_speed_and_size) {
  for (const bool right : {true, false}) {
    Stream stream;
    const double speed = right ? 4 : -4;
    const auto x = [&](int frame) { return (right ? 500 : 100) + speed * frame; };
    for (int frame = 0; frame < 32; ++frame) {
      stream.see(40 * frame, {cut(x(frame), 100)});
      const Track* track = stream.tracker.track_of(0);
      if (frame < 20) continue;
      const image::Corners box = track->filter.box();
      ck_assert_double_eq_tol(track->filter.speed_x(), 25 * speed, 10);
      ck_assert_double_eq_tol(box.x0, x(frame), 2);
      ck_assert_double_eq_tol(box.x1, x(frame) + 40, 2);
    }
  }
}

double farthest_edge(const image::Corners& a, const image::Corners& b) {
  return std::max({std::fabs(a.x0 - b.x0), std::fabs(a.y0 - b.y0), std::fabs(a.x1 - b.x1),
                   std::fabs(a.y1 - b.y1)});
}

DVNN_TEST(smoothed_boxes_do_not_lag) {
  // The visible part of an entering person grows as fast as they walk; an approaching one grows,
  // too.
  for (const double interval : {16.0, 40.0, 200.0}) {
    for (const double speed : {25.0, 100.0, 300.0}) {  // pixels per second
      for (const bool enters : {true, false}) {
        Stream stream(times(200, 1000));
        for (double ms = 0; ms * speed < 1000 * 240; ms += interval) {
          const double way = 0.001 * ms * speed;
          Detection seen = cut(way - 38, 100);
          if (!enters) seen.box = {300 - way / 8, 200 - way / 4, 340 + way / 8, 280 + way / 4};
          stream.see(ms, {seen});
          if (stream.id(0) == 0) continue;
          const double off = farthest_edge(stream.tracker.smoothed(0), seen.box);
          ck_assert_msg(off < 4, "%s at %g pixels/s, every %g ms: off by %.1f pixels at %g ms",
                        enters ? "who enters" : "who comes near", speed, interval, off, ms);
        }
      }
    }
  }
}

DVNN_TEST(smoothed_boxes_tremble_less) {
  std::mt19937 random(5);
  std::normal_distribution<double> tremble(0, 2);
  Stream stream(times(200, 1000));
  double seen = 0, shown = 0;
  for (int i = 0; i < 300; ++i) {
    const image::Corners there = at(100 + 1.5 * i, 100).box;
    Detection detection;
    detection.confidence = 0.9f;
    detection.box = {there.x0 + tremble(random), there.y0 + tremble(random),
                     there.x1 + tremble(random), there.y1 + tremble(random)};
    stream.see(40 * i, {detection});
    ck_assert_uint_eq(stream.id(0), 1);
    seen += farthest_edge(detection.box, there);
    shown += farthest_edge(stream.tracker.smoothed(0), there);
  }
  ck_assert_msg(shown < 0.75 * seen, "%.2f pixels instead of %.2f", shown / 300, seen / 300);
}

DVNN_TEST(who_enters_where_somebody_leaves_is_somebody_else) {
  Stream stream;
  int frame = 0;
  // Someone walks out; then, a few pixels lower, someone who hides the first one comes in.
  for (; frame < 32; ++frame) stream.see(40 * frame, {cut(500 + 4 * frame, 100)});
  const uint64_t first = stream.id(0);
  ck_assert_uint_eq(first, 1);
  for (double x = 616; x >= 500; x -= 4, ++frame) {
    stream.see(40 * frame, {cut(x, 112)});
    ck_assert_uint_ne(stream.id(0), first);
  }
  ck_assert_uint_eq(stream.id(0), 2);
}

DVNN_TEST(the_same_stream_gives_the_same_names) {
  std::vector<uint64_t> first;
  for (int run = 0; run < 2; ++run) {
    std::mt19937 random(7);
    Stream stream;
    std::vector<uint64_t> all;
    for (int i = 0; i < 200; ++i) {
      std::vector<Detection> detections;
      for (int k = 0; k < 20; ++k) {
        if (random() % 10 == 0) continue;
        detections.push_back(at(30.0 * k + random() % 5, 3.0 * ((i + 7 * k) % 120),
                                0.3f + 0.1f * static_cast<float>(random() % 7)));
      }
      stream.see(40 * i, detections);
      for (size_t k = 0; k < detections.size(); ++k) all.push_back(stream.id(k));
    }
    if (run == 0) first = all;
    ck_assert(all == first);
  }
}

DVNN_TEST(paths_and_best_views_are_kept_within_bounds) {
  Stream stream(times(200, 1000));
  for (int i = 0; i < 1000; ++i) {
    stream.see(40 * i, {at(100 + 0.2 * i, 100, i == 700 ? 0.99f : 0.8f)});
  }
  const Track& track = *stream.tracker.track_of(0);
  const Span<const Sighting> path = track.path.points();
  ck_assert_uint_le(path.size(), Path::kMost);
  ck_assert_uint_ge(path.size(), Path::kMost / 2);
  ck_assert_int_eq(path[0].time, 0);
  ck_assert_int_eq(path[path.size() - 1].time, 999 * 40 * kMillisecond);
  Time longest = 0;
  for (size_t i = 1; i < path.size(); ++i) {
    ck_assert_int_gt(path[i].time, path[i - 1].time);
    longest = std::max(longest, path[i].time - path[i - 1].time);
  }
  ck_assert_int_le(longest, 3 * 999 * 40 * kMillisecond / static_cast<Time>(Path::kMost));
  ck_assert_int_eq(track.best.time, 700 * 40 * kMillisecond);
  ck_assert_double_eq_tol(track.best.box.x0, 240, 1e-9);
  ck_assert_float_eq(track.best_confidence, 0.99f);
}

// Whom an edge of the frame cuts is seen best before, whichever edge it is.
DVNN_TEST(a_view_at_the_frames_edge_is_no_best_one) {
  const double x = 300, y = 200;
  const struct {
    double x, y;  // where it ends
  } ways[] = {{0.5, y}, {x, 0.5}, {kFrame.width - 40.5, y}, {x, kFrame.height - 80.5}};
  for (const auto& way : ways) {
    constexpr int kLast = 100;
    Stream stream(times(200, 1000));
    for (int i = 0; i <= kLast; ++i) {
      const double done = static_cast<double>(i) / kLast;
      stream.see(40 * i, {at(x + done * (way.x - x), y + done * (way.y - y),
                             i == kLast       ? 0.99f
                             : i == kLast / 2 ? 0.8f
                                              : 0.7f)});
    }
    const Track* track = stream.tracker.track_of(0);
    ck_assert_ptr_nonnull(track);
    ck_assert_int_eq(track->best.time, kLast / 2 * 40 * kMillisecond);
    ck_assert_float_eq(track->best_confidence, 0.8f);
  }
}

DVNN_TEST(boxes_that_are_none_are_left_alone) {
  Stream stream(times(200, 1000));
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  std::vector<Detection> bad(6);
  bad[0].box = {10, 10, 10, 50};
  bad[1].box = {50, 10, 10, 50};
  bad[2].box = {nan, 10, 20, 50};
  bad[3].box = {10, 10, inf, 50};
  bad[4].box = {-inf, -inf, 20, 50};
  bad[5].box = {10, 10, 20, 50};
  bad[5].confidence = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 3; ++i) {
    stream.see(40 * i, bad);
    ck_assert_uint_eq(stream.tracker.tracks().size(), 0);
  }
}

// A walker stops; then nothing moves for longer than a track may be lost, and longer than any jump.
DVNN_TEST(where_nothing_moves_tracks_rest) {
  Stream stream(times(200, 1000));
  for (int i = 0; i <= 20; ++i) stream.see(40 * i, {at(100 + 4 * i, 100), at(400, 100)});
  const image::Corners stopped = stream.tracker.tracks()[0]->observed;
  for (int i = 21; i <= 250; ++i) {
    stream.tracker.rest_outside({});
    stream.tracker.predict(static_cast<Time>(40 * i) * kMillisecond, {640, 480});
    ck_assert_uint_eq(stream.tracker.predicted().size(), 2);
    const image::Corners& box = stream.tracker.predicted()[0].box;
    ck_assert_double_eq_tol(box.x0, stopped.x0, 2);
  }
  // It has stopped: it does not go on from where it was.
  stream.tracker.predict(static_cast<Time>(40 * 250 + 30) * kMillisecond, {640, 480});
  ck_assert_double_eq_tol(stream.tracker.predicted()[0].box.x0, stopped.x0, 2);
  // One is seen to move on, while no look shows the other, where nothing moves.
  const std::vector<image::Corners> moving = {{100, 50, 300, 250}};
  for (int i = 251; i <= 300; ++i) {
    stream.tracker.rest_outside(moving);
    stream.see(40 * i, {at(180 + 2 * (i - 251), 100)});
    ck_assert_uint_eq(stream.id(0), 1);
    ck_assert_uint_eq(stream.tracker.predicted().size(), 1);
    ck_assert_uint_eq(stream.tracker.predicted()[0].track->id, 2);
  }
  // A look at everything misses it.
  for (int i = 301; i <= 330; ++i) stream.see(40 * i, {at(280, 100)});
  ck_assert_uint_eq(stream.tracker.tracks().size(), 1);
}

}  // namespace dvnn::test::tracker_tests
