// SPDX-License-Identifier: Apache-2.0
// The queue's parts by themselves: no lock, no worker, no clock. First the rules of a stream.
#include <cstring>

#include "infer/queue/streamorder.h"
#include "infer/queue/worklist.h"
#include "queue_bench.h"

namespace dvnn::test::queue_parts_tests {

DVNN_SUITE(queue_parts);

namespace {

// An order whose task is a note of what it was told last.
struct Stream {
  explicit Stream(StreamOrder::Limits limits = {})
      : order(
            limits, [this](bool run) { task_runs = run; }, "stream") {
    gst_init(nullptr, nullptr);
    order.stop_flush(true);
  }

  void push_frame(guint64 pts) { order.push_frame({frame(pts, false)}); }
  bool push_event(GstEvent* event) { return order.push_event(EventPtr(event)).queued; }
  ItemPtr pop() {
    order.hand_out();
    return order.take_head().front();
  }
  // The next item is pushed with this result.
  StreamOrder::Stopped pass(GstFlowReturn flow) {
    return order.finish(!pop()->is_frame(), flow, false, &dropped);
  }

  bool task_runs = false;
  InferItems dropped;
  StreamOrder order;
};

}  // namespace

DVNN_TEST(frames_are_numbered_and_counted) {
  Stream stream;
  stream.push_frame(7);
  stream.push_event(segment());
  stream.push_frame(9);
  ck_assert_uint_eq(stream.order.frames(), 2);
  const ItemPtr first = stream.pop();
  ck_assert_uint_eq(first->number, 1);
  ck_assert(!first->queued);
  ck_assert_uint_eq(stream.order.frames(), 1);
  ck_assert_uint_eq(stream.order.held(), 2);
  ck_assert_uint_eq(stream.order.size(), 3);
  stream.order.finish(false, GST_FLOW_OK, false, &stream.dropped);
  ck_assert_uint_eq(stream.order.held(), 1);
  stream.pass(GST_FLOW_OK);
  ck_assert_uint_eq(stream.pop()->number, 2);
  ck_assert(!stream.order.is_idle());
  stream.order.finish(false, GST_FLOW_OK, false, &stream.dropped);
  ck_assert(stream.order.is_idle());
}

DVNN_TEST(limits_are_of_what_is_queued_and_of_what_is_held) {
  Stream stream({2, 2});
  stream.push_frame(0);
  ck_assert(stream.order.has_room() && stream.order.may_hold_more());
  stream.push_frame(1);
  ck_assert(!stream.order.has_room() && !stream.order.may_hold_more());
  stream.pop();  // it is being pushed: held, but not queued
  ck_assert(stream.order.has_room() && !stream.order.may_hold_more());
  stream.order.set_limits({2, 0});
  ck_assert(stream.order.may_hold_more());
}

DVNN_TEST(an_end_refuses_frames_until_a_stream_begins) {
  for (const bool by_downstream : {false, true}) {
    for (const bool by_segment : {false, true}) {
      Stream stream;
      if (by_downstream) {
        stream.push_frame(0);
        ck_assert(!stream.pass(GST_FLOW_EOS).stopped);
      } else {
        ck_assert(stream.push_event(gst_event_new_eos()));
      }
      ck_assert_int_eq(stream.order.frame_flow(), GST_FLOW_EOS);
      ck_assert_int_eq(stream.order.flow(), GST_FLOW_OK);
      ck_assert(stream.push_event(by_segment ? segment() : gst_event_new_stream_start("again")));
      // What downstream has said lasts until its segment, as in gstqueue.
      const bool refused = by_downstream && !by_segment;
      ck_assert_int_eq(stream.order.frame_flow(), refused ? GST_FLOW_EOS : GST_FLOW_OK);
    }
  }
}

DVNN_TEST(downstreams_eos_drops_up_to_the_next_stream) {
  Stream stream;
  stream.push_frame(0);
  stream.push_frame(1);
  stream.push_event(gst_event_new_tag(gst_tag_list_new_empty()));
  stream.push_event(segment());
  stream.push_frame(2);
  ck_assert(!stream.pass(GST_FLOW_EOS).stopped);
  ck_assert_uint_eq(stream.dropped.size(), 1);
  ck_assert_uint_eq(pts_of(stream.dropped.front()), 1);
  ck_assert(!stream.dropped.front()->queued);
  ck_assert_int_eq(stream.order.frame_flow(), GST_FLOW_OK);
  ck_assert(!stream.pop()->is_frame());
  ck_assert_uint_eq(stream.order.frames(), 1);
}

DVNN_TEST(a_flow_that_fails_stops_the_task_and_loses_an_eos) {
  for (const GstFlowReturn flow : {GST_FLOW_NOT_LINKED, GST_FLOW_ERROR, GST_FLOW_FLUSHING}) {
    Stream stream;
    stream.push_frame(0);
    stream.push_event(gst_event_new_eos());
    const StreamOrder::Stopped stopped = stream.pass(flow);
    ck_assert(stopped.stopped && !stream.task_runs);
    ck_assert_int_eq(stopped.flow, flow);
    ck_assert(stopped.fatal == (flow != GST_FLOW_FLUSHING));
    ck_assert_int_eq(stream.order.frame_flow(), flow);
    ck_assert(stream.order.reconfigure() == (flow == GST_FLOW_NOT_LINKED));
    ck_assert(stream.task_runs == (flow == GST_FLOW_NOT_LINKED));
  }
}

DVNN_TEST(of_a_flush_only_what_says_which_stream_it_is_is_left) {
  Stream stream;
  stream.push_event(gst_event_new_stream_start("it"));
  stream.push_event(caps_event());
  stream.push_event(segment());
  stream.push_frame(0);
  stream.push_frame(1);
  stream.push_event(gst_event_new_eos());
  stream.order.start_flush();
  ck_assert_int_eq(stream.order.frame_flow(), GST_FLOW_FLUSHING);
  const InferItems frames = stream.order.drop_all();
  ck_assert_uint_eq(frames.size(), 2);
  ck_assert(!frames.front()->queued);
  ck_assert_uint_eq(stream.order.frames(), 0);
  stream.order.stop_flush(false);
  ck_assert_int_eq(stream.order.frame_flow(), GST_FLOW_OK);
  for (const GstEventType type : {GST_EVENT_STREAM_START, GST_EVENT_CAPS}) {
    ck_assert_int_eq(GST_EVENT_TYPE(stream.pop()->object.get()), type);
  }
  ck_assert(!stream.order.head());
}

DVNN_TEST(a_frame_is_removed_once_from_its_place) {
  Stream stream;
  stream.push_frame(0);
  const ItemPtr second = frame(1, false);
  stream.order.push_frame({second});
  stream.push_frame(2);
  ck_assert(stream.order.remove(second.get()));
  ck_assert(!stream.order.remove(second.get()));
  ck_assert_uint_eq(stream.order.frames(), 2);
  stream.pass(GST_FLOW_OK);
  ck_assert_uint_eq(pts_of(stream.pop()), 2);
}

// The list of work by itself: which region is run next, when an item is done, and what becomes of
// items whose frames have left. The test is every worker, and says what time it is.

namespace {

constexpr guint kWatchdogMs = 10;
constexpr int64_t kStart = 100, kInTime = kStart + 10000, kTooLate = kInTime + 1;  // microseconds

const Error kBroken{ErrorCode::kDevice, "it broke"};

}  // namespace

DVNN_TEST(regions_are_run_in_order_and_the_item_is_done_after_the_last) {
  WorkList list(2, "list");
  const ItemPtr one = frame_of(0, 2), two = frame_of(1, 1);
  list.add(one, 2, 1);
  list.add(two, 1, 1);
  ck_assert(!list.has_room());
  const WorkList::Run first = list.begin(5), second = list.begin(6), third = list.begin(7);
  ck_assert(first.item == one && first.region == 0);
  ck_assert(second.item == one && second.region == 1);
  ck_assert(third.item == two && third.region == 0);
  ck_assert(!list.has_next());
  // In whichever order they end.
  ck_assert(!list.end(second, {}, 8));
  ck_assert(list.end(third, {}, 9));
  ck_assert(list.has_room());
  ck_assert(list.end(first, {}, 10));
  ck_assert_int_eq(one->times.started, 5);
  ck_assert_int_eq(one->times.finished, 10);
  ck_assert_uint_eq(list.inferences(), 0);
  ck_assert(!list.is_running());
}

DVNN_TEST(an_item_that_is_being_filled_is_not_done) {
  WorkList list(2, "list");
  const ItemPtr item = frame_of(0, 3);
  list.add(item, 1, 0);
  ck_assert(!list.end(list.begin(1), {}, 2));
  ck_assert(!list.has_next() && item->runs.open);
  list.add_region(item.get());
  ck_assert(list.has_next() && item->runs.open);
  list.add_region(item.get());
  ck_assert(!item->runs.open);
  ck_assert(!list.end(list.begin(3), {}, 4));
  ck_assert(list.end(list.begin(5), {}, 6));
}

DVNN_TEST(after_an_error_nothing_of_the_item_is_run) {
  WorkList list(2, "list");
  const ItemPtr item = frame_of(0, 4), next = frame_of(1, 1);
  list.add(item, 4, 0);
  list.add(next, 1, 0);
  const WorkList::Run good = list.begin(1), bad = list.begin(2);
  ck_assert(!list.end(bad, kBroken, 3));
  // The next one's turn it is, while a run of this one is still under way.
  ck_assert(list.begin(4).item == next);
  ck_assert(list.end(good, Error{ErrorCode::kDevice, "later"}, 5));
  dvnn_assert_text(item->status.error().message, "it broke");
}

DVNN_TEST(an_item_without_regions_is_done_at_once) {
  WorkList list(1, "list");
  const ItemPtr item = frame_of(0, 0);
  list.add(item, 0, 7);
  ck_assert(item->runs.done && list.has_room() && !list.has_next());
  ck_assert_int_eq(item->times.finished, 7);
}

DVNN_TEST(an_item_that_is_given_up_makes_room_while_it_is_run) {
  WorkList list(1, "list");
  const ItemPtr item = frame_of(0, 2);
  list.add(item, 2, 0);
  const WorkList::Run run = list.begin(1);
  list.give_up(item.get());
  ck_assert(list.has_room() && !list.has_next() && list.is_running());
  ck_assert(list.end(run, {}, 2));
  ck_assert_uint_eq(list.inferences(), 0);
}

DVNN_TEST(frames_with_a_memory_are_run_one_after_the_other) {
  WorkList list(3, "list");
  const ItemPtr first = frame_of(0, 1), second = frame_of(1, 1), third = frame_of(2, 1);
  for (const ItemPtr& item : {first, second, third}) {
    item->has_memory = true;
    list.add(item, 1, 0);
  }
  const WorkList::Run run = list.begin(1);
  ck_assert(!list.has_next());
  ck_assert(list.end(run, {}, 2));
  ck_assert(list.has_next());
  // A run that was given up may never end, so the next frame does not wait for it.
  const WorkList::Run lost = list.begin(3);
  ck_assert(!list.has_next());
  list.give_up(second.get());
  ck_assert(list.has_next());
  const WorkList::Run last = list.begin(4);
  ck_assert(last.item == third);
  list.end(last, {}, 5);
  list.end(lost, {}, 6);
}

DVNN_TEST(the_watchdog_is_of_one_run) {
  WorkList list(2, "list");
  const ItemPtr item = frame_of(0, 3);
  list.add(item, 3, 0);
  ck_assert(!WorkList::is_overdue(*item, kWatchdogMs, kTooLate));  // no worker runs it
  const WorkList::Run first = list.begin(kStart);
  ck_assert(!WorkList::is_overdue(*item, kWatchdogMs, kInTime));
  ck_assert(WorkList::is_overdue(*item, kWatchdogMs, kTooLate));
  ck_assert_uint_eq(list.lost(kWatchdogMs, kInTime), 0);
  ck_assert_uint_eq(list.lost(kWatchdogMs, kTooLate), 1);
  ck_assert(!list.all_lost(kWatchdogMs, kTooLate));
  // Another region has moved meanwhile, but the first one's worker has not come back.
  const WorkList::Run second = list.begin(1000);
  ck_assert(!WorkList::is_overdue(*item, kWatchdogMs, kTooLate));
  ck_assert_uint_eq(list.lost(kWatchdogMs, kTooLate), 1);
  ck_assert(list.all_lost(kWatchdogMs, 1000 + kTooLate));
  list.end(first, {}, 2000);
  list.end(second, {}, 2000);
  ck_assert_uint_eq(list.lost(kWatchdogMs, 1000 + kTooLate), 0);
}

namespace {

constexpr int64_t kLongLater = 10001;  // microseconds after the start of late work

// Items whose frames have left, of the numbers 1, 2, …, each with a region to run.
struct Left {
  explicit Left(size_t count, size_t inferences = 9)
      : list(inferences, "late"), late(&list, "late") {
    for (size_t i = 0; i < count; ++i) {
      const ItemPtr item = frame_of(i, 1);
      item->number = i + 1;
      list.add(item, 1, 0);
      frames.push_back(split_off(item.get(), 0));
      late.add({item});
    }
  }
  void run(const WorkList::Run& run, Status status = {}) {
    if (list.end(run, std::move(status), 0)) late.end(*run.item);
  }

