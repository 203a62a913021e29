// SPDX-License-Identifier: Apache-2.0
// Frames that leave before their results: what the queue does with the work that is left, and which
// result joins which frame. Without a device: the work is a function of the test's, which is the
// worker, too, where nothing is said of others.
#include "infer/lateresults.h"

#include <vector>

#include "queue_bench.h"

namespace dvnn::test::late_results_tests {

DVNN_SUITE(late_results);

using namespace dvnn::gst;

namespace {

InferQueue::Limits limits_of(size_t inferences) {
  InferQueue::Limits limits;
  limits.inferences = inferences;
  return limits;
}

constexpr int64_t kNever = -1;

// A frame that may leave `after_us` from now on.
ItemPtr late_frame(const Bench& bench, guint64 pts, int64_t after_us, size_t regions = 1) {
  ItemPtr item = frame_of(pts, regions);
  item->leave_by_us = after_us == kNever ? 0 : bench.clock.now_us() + after_us;
  return item;
}

ItemPtr pop(Bench* bench) {
  ItemPtr item = bench->queue.pop(0);
  bench->queue.finish(false, GST_FLOW_OK);
  return item;
}

// Work on objects of those tracks, at a box of one pixel at `x`.
ItemPtr work(guint64 number, std::vector<guint64> tracks, double x = 0) {
  auto item = std::make_shared<InferItem>();
  item->number = number;
  for (const guint64 track : tracks) {
    item->regions.emplace_back();
    item->regions.back().followed = {track, 0, {x, x, x + 1, x + 1}};
    item->regions.back().shown.part = {x, x, x + 1, x + 1};
    item->regions.back().tag.name = static_cast<GQuark>(number);
  }
  return item;
}

// The number of the frame whose result a track's object gets, or 0.
guint64 taken(LateResults* late, guint64 track, gint class_id = 0) {
  const auto region = late->take({track, class_id, {0, 0, 1, 1}});
  return region ? region->tag.name : 0;
}

}  // namespace

DVNN_TEST(a_frame_goes_by_its_time_and_its_work_comes_back_later) {
  Bench bench(limits_of(1), nullptr, 0);
  bench.queue.push_frame(late_frame(bench, 1, 0, 2));
  const ItemPtr left = pop(&bench);
  ck_assert_uint_eq(pts_of(left), 1);
  ck_assert(left->regions.empty() && left->status.ok() && !left->late);
  ck_assert_uint_eq(left->number, 1);
  ck_assert(bench.queue.take_late().empty());
  // It counts among the inferences, but not for frames that may leave.
  ck_assert(!bench.queue.has_room());
  bench.queue.push_frame(late_frame(bench, 2, 0));
  ck_assert(pop(&bench)->regions.empty());
  bench.queue.work_once();
  ck_assert(bench.queue.take_late().empty());  // of two regions
  for (int i = 0; i < 2; ++i) bench.queue.work_once();
  const InferItems late = bench.queue.take_late();
  ck_assert_uint_eq(late.size(), 2);
  ck_assert_uint_eq(late.front()->number, 1);
  ck_assert_uint_eq(late.front()->regions.size(), 2);
  ck_assert_uint_eq(late.back()->number, 2);
  ck_assert(bench.queue.has_room());
}

DVNN_TEST(a_frame_waits_for_its_results_until_its_time) {
  Bench bench(limits_of(1), nullptr, 0);
  bench.queue.push_frame(late_frame(bench, 1, 5000));
  std::atomic<bool> has_left{false};
  std::thread time([&] {
    bench.clock.until_waiting(1);
    bench.clock.advance(std::chrono::microseconds(4999));
    bench.clock.until_waiting(1);
    ck_assert(!has_left);
    bench.clock.advance(std::chrono::microseconds(1));
  });
  const ItemPtr left = pop(&bench);
  has_left = true;
  time.join();
  ck_assert(left->regions.empty());
}

DVNN_TEST(what_is_done_in_time_is_the_frames_own) {
  Bench bench(limits_of(1), nullptr, 0);
  bench.queue.push_frame(late_frame(bench, 1, 1));
  bench.queue.work_once();
  bench.clock.advance(std::chrono::seconds(1));
  ck_assert_uint_eq(pop(&bench)->regions.size(), 1);
  ck_assert(bench.queue.take_late().empty());
}

DVNN_TEST(frames_leave_in_order_behind_one_that_waits) {
  Count begun;
  Gate go;
  Bench bench(
      limits_of(2),
      [&](InferItem*, size_t) {
        begun.add();
        go.wait();
        return Status();
      },
      2);
  bench.queue.push_frame(late_frame(bench, 1, kNever));
  bench.queue.push_frame(late_frame(bench, 2, 0));
  begun.until(2);
  go.open();
  ck_assert_uint_eq(pop(&bench)->number, 1);
  ck_assert_uint_eq(pop(&bench)->number, 2);
}

DVNN_TEST(late_work_that_fails_comes_without_a_frame) {
  Bench bench(
      limits_of(1),
      [](InferItem*, size_t) {
        return Status(Error{ErrorCode::kDevice, "it broke"});
      },
      0);
  bench.queue.push_frame(late_frame(bench, 1, 0));
  ck_assert(pop(&bench)->status.ok());
  bench.queue.work_once();
  const ItemPtr failed = pop(&bench);
  ck_assert(failed->late && !failed->object && !failed->status.ok());
  ck_assert(bench.queue.take_late().empty());
}

DVNN_TEST(late_work_that_takes_too_long_is_given_up) {
  Gate begun, go;
  Bench bench(limits_of(1), [&](InferItem*, size_t) {
    begun.open();
    go.wait();
    return Status();
  });
  bench.queue.push_frame(late_frame(bench, 1, 0));
  bench.queue.push_frame(late_frame(bench, 2, 0));
  ck_assert(pop(&bench)->status.ok());
  ck_assert(pop(&bench)->status.ok());
  begun.wait();
  const ItemPtr first = bench.pop_overdue(30);
  bench.queue.finish(false, GST_FLOW_OK);
  const ItemPtr second = bench.queue.pop(30);
  // The one that runs, and the one for which no worker is left.
  for (const ItemPtr& failed : {first, second}) ck_assert(failed->late && !failed->status.ok());
  ck_assert(bench.queue.has_room());
  go.open();
}

DVNN_TEST(a_flush_and_who_asks_for_it_forget_late_work) {
  for (const bool flush : {false, true}) {
    Count begun;
    Gate go;
    Bench bench(limits_of(1), [&](InferItem*, size_t) {
      begun.add();
      go.wait();
      return Status();
    });
    bench.queue.push_frame(late_frame(bench, 1, 0));
    bench.queue.push_frame(late_frame(bench, 2, 0));
    pop(&bench);
    pop(&bench);
    begun.until(1);
    if (flush) {
      bench.queue.start_flush();
      bench.queue.stop_flush(true);
    } else {
      bench.queue.forget_late();
    }
    ck_assert(bench.queue.has_room());
    go.open();
    bench.queue.push_frame(late_frame(bench, 3, kNever));
    ck_assert_uint_eq(pop(&bench)->regions.size(), 1);
    ck_assert(bench.queue.take_late().empty());
    ck_assert_int_eq(begun.value(), 2);
  }
}

DVNN_TEST(of_two_results_on_a_track_that_of_the_later_frame_counts) {
  LateResults late;
  late.begin_frame(0, *work(1, {}));
  late.add(work(5, {1, 2}).get());
  late.add(work(4, {1, 3}).get());
  ck_assert_uint_eq(taken(&late, 1), 5);
  ck_assert_uint_eq(taken(&late, 1), 0);
  ck_assert_uint_eq(taken(&late, 2), 5);
  ck_assert_uint_eq(taken(&late, 3), 4);
  ck_assert(late.empty());
  // One that comes after a newer one has been taken.
  late.add(work(4, {1}).get());
  ck_assert_uint_eq(taken(&late, 1), 0);
  late.add(work(6, {1}).get());
  ck_assert_uint_eq(taken(&late, 1), 6);
  // A frame's own results are the newest there are.
  late.add(work(7, {1}).get());
  late.begin_frame(1, *work(8, {1}));
  late.add(work(7, {1}).get());
  ck_assert_uint_eq(taken(&late, 1), 0);
  ck_assert(late.empty());
}

DVNN_TEST(results_wait_for_their_track_but_not_for_ever) {
  LateResults late;
  late.begin_frame(0, *work(1, {}));
  late.add(work(2, {1, 2, 0}).get());
  ck_assert_uint_eq(taken(&late, 3), 0);
  ck_assert_uint_eq(taken(&late, 0), 0);
  ck_assert_uint_eq(taken(&late, 1, 1), 0);  // of another class: another tracker's
  late.begin_frame(9 * GST_SECOND, *work(3, {}));
  ck_assert_uint_eq(taken(&late, 1), 2);
  late.begin_frame(11 * GST_SECOND, *work(4, {}));
  ck_assert_uint_eq(taken(&late, 2), 0);
  ck_assert(late.empty());
  // Where the stream jumps back, tracks are others.
  late.add(work(5, {1}).get());
  late.begin_frame(GST_SECOND, *work(6, {}));
  ck_assert_uint_eq(taken(&late, 1), 0);
  ck_assert(late.empty());
}

DVNN_TEST(a_result_moves_with_its_object) {
  LateResults late;
  late.begin_frame(0, *work(1, {}));
  const ItemPtr seen = work(2, {1}, 10);  // where the box is from 10 to 11
  seen->regions[0].shown.transform = {8, -80, 8, -80, false, 0, 0};
  late.add(seen.get());
  const auto region = late.take({1, 0, {20, 30, 22, 33}});
  ck_assert(region && region->predicted);
  double x = 20, y = 33;
  region->shown.transform.apply(&x, &y);
  ck_assert_double_eq_tol(x, 0, 1e-9);
  ck_assert_double_eq_tol(y, 8, 1e-9);
  ck_assert_double_eq_tol(region->shown.part.x1, 22, 1e-9);
  ck_assert_double_eq_tol(region->shown.part.y0, 30, 1e-9);
}

}  // namespace dvnn::test::late_results_tests
