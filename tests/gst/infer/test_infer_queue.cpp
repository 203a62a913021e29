// SPDX-License-Identifier: Apache-2.0
// The queue's rules for streams: order, ends, flushes, and which frames wait.
#include <array>
#include <cstring>

#include "queue_bench.h"

namespace dvnn::test::infer_queue_tests {

DVNN_SUITE(infer_queue);

DVNN_TEST(frames_leave_in_the_order_in_which_they_came) {
  InferQueue::Limits limits;
  limits.inferences = 4;
  // Of four that are run at once the last is done first: without order they would come out
  // backwards.
  std::array<Gate, 40> done;
  Bench bench(
      limits,
      [&](InferItem* item, size_t) {
        const guint64 pts = GST_BUFFER_PTS(GST_BUFFER_CAST(item->object.get()));
        if (pts % 5 != 4) done[pts + 1].wait();
        done[pts].open();
        return Status();
      },
      4);
  std::thread source([&] {
    for (guint64 i = 0; i < 40; ++i) {
      ck_assert_int_eq(bench.queue.push_frame(frame(i, i % 5 != 0)), GST_FLOW_OK);
    }
  });
  for (guint64 i = 0; i < 40; ++i) {
    const ItemPtr item = bench.queue.pop(0);
    ck_assert_uint_eq(pts_of(item), i);
    bench.queue.finish(false, GST_FLOW_OK);
  }
  source.join();
}

DVNN_TEST(a_flow_return_goes_upstream_and_stops_the_task) {
  for (GstFlowReturn flow : {GST_FLOW_NOT_LINKED, GST_FLOW_ERROR, GST_FLOW_FLUSHING}) {
    Bench bench;
    bench.queue.push_frame(frame(0, false));
    ck_assert(bench.queue.pop(0) != nullptr);
    ck_assert(bench.queue.finish(false, flow).stopped);
    ck_assert(!bench.task_runs);
    ck_assert_int_eq(bench.queue.push_frame(frame(1, false)), flow);
  }
}

DVNN_TEST(a_new_segment_is_accepted_the_moment_it_is_queued) {
  Bench bench;
  bench.queue.push_frame(frame(0, false));
  bench.queue.pop(0);
  ck_assert(!bench.queue.finish(false, GST_FLOW_EOS).stopped);
  ck_assert_int_eq(bench.queue.push_frame(frame(1, false)), GST_FLOW_EOS);
  ck_assert(push(&bench.queue, segment()).queued);
  ck_assert_int_eq(bench.queue.push_frame(frame(2, false)), GST_FLOW_OK);
  ck_assert(!bench.queue.pop(0)->is_frame());
  bench.queue.finish(true, GST_FLOW_OK);
  ck_assert_uint_eq(pts_of(bench.queue.pop(0)), 2);
}

DVNN_TEST(after_eos_from_downstream_only_what_begins_a_stream_is_kept) {
  Bench bench;
  bench.queue.push_frame(frame(0, false));
  bench.queue.push_frame(frame(1, true));
  push(&bench.queue, gst_event_new_tag(gst_tag_list_new_empty()));
  push(&bench.queue, segment());
  bench.queue.push_frame(frame(2, false));
  bench.queue.pop(0);
  bench.queue.finish(false, GST_FLOW_EOS);
  const ItemPtr next = bench.queue.pop(0);
  ck_assert(!next->is_frame());
  ck_assert_int_eq(GST_EVENT_TYPE(GST_EVENT_CAST(next->object.get())), GST_EVENT_SEGMENT);
  bench.queue.finish(true, GST_FLOW_OK);
  ck_assert_uint_eq(pts_of(bench.queue.pop(0)), 2);
}

DVNN_TEST(a_frame_that_waits_is_refused_when_downstream_ends) {
  InferQueue::Limits limits;
  limits.frames = 1;
  Bench bench(limits);
  bench.queue.push_frame(frame(0, false));
  std::atomic<int> accepted{0};
  std::thread source([&] {
    while (bench.queue.push_frame(frame(1, false)) == GST_FLOW_OK) ++accepted;
  });
  bench.queue.pop(0);
  while (accepted < 1) std::this_thread::yield();
  bench.clock.until_waiting(1);  // the next
  bench.queue.finish(false, GST_FLOW_EOS);
  source.join();
  ck_assert_int_eq(accepted, 1);
}

DVNN_TEST(a_stream_may_follow_an_end_of_stream) {
  Bench bench;
  ck_assert(push(&bench.queue, gst_event_new_eos()).queued);
  ck_assert_int_eq(bench.queue.push_frame(frame(0, false)), GST_FLOW_EOS);
  bench.queue.pop(0);
  ck_assert(bench.queue.finish(true, GST_FLOW_EOS).stopped);
  ck_assert(!bench.task_runs);
  ck_assert(!push(&bench.queue, gst_event_new_tag(gst_tag_list_new_empty())).queued);
  ck_assert(push(&bench.queue, gst_event_new_stream_start("again")).queued);
  ck_assert(bench.task_runs);
  ck_assert_int_eq(bench.queue.push_frame(frame(1, false)), GST_FLOW_OK);
}

DVNN_TEST(a_stream_may_be_queued_before_the_end_of_the_last_one_has_left) {
  Bench bench;
  ck_assert(push(&bench.queue, gst_event_new_eos()).queued);
  bench.queue.pop(0);
  ck_assert(push(&bench.queue, gst_event_new_stream_start("again")).queued);
  ck_assert(!bench.queue.finish(true, GST_FLOW_EOS).stopped);
  ck_assert(bench.task_runs);
  ck_assert_int_eq(bench.queue.push_frame(frame(1, false)), GST_FLOW_OK);
}

DVNN_TEST(not_linked_ends_with_reconfigure) {
  Bench bench;
  bench.queue.push_frame(frame(0, false));
  bench.queue.pop(0);
  bench.queue.finish(false, GST_FLOW_NOT_LINKED);
  ck_assert_int_eq(bench.queue.push_frame(frame(1, false)), GST_FLOW_NOT_LINKED);
  bench.queue.reconfigure();
  ck_assert(bench.task_runs);
  ck_assert_int_eq(bench.queue.push_frame(frame(2, false)), GST_FLOW_OK);
}

DVNN_TEST(an_end_of_stream_that_cannot_arrive_is_reported) {
  Bench bench;
  bench.queue.push_frame(frame(0, false));
  bench.queue.pop(0);
  bench.queue.finish(false, GST_FLOW_NOT_LINKED);
  ck_assert(push(&bench.queue, segment()).queued);  // sticky: no harm
  const auto result = push(&bench.queue, gst_event_new_eos());
  ck_assert(!result.queued && result.fatal);
}

DVNN_TEST(flushing_frees_both_sides) {
  InferQueue::Limits limits;
  limits.inferences = 1;
  Gate go;
  Bench bench(limits, [&](InferItem*, size_t) {
    go.wait();
    return Status();
  });
  ck_assert_int_eq(bench.queue.push_frame(frame(0, true)), GST_FLOW_OK);
  std::thread flusher([&] {
    bench.clock.until_waiting(1);
    bench.queue.start_flush();
  });
  ck_assert_int_eq(bench.queue.push_frame(frame(1, true)), GST_FLOW_FLUSHING);
  ck_assert(bench.queue.pop(0) == nullptr);
  flusher.join();
  go.open();
  ck_assert(!bench.queue.drain());
  bench.queue.stop_flush(true);
  ck_assert_int_eq(bench.queue.push_frame(frame(2, true)), GST_FLOW_OK);
  ck_assert_uint_eq(pts_of(bench.queue.pop(0)), 2);
}

DVNN_TEST(frames_that_pass_do_not_wait_for_room_for_an_inference) {
  InferQueue::Limits limits;
  limits.inferences = 1;
  Gate go;
  Bench bench(limits, [&](InferItem*, size_t) {
    go.wait();
    return Status();
  });
  bench.queue.push_frame(frame(0, true));
  for (guint64 i = 1; i <= 10; ++i) {
    ck_assert_int_eq(bench.queue.push_frame(frame(i, false)), GST_FLOW_OK);
  }
  ck_assert(!bench.queue.has_room());
  go.open();
  for (guint64 i = 0; i <= 10; ++i) {
    ck_assert_uint_eq(pts_of(bench.queue.pop(0)), i);
    bench.queue.finish(false, GST_FLOW_OK);
  }
}

DVNN_TEST(frames_that_are_done_make_room_while_they_wait_for_a_sink) {
  InferQueue::Limits limits;
  limits.inferences = 1;
  limits.frames = 5;
  Bench bench(limits);
  for (guint64 i = 0; i < 5; ++i) {
    ck_assert_int_eq(bench.queue.push_frame(frame(i, true)), GST_FLOW_OK);
  }
  // Now the queue is full of frames that are not popped.
  std::atomic<bool> pushed{false};
  std::thread source([&] {
    bench.queue.push_frame(frame(5, true));
    pushed = true;
  });
  bench.clock.until_waiting(1);
  ck_assert(!pushed);
  ck_assert_uint_eq(pts_of(bench.queue.pop(0)), 0);
  source.join();
}

DVNN_TEST(a_frame_that_waits_goes_on_once_there_may_be_more) {
  InferQueue::Limits limits;
  limits.frames = 2;
  Bench bench(limits);
  for (guint64 i = 0; i < 2; ++i) bench.queue.push_frame(frame(i, false));
  Gate pushed;
  std::thread source([&] {
    bench.queue.push_frame(frame(2, false));
    pushed.open();
  });
  bench.clock.until_waiting(1);
  ck_assert(!pushed.is_open());
  bench.queue.set_frame_limits(3, 0);
  pushed.wait();
  source.join();
}

DVNN_TEST(a_run_that_takes_too_long_is_given_up) {
  Gate begun, go;
  Bench bench({}, [&](InferItem*, size_t) {
    begun.open();
    go.wait();
    return Status();
  });
  bench.queue.push_frame(frame(7, true));
  begun.wait();
  const ItemPtr item = bench.pop_overdue(30);
  ck_assert(item && !item->status.ok());
  ck_assert_uint_eq(pts_of(item), 7);
  ck_assert_ptr_nonnull(strstr(item->status.error().message.c_str(), "watchdog"));
  bench.queue.finish(false, GST_FLOW_OK);
  ck_assert(!bench.queue.runs_end(1));
  go.open();
  ck_assert(bench.queue.runs_end(0));
  // It may answer after all: the next frame is run as usual.
  bench.queue.push_frame(frame(8, true));
  const ItemPtr next = bench.queue.pop(20000);
  ck_assert(next->status.ok());
  ck_assert_uint_eq(pts_of(next), 8);
}

// A seek while the device hangs drops the frame, but the worker is not back.
DVNN_TEST(a_run_of_a_frame_that_was_flushed_holds_up_nobody_for_longer_than_the_watchdog) {
  Gate begun, go;
  InferQueue::Limits limits;
  limits.inferences = 1;
  Bench bench(limits, [&](InferItem*, size_t) {
    begun.open();
    go.wait();
    return Status();
  });
  bench.queue.push_frame(frame(7, true));
  begun.wait();
  bench.queue.start_flush();
  bench.queue.stop_flush(true);
  bench.queue.push_frame(frame(8, true));
  const ItemPtr item = bench.pop_overdue(30);
  ck_assert(item && !item->status.ok());
  ck_assert_uint_eq(pts_of(item), 8);
  bench.queue.finish(false, GST_FLOW_OK);
  ck_assert(!bench.queue.runs_end(30));
  go.open();
  ck_assert(bench.queue.runs_end(0));
}

DVNN_TEST(a_flush_leaves_what_says_which_stream_it_is) {
  Bench bench;
  push(&bench.queue, gst_event_new_stream_start("it"));
  push(&bench.queue, caps_event());
  push(&bench.queue, segment());
  bench.queue.push_frame(frame(1, true));
  push(&bench.queue, gst_event_new_eos());
  bench.queue.start_flush();
  bench.queue.stop_flush(true);
  push(&bench.queue, segment());
  for (GstEventType type : {GST_EVENT_STREAM_START, GST_EVENT_CAPS, GST_EVENT_SEGMENT}) {
    const ItemPtr item = bench.queue.pop(0);
    ck_assert(!item->is_frame());
    ck_assert_int_eq(GST_EVENT_TYPE(item->object.get()), type);
    bench.queue.finish(true, GST_FLOW_OK);
  }
  bench.queue.push_frame(frame(2, true));
  ck_assert_uint_eq(pts_of(bench.queue.pop(0)), 2);
}

DVNN_TEST(an_eos_behind_an_error_that_was_told_is_lost_without_a_word) {
  for (const bool told : {false, true}) {
    Bench bench;
    bench.queue.push_frame(frame(1, false));
    ck_assert(bench.queue.pop(0) != nullptr);
    ck_assert(bench.queue.finish(false, GST_FLOW_ERROR, told).stopped);
    ck_assert(push(&bench.queue, gst_event_new_eos()).fatal == !told);
  }
}

// Frames of many regions in the queue: when they leave, and what stops them.

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

}  // namespace dvnn::test::infer_queue_tests
