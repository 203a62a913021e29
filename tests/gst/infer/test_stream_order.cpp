// SPDX-License-Identifier: Apache-2.0
// The rules of a stream by themselves: no lock, no worker, no clock.
#include "infer/queue/streamorder.h"

#include "queue_bench.h"

namespace dvnn::test::stream_order_tests {

DVNN_SUITE(stream_order);

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

}  // namespace dvnn::test::stream_order_tests