  WorkList list;
  LateWork late;
  InferItems frames;
};

}  // namespace

DVNN_TEST(a_frame_is_split_off_its_regions) {
  const ItemPtr item = frame_of(7, 2);
  item->number = 3;
  item->upstream_us = 5;
  item->times.arrived = 11;
  const ItemPtr frame = split_off(item.get(), 13);
  ck_assert(frame->is_frame() && frame->regions.empty() && frame->status.ok());
  ck_assert_uint_eq(pts_of(frame), 7);
  ck_assert_uint_eq(frame->number, 3);
  ck_assert_int_eq(frame->upstream_us, 5);
  ck_assert_int_eq(frame->times.arrived, 11);
  ck_assert_int_eq(frame->times.finished, 13);
  ck_assert(!item->object);
  ck_assert_uint_eq(item->regions.size(), 2);
}

DVNN_TEST(done_work_is_taken_in_the_order_in_which_it_was_done) {
  Left left(3);
  const WorkList::Run one = left.list.begin(0), two = left.list.begin(0);
  ck_assert(left.late.take_done().empty());
  left.run(two);
  left.run(one);
  const InferItems done = left.late.take_done();
  ck_assert_uint_eq(done.size(), 2);
  ck_assert(done.front()->late && done.front()->number == 2 && done.back()->number == 1);
  ck_assert(left.late.take_done().empty());
  ck_assert(left.late.is_under_way());  // the third
}

DVNN_TEST(failed_work_is_handed_out_by_itself) {
  Left left(1);
  ck_assert(!left.late.take_failed());
  left.run(left.list.begin(0), Error{ErrorCode::kDevice, "it broke"});
  ck_assert(left.late.has_failed() && left.late.take_done().empty());
  const ItemPtr failed = left.late.take_failed();
  ck_assert(failed->late && !failed->object);
  dvnn_assert_text(failed->status.error().message, "it broke");
  ck_assert(!left.late.has_failed());
}

DVNN_TEST(only_what_the_device_does_not_answer_about_is_given_up) {
  Left left(2);
  const WorkList::Run hangs = left.list.begin(0);
  left.late.give_up_lost(kWatchdogMs, kLongLater);
  const ItemPtr failed = left.late.take_failed();
  ck_assert(failed && failed != hangs.item && failed->late && failed->number == 1);
  ck_assert_ptr_nonnull(strstr(failed->status.error().message.c_str(), "watchdog"));
  ck_assert(!left.late.has_failed() && left.late.is_under_way());
  ck_assert_uint_eq(left.list.inferences(), 1);
  // The result of a worker that returns too late is dropped.
  left.run(hangs);
  ck_assert(left.late.take_done().empty());
  // With no worker left, nothing will be run.
  Left all(2, 1);
  all.list.begin(0);
  all.late.give_up_lost(kWatchdogMs, kLongLater);
  ck_assert(all.late.take_failed() && all.late.take_failed());
  ck_assert(!all.late.is_under_way() && !all.list.has_next());
}

DVNN_TEST(what_is_dropped_is_neither_run_nor_told) {
  Left left(4);
  left.run(left.list.begin(0));
  left.run(left.list.begin(0), Error{ErrorCode::kDevice, "it broke"});
  const WorkList::Run under_way = left.list.begin(0);
  left.late.drop();
  ck_assert(!left.list.has_next() && left.list.has_room());
  ck_assert_uint_eq(left.list.inferences(), 0);
  left.run(under_way);
  ck_assert(left.late.take_done().empty() && !left.late.has_failed());
}

}  // namespace dvnn::test::queue_parts_tests
