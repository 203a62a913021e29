// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace dvnn::plan {
namespace {

using Order = std::vector<size_t>;

uint64_t aligned(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

bool live_together(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.birth <= b.death && b.birth <= a.death;
}

// Places buffers in the given order, each at the lowest free offset. Returns the total size, or
// stops once it is no better than `limit`.
uint64_t place(const Order& order, uint64_t limit, std::vector<PlannedBuffer>* buffers) {
  std::vector<const PlannedBuffer*> placed;  // by offset
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

// Free space by offset and by size, for buffers with lifetimes.
class FreeSpace {
 public:
  // Takes the smallest free block that is large enough, the lowest of equals; else a new one at the
  // end.
  uint64_t take(uint64_t size) {
    const auto it = sizes_.lower_bound({size, 0});
    if (it == sizes_.end()) return std::exchange(end_, end_ + size);
    const auto [bytes, offset] = *it;
    remove(offset, bytes);
    if (bytes > size) insert(offset + size, bytes - size);
    return offset;
  }

  // Frees a block and joins it with its free neighbours.
  void give(uint64_t offset, uint64_t size) {
    auto next = offsets_.lower_bound(offset);
    if (next != offsets_.end() && next->first == offset + size) {
      const uint64_t more = next->second;
      remove(offset + size, more);
      size += more;
    }
    next = offsets_.lower_bound(offset);
    if (next != offsets_.begin()) {
      const auto [start, bytes] = *std::prev(next);
      if (start + bytes == offset) {
        remove(start, bytes);
        offset = start;
        size += bytes;
      }
    }
    insert(offset, size);
  }

  uint64_t end() const { return end_; }

 private:
  void insert(uint64_t offset, uint64_t size) {
    offsets_[offset] = size;
    sizes_.insert({size, offset});
  }
  void remove(uint64_t offset, uint64_t size) {
    offsets_.erase(offset);
    sizes_.erase({size, offset});
  }

  std::map<uint64_t, uint64_t> offsets_;           // size by offset
  std::set<std::pair<uint64_t, uint64_t>> sizes_;  // size, offset
  uint64_t end_ = 0;
};

// For more buffers than a search could handle: each gets an offset when its life begins and frees
// it at the end. Offsets are multiples of the largest alignment, so that each suits every buffer.
uint64_t place_in_time(std::vector<PlannedBuffer>* buffers) {
  uint64_t unit = kDeviceAlignment;
  for (const PlannedBuffer& b : *buffers) unit = std::max(unit, b.alignment);
  std::vector<size_t> born(buffers->size());
  std::iota(born.begin(), born.end(), size_t{0});
  std::vector<size_t> dying = born;
  std::stable_sort(born.begin(), born.end(),
                   [&](size_t a, size_t b) { return (*buffers)[a].birth < (*buffers)[b].birth; });
  std::stable_sort(dying.begin(), dying.end(),
                   [&](size_t a, size_t b) { return (*buffers)[a].death < (*buffers)[b].death; });
  FreeSpace space;
  size_t dead = 0;
  for (size_t i : born) {
    PlannedBuffer& buffer = (*buffers)[i];
    for (; (*buffers)[dying[dead]].death < buffer.birth; ++dead) {
      const PlannedBuffer& gone = (*buffers)[dying[dead]];
      space.give(gone.offset, aligned(gone.size, unit));
    }
    buffer.offset = space.take(aligned(buffer.size, unit));
  }
  return space.end();
}

// Keeps the best of the plans that were tried.
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

  // Tries to improve the best order by swapping two buffers at a time.
  void improve() {
    constexpr size_t kMostWork = 4000000;  // number of buffers placed: a fraction of a second
    constexpr size_t kMany = 512;  // number of buffers from which on each trial compares too many
    std::minstd_rand random(1);
    const size_t n = buffers_.size(), cost = n * std::max<size_t>(1, n / kMany);
    for (size_t work = 0; n > 2 && best_ > least_ && work < kMostWork; work += cost) {
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
  // At each step: the bytes of buffers that begin there, and of those that ended before.
  std::map<int, uint64_t> born, dead;
  for (const PlannedBuffer& b : buffers) {
    const uint64_t size = aligned(b.size, b.alignment);
    born[b.birth] += size;
    dead[b.death] += size;
  }
  uint64_t alive = 0, most = 0;
  auto gone = dead.begin();
  for (const auto& [step, bytes] : born) {
    for (; gone != dead.end() && gone->first < step; ++gone) alive -= gone->second;
    alive += bytes;
    most = std::max(most, alive);
  }
  return most;
}

uint64_t plan_memory(std::vector<PlannedBuffer>* buffers) {
  if (buffers->empty()) return 0;
  using B = const PlannedBuffer&;
  auto area = [](B b) { return b.size * static_cast<uint64_t>(b.death - b.birth + 1); };
  const std::vector<PlannedBuffer> given = *buffers;
  constexpr size_t kMostSearched = 4096;
  if (given.size() > kMostSearched) return place_in_time(buffers);
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
