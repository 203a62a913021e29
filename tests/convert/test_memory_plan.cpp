// SPDX-License-Identifier: Apache-2.0
#include "convert/memory_plan.h"

#include <random>

#include "check_main.h"

using namespace dvnn::convert;

START_TEST(buffers_that_live_together_do_not_overlap) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedBuffer> buffers(1 + random() % 40);
    uint64_t sum = 0;
    for (PlannedBuffer& b : buffers) {
      b.size = 1 + random() % 5000;
      b.birth = static_cast<int>(random() % 30);
      b.death = b.birth + static_cast<int>(random() % 6);
      sum += b.size + kBufferAlignment;
    }
    const uint64_t total = plan_memory(&buffers);
    ck_assert_uint_le(total, sum);
    for (size_t i = 0; i < buffers.size(); ++i) {
      ck_assert_uint_eq(buffers[i].offset % kBufferAlignment, 0);
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
END_TEST

START_TEST(a_chain_takes_the_two_largest_neighbours) {
  std::vector<PlannedBuffer> chain = {
      {640, 0, 1, 0}, {1280, 1, 2, 0}, {640, 2, 3, 0}, {320, 3, 4, 0}};
  ck_assert_uint_eq(plan_memory(&chain), 1920);
}
END_TEST

DVNN_TEST_MAIN(memory_plan, buffers_that_live_together_do_not_overlap,
               a_chain_takes_the_two_largest_neighbours)
