// SPDX-License-Identifier: Apache-2.0
// Frames of many regions in the queue: when they leave, and what stops them.
#include <array>

#include "queue_bench.h"

namespace dvnn::test::infer_queue_regions_tests {

DVNN_SUITE(infer_queue);

DVNN_TEST(a_frame_leaves_when_its_last_region_has_been_run) {
  for (const int workers : {1, 3}) {
    Count runs;
    std::array<std::atomic<int>, 50> each{};
    Bench bench(
        {},
        [&](InferItem*, size_t region) {
          ++each[region];
          runs.add();
          return Status();
        },
        workers);
    const ItemPtr item = frame_of(3, each.size());
    ck_assert_int_eq(bench.queue.push_frame(item, 1), GST_FLOW_OK);
    std::thread source([&] {
      for (size_t i = 1; i < each.size(); ++i) {
        if (i % 10 == 0) runs.until(static_cast<int>(i));  // nothing is left to do in between
        ck_assert(bench.queue.push_region(item));
      }
    });
    const ItemPtr out = bench.queue.pop(0);
    ck_assert(out == item);
    ck_assert_int_eq(runs.value(), 50);
    for (const auto& count : each) ck_assert_int_eq(count, 1);
    source.join();
    ck_assert(!bench.queue.push_region(item));  // it has left
    bench.queue.finish(false, GST_FLOW_OK);
  }
}

DVNN_TEST(after_an_error_the_other_regions_are_not_run) {
  Count runs;
  Bench bench({}, [&](InferItem*, size_t region) {
    runs.add();
    return region == 2 ? Status(Error{ErrorCode::kDevice, "region two"}) : Status();
  });
  const ItemPtr whole = frame_of(0, 9);
  bench.queue.push_frame(whole);
  ItemPtr out = bench.queue.pop(0);
  dvnn_assert_text(out->status.error().message, "region two");
  ck_assert_int_eq(runs.value(), 3);
  bench.queue.finish(false, GST_FLOW_OK);
  // A thread that still fills regions learns of the failure before the frame leaves.
  const ItemPtr open = frame_of(1, 9);
  bench.queue.push_frame(open, 3);
  runs.until(6);
  std::atomic<bool> left{false};
  std::thread sink([&] {
    out = bench.queue.pop(20000);  // with a watchdog, so that it is seen to wait
    left = true;
  });
  bench.clock.until_waiting(1);
  ck_assert(!left);
  ck_assert(!bench.queue.push_region(open));
  sink.join();
  ck_assert(out == open && !out->status.ok());
  ck_assert_int_eq(runs.value(), 6);
  bench.queue.finish(false, GST_FLOW_OK);
  // The next frame is run as if nothing had been.
  bench.queue.push_frame(frame_of(2, 2));
  ck_assert(bench.queue.pop(0)->status.ok());
}

DVNN_TEST(a_region_that_cannot_be_filled_fails_its_frame) {
  Bench bench;
  const ItemPtr item = frame_of(0, 4);
  bench.queue.push_frame(item, 2);
  bench.queue.fail_regions(item, Error{ErrorCode::kMalformed, "no pixels"});
  const ItemPtr out = bench.queue.pop(0);
  dvnn_assert_text(out->status.error().message, "no pixels");
}

DVNN_TEST(a_frame_that_is_being_filled_is_dropped_when_the_flow_stops) {
  for (const bool by_flush : {true, false}) {
    Bench bench;
    bench.queue.push_frame(frame(0, false));
    const ItemPtr item = frame_of(1, 4);
    bench.queue.push_frame(item, 1);
    ck_assert(bench.queue.pop(0) != nullptr);
    if (by_flush) {
      bench.queue.start_flush();
      bench.queue.finish(false, GST_FLOW_OK);
      ck_assert(!bench.queue.push_region(item));
      bench.queue.stop_flush(true);
    } else {
      bench.queue.finish(false, GST_FLOW_NOT_LINKED);
      ck_assert(!bench.queue.push_region(item));
      bench.queue.reconfigure();
    }
    // Nothing of it is left, and the next frame is run.
    bench.queue.push_frame(frame_of(2, 3));
    const ItemPtr next = bench.queue.pop(0);
    ck_assert_uint_eq(pts_of(next), 2);
    bench.queue.finish(false, GST_FLOW_OK);
  }
}

DVNN_TEST(a_frame_is_wanted_until_it_is_dropped_or_has_failed) {
  enum { kEos, kFlush, kWatchdog, kError };
  for (const int end : {kEos, kFlush, kWatchdog, kError}) {
    Gate begun, go;
    if (end != kWatchdog) go.open();
    Bench bench({}, [&](InferItem*, size_t) {
      begun.open();
      go.wait();
      return end == kError ? Status(Error{ErrorCode::kDevice, "no"}) : Status();
    });
    bench.queue.push_frame(frame(0, false));
    bench.queue.pop(0);
    const ItemPtr item = frame_of(1, 4);
    ck_assert(bench.queue.is_wanted(*item));
    bench.queue.push_frame(item, 1);
    if (end != kError) ck_assert(bench.queue.is_wanted(*item));
    bench.queue.finish(false, end == kEos ? GST_FLOW_EOS : GST_FLOW_OK);
    if (end == kFlush) bench.queue.start_flush();
    if (end == kWatchdog) {
      begun.wait();
      ck_assert(!bench.pop_overdue(50)->status.ok());
    }
    while (bench.queue.is_wanted(*item)) std::this_thread::yield();
    // Nor is the next one behind an end, until it is of a new stream.
    const ItemPtr next = frame_of(2, 1);
    ck_assert(bench.queue.is_wanted(*next) == (end == kWatchdog || end == kError));
    go.open();
    bench.queue.abandon(item);
    // Its error is reported all the same.
    if (end == kError) dvnn_assert_text(bench.queue.pop(0)->status.error().message, "no");
    if (end == kEos) ck_assert(push(&bench.queue, segment()).queued);
    ck_assert(bench.queue.is_wanted(*next) == (end != kFlush));
  }
}

DVNN_TEST(the_watchdog_is_of_one_run_not_of_all_regions) {
  Gate go;
  Count runs;
  ManualClock* clock = nullptr;
  Bench bench({}, [&](InferItem*, size_t) {
    clock->advance(std::chrono::milliseconds(20));
    runs.add();
    if (runs.value() > 20) go.wait();
    return Status();
  });
  clock = &bench.clock;
  bench.queue.push_frame(frame_of(0, 20));
  ck_assert(bench.queue.pop(200)->status.ok());  // 400 ms for all of them
  bench.queue.finish(false, GST_FLOW_OK);
  const ItemPtr item = frame_of(1, 20);
  bench.queue.push_frame(item, 1);
  runs.until(21);
  const ItemPtr given_up = bench.pop_overdue(200);
  ck_assert(given_up && !given_up->status.ok());
  ck_assert(!bench.queue.push_region(item));
  bench.queue.finish(false, GST_FLOW_OK);
  ck_assert(!bench.queue.runs_end(1));
  go.open();
  ck_assert(bench.queue.runs_end(0));
  ck_assert_int_eq(runs.value(), 21);
}

}  // namespace dvnn::test::infer_queue_regions_tests
