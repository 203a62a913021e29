// SPDX-License-Identifier: Apache-2.0
#include "infer/slotpool.h"

#include <thread>
#include <vector>

#include "check_suite.h"
#include "clocks.h"
#include "grid_network.h"
#include "infer/slotmeta.h"

namespace dvnn::test::slot_pool_tests {

DVNN_SUITE(slot_pool);

using namespace dvnn::gst;

namespace {

using std::chrono::milliseconds;
using Taker = SlotPool::Taker;

std::shared_ptr<SlotPool> make_pool(const SlotCounts& counts,
                                    const Clock& clock = Clock::steady()) {
  auto device = device::Device::open("soft");
  ck_assert(device.ok());
  auto network = network::Network::create(test::grid_network(), device.value());
  ck_assert(network.ok());
  auto pool = SlotPool::create(network.value(), counts, nullptr, clock);
  ck_assert(pool.ok());
  return pool.value();
}

SlotPtr take(const std::shared_ptr<SlotPool>& pool, Taker taker, milliseconds patience = {}) {
  auto taken = pool->take(taker, patience);
  ck_assert(taken.ok());
  return taken.value().slot;
}

}  // namespace

DVNN_TEST(upstream_can_never_have_the_reserve) {
  const auto pool = make_pool({3, 2, 2});
  std::vector<SlotPtr> upstream;
  while (SlotPtr slot = take(pool, Taker::kUpstream)) upstream.push_back(slot);
  ck_assert_uint_eq(upstream.size(), 3);
  std::vector<SlotPtr> own;
  while (SlotPtr slot = take(pool, Taker::kOwn)) own.push_back(slot);
  ck_assert_uint_eq(own.size(), 2);
  own.pop_back();
  ck_assert(!take(pool, Taker::kUpstream));
  ck_assert(take(pool, Taker::kOwn));
}

DVNN_TEST(a_slot_returns_when_its_last_copy_goes) {
  const auto pool = make_pool({1, 0, 1});
  SlotPtr slot = take(pool, Taker::kUpstream);
  SlotPtr copy = slot;
  slot.reset();
  ck_assert(!take(pool, Taker::kUpstream));
  copy.reset();
  ck_assert(take(pool, Taker::kUpstream));
}

DVNN_TEST(a_wait_ends_when_a_slot_returns) {
  ManualClock clock;
  const auto pool = make_pool({1, 0, 1}, clock);
  SlotPtr slot = take(pool, Taker::kUpstream);
  std::thread giver([&] {
    clock.until_waiting(1);
    slot.reset();
  });
  ck_assert(take(pool, Taker::kUpstream, milliseconds(1)));
  giver.join();
}

DVNN_TEST(a_wait_ends_with_the_patience) {
  ManualClock clock;
  const auto pool = make_pool({1, 0, 1}, clock);
  const SlotPtr slot = take(pool, Taker::kUpstream);
  std::thread time([&] {
    for (int i = 0; i < 10; ++i) {
      clock.until_waiting(1);
      clock.advance(milliseconds(1));
    }
  });
  auto taken = pool->take(Taker::kUpstream, milliseconds(10));
  time.join();
  ck_assert(taken.ok() && !taken.value().slot);
  ck_assert(taken.value().outcome == SlotPool::Outcome::kNoneFree);
  ck_assert(taken.value().waited == milliseconds(10));
}

DVNN_TEST(flushing_ends_all_waits) {
  ManualClock clock;
  const auto pool = make_pool({1, 0, 1}, clock);
  const SlotPtr slot = take(pool, Taker::kUpstream);
  std::thread flusher([&] {
    clock.until_waiting(1);
    pool->set_flushing(true);
  });
  auto taken = pool->take(Taker::kUpstream, milliseconds(1));
  flusher.join();
  ck_assert(taken.ok() && taken.value().outcome == SlotPool::Outcome::kFlushing);
}

DVNN_TEST(slots_outlive_the_pool_that_made_them) {
  auto pool = make_pool({2, 0, 1});
  const SlotPtr slot = take(pool, Taker::kUpstream);
  pool.reset();
  ck_assert((*slot)->run().ok());
}

DVNN_TEST(the_network_is_busy_until_runs_have_finished) {
  const auto pool = make_pool({4, 2, 2});
  const SlotPtr first = take(pool, Taker::kUpstream), second = take(pool, Taker::kUpstream);
  ck_assert(pool->busy());
  pool->finished(first);
  ck_assert(!pool->busy());
  pool->finished(first);  // counts once
  const SlotPtr third = take(pool, Taker::kUpstream);
  ck_assert(pool->busy());
}

DVNN_TEST(views_are_allowed_only_while_slots_are_plenty) {
  const auto pool = make_pool({2, 2, 2});
  const SlotPtr first = take(pool, Taker::kUpstream);
  ck_assert(pool->plenty());
  const SlotPtr second = take(pool, Taker::kUpstream);
  // Kept as views, these two would leave nothing but the reserve.
  ck_assert(!pool->plenty());
}

DVNN_TEST(a_frames_slot_is_taken_once_by_its_own_network) {
  gst_init(nullptr, nullptr);
  const auto pool = make_pool({2, 0, 2}), other = make_pool({1, 0, 1});
  GstBuffer* frame = gst_buffer_new();
  attach_slot(frame, {take(pool, Taker::kUpstream), {}});
  GstBuffer* copy = gst_buffer_copy(frame);
  ck_assert(!take_slot(frame, other->network().get()).has_value());
  auto filled = take_slot(copy, pool->network().get());
  ck_assert(filled.has_value() && filled->slot);
  ck_assert(!take_slot(frame, pool->network().get()).has_value());
  // The frames that are still there hold nothing.
  filled.reset();
  ck_assert_uint_eq(pool->free_count(), 2);
  gst_buffer_unref(frame);
  gst_buffer_unref(copy);
}

DVNN_TEST(a_tensor_that_others_read_is_not_run_in_place) {
  gst_init(nullptr, nullptr);
  const auto pool = make_pool({1, 0, 1});
  GstBuffer* tensor = slot_buffer(take(pool, Taker::kUpstream)).release();
  ck_assert(!take_slot_memory(tensor, pool->network().get()).has_value());  // not written
  mark_slot_written(tensor);
  gst_buffer_ref(tensor);
  ck_assert(!take_slot_memory(tensor, pool->network().get()).has_value());
  gst_buffer_unref(tensor);
  ck_assert(take_slot_memory(tensor, pool->network().get()).has_value());
  ck_assert(!take_slot_memory(tensor, pool->network().get()).has_value());
  gst_buffer_unref(tensor);
  ck_assert_uint_eq(pool->free_count(), 1);
}

}  // namespace dvnn::test::slot_pool_tests
