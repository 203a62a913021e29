// SPDX-License-Identifier: Apache-2.0
// Slots, and the request for a tensor in one, on its way up: what dvinfer writes into the
// ALLOCATION query, dvconvert reads.
#include <thread>
#include <vector>

#include "check_suite.h"
#include "clocks.h"
#include "grid_network.h"
#include "infer/slotmeta.h"
#include "infer/slotpool.h"
#include "infer/tensorrequest.h"
#include "refs.h"

namespace dvnn::test::slots_tests {

DVNN_SUITE(slots);

using namespace dvnn::gst;
using std::chrono::milliseconds;
using Taker = SlotPool::Taker;

namespace {

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

namespace {

QueryPtr allocation() {
  gst_init(nullptr, nullptr);
  return QueryPtr(gst_query_new_allocation(nullptr, FALSE));
}

TensorRequest request_of(int width) {
  TensorRequest request;
  request.desc = {ElementType::kFloat16, Layout::kWhc8, {1, 3, 4, width}};
  request.input.mean = {1, 2, 3};
  request.takes_pixels = request.prefers_pixels = true;
  request.intake = std::make_shared<Intake>();
  return request;
}

}  // namespace

DVNN_TEST(a_request_arrives_as_it_was_asked) {
  const QueryPtr query = allocation();
  const TensorRequest asked = request_of(8);
  set_tensor_request(query.get(), asked);
  const auto got = get_tensor_request(query.get());
  ck_assert(got.has_value());
  ck_assert(got->desc == asked.desc);
  ck_assert(got->input.mean == asked.input.mean);
  ck_assert(got->takes_pixels && got->prefers_pixels);
  ck_assert(got->intake == asked.intake);  // shared, not copied
}

DVNN_TEST(only_the_nearest_dvinfers_request_stays) {
  const QueryPtr query = allocation();
  set_tensor_request(query.get(), request_of(8));
  set_tensor_request(query.get(), request_of(16));
  ck_assert_int_eq(get_tensor_request(query.get())->desc.shape.w(), 16);
  ck_assert_uint_eq(gst_query_get_n_allocation_metas(query.get()), 1);
}

DVNN_TEST(a_query_of_others_holds_no_request) {
  const QueryPtr query = allocation();
  ck_assert(!get_tensor_request(query.get()));
  // The API is there, but without what we write: an element has copied the list of APIs.
  set_tensor_request(query.get(), request_of(8));
  const GType api = gst_query_parse_nth_allocation_meta(query.get(), 0, nullptr);
  gst_query_remove_nth_allocation_meta(query.get(), 0);
  gst_query_add_allocation_meta(query.get(), api, nullptr);
  ck_assert(!get_tensor_request(query.get()));
}

}  // namespace dvnn::test::slots_tests
