// SPDX-License-Identifier: Apache-2.0
#include "plan/memory_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

namespace dvnn::plan {
namespace {

using Order = std::vector<size_t>;

uint64_t aligned(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

bool live_together(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.birth <= b.death && b.birth <= a.death;
}

// Places buffers in that order, each at the lowest free place; stops once it is no better than
// `limit`.
uint64_t place(const Order& order, uint64_t limit, std::vector<PlannedBuffer>* buffers) {
  std::vector<const PlannedBuffer*> placed;  // in the order of their offsets
  uint64_t total = 0;
  for (size_t i : order) {
    PlannedBuffer& buffer = (*buffers)[i];
    const uint64_t size = aligned(buffer.size, buffer.alignment);
    uint64_t at = 0;
    for (const PlannedBuffer* other : placed) {
      if (!live_together(*other, buffer)) continue;
      if (other->offset >= at + size) break;  // the gap before it is large enough
      const uint64_t end = other->offset + aligned(other->size, other->alignment);
      at = std::max(at, aligned(end, buffer.alignment));
    }
    buffer.offset = at;
    total = std::max(total, at + size);
    if (total >= limit) return total;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer,
                                   [](const PlannedBuffer* a, const PlannedBuffer* b) {
                                     return a->offset < b->offset;
                                   }),
                  &buffer);
  }
  return total;
}

// The best of the plans that were tried.
class Search {
 public:
  explicit Search(const std::vector<PlannedBuffer>& buffers)
      : buffers_(buffers), least_(least_memory(buffers)) {}

  void try_order(const Order& order) {
    std::vector<PlannedBuffer> plan = buffers_;
    const uint64_t total = place(order, best_, &plan);
    if (total >= best_) return;
    best_ = total;
    best_order_ = order;
    best_plan_ = std::move(plan);
  }

  void try_sorted(const std::function<bool(const PlannedBuffer&, const PlannedBuffer&)>& before) {
    Order order(buffers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(buffers_[a], buffers_[b]); });
    try_order(order);
  }

  // Exchanges two places of the best order at a time.
  void improve() {
    constexpr size_t kMostWork = 4000000;  // buffers placed; a fraction of a second
    std::minstd_rand random(1);
    const size_t n = buffers_.size();
    for (size_t work = 0; n > 2 && best_ > least_ && work < kMostWork; work += n) {
      Order order = best_order_;
      std::swap(order[random() % n], order[random() % n]);
      if (random() % 2) std::swap(order[random() % n], order[random() % n]);
      try_order(order);
    }
  }

  uint64_t best() const { return best_; }
  const std::vector<PlannedBuffer>& plan() const { return best_plan_; }

 private:
  const std::vector<PlannedBuffer>& buffers_;
  uint64_t least_;
  uint64_t best_ = UINT64_MAX;
  Order best_order_;
  std::vector<PlannedBuffer> best_plan_;
};

}  // namespace

uint64_t least_memory(const std::vector<PlannedBuffer>& buffers) {
  uint64_t most = 0;
  for (const PlannedBuffer& at : buffers) {
    uint64_t sum = 0;
    for (const PlannedBuffer& b : buffers) {
      const bool alive = b.birth <= at.birth && at.birth <= b.death;
      if (alive) sum += aligned(b.size, b.alignment);
    }
    most = std::max(most, sum);
  }
  return most;
}

uint64_t plan_memory(std::vector<PlannedBuffer>* buffers) {
  if (buffers->empty()) return 0;
  using B = const PlannedBuffer&;
  auto area = [](B b) { return b.size * static_cast<uint64_t>(b.death - b.birth + 1); };
  const std::vector<PlannedBuffer> given = *buffers;
  Search search(given);
  search.try_sorted([](B a, B b) { return a.size > b.size; });
  search.try_sorted([&](B a, B b) { return area(a) > area(b); });
  search.try_sorted([](B a, B b) { return a.birth < b.birth; });
  // Source: dv-sdk converter, connect_layers().
  search.try_sorted(
      [](B a, B b) { return a.death != b.death ? a.death > b.death : a.birth > b.birth; });
  search.improve();
  *buffers = search.plan();
  return search.best();
}

}  // namespace dvnn::plan
