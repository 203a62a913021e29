// SPDX-License-Identifier: Apache-2.0
// Late work by itself: what becomes of items whose frames have left. The test is every worker, and
// says what time it is.
#include "infer/queue/latework.h"

#include <cstring>

#include "queue_bench.h"

namespace dvnn::test::late_work_tests {

DVNN_SUITE(late_work);

namespace {

constexpr guint kWatchdogMs = 10;
constexpr int64_t kTooLate = 10001;  // microseconds after the start

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
  left.late.give_up_lost(kWatchdogMs, kTooLate);
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
  all.late.give_up_lost(kWatchdogMs, kTooLate);
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

}  // namespace dvnn::test::late_work_tests
