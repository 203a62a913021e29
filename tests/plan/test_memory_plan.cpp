// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/memory_plan.h"

#include <random>

#include "check_suite.h"

namespace dvnn::test::memory_plan_tests {

DVNN_SUITE(plan_memory_plan);

using namespace dvnn::plan;

DVNN_TEST(buffers_that_live_together_do_not_overlap) {
  std::mt19937 random(dvnn_seed(4));
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    std::vector<PlannedBuffer> buffers(1 + random() % 40);
    uint64_t sum = 0;
    for (PlannedBuffer& b : buffers) {
      b.size = 1 + random() % 5000;
      b.birth = static_cast<int>(random() % 30);
      b.death = b.birth + static_cast<int>(random() % 6);
      b.alignment = random() % 3 ? kDeviceAlignment : kCpuAlignment;
      sum += b.size + kCpuAlignment;
    }
    const uint64_t total = plan_memory(&buffers);
    ck_assert_uint_le(total, sum);
    ck_assert_uint_ge(total, least_memory(buffers));
    for (size_t i = 0; i < buffers.size(); ++i) {
      ck_assert_uint_eq(buffers[i].offset % buffers[i].alignment, 0);
      ck_assert_uint_le(buffers[i].offset + buffers[i].size, total);
      for (size_t k = 0; k < i; ++k) {
        const PlannedBuffer &a = buffers[i], &b = buffers[k];
        const bool together = a.birth <= b.death && b.birth <= a.death;
        const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
        ck_assert(!together || apart);
      }
    }
  }
}

DVNN_TEST(a_chain_takes_the_two_largest_neighbours) {
  std::vector<PlannedBuffer> chain = {{640, 0, 1}, {1280, 1, 2}, {640, 2, 3}, {320, 3, 4}};
  ck_assert_uint_eq(plan_memory(&chain), 1920);
}

// None of the orders that are tried first needs less than 208 bytes here.
DVNN_TEST(orders_are_exchanged_where_that_helps) {
  std::vector<PlannedBuffer> buffers = {{16, 0, 1}, {48, 2, 3}, {64, 2, 5},
                                        {96, 5, 7}, {16, 0, 2}, {64, 2, 4}};
  ck_assert_uint_eq(least_memory(buffers), 192);
  ck_assert_uint_eq(plan_memory(&buffers), 192);
}

// More buffers than the search covers: pairs, and then one buffer in the place of both, whichever
// of them has the lower place.
DVNN_TEST(free_places_side_by_side_become_one) {
  std::vector<PlannedBuffer> buffers;
  for (int step = 0; step < 4000; step += 4) {
    buffers.push_back({16, step, step});
    buffers.push_back({16, step, step});
    buffers.push_back({32, step + 1, step + 1});
    buffers.push_back({16, step + 2, step + 3});
    buffers.push_back({16, step + 2, step + 2});
  }
  ck_assert_uint_eq(plan_memory(&buffers), 32);
  for (size_t i = 0; i < buffers.size(); i += 5) {
    ck_assert_uint_ne(buffers[i].offset, buffers[i + 1].offset);
    ck_assert_uint_eq(buffers[i + 2].offset, 0);
    ck_assert_uint_ne(buffers[i + 3].offset, buffers[i + 4].offset);
  }
}

}  // namespace dvnn::test::memory_plan_tests
