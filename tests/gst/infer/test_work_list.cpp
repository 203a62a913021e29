// SPDX-License-Identifier: Apache-2.0
// The list of work by itself: which region is run next, when an item is done, and what becomes of
// items whose frames have left. The test is every worker, and says what time it is.
#include <cstring>

#include "infer/queue/worklist.h"
#include "queue_bench.h"

namespace dvnn::test::work_list_tests {

DVNN_SUITE(work_list);

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

}  // namespace dvnn::test::work_list_tests
