// SPDX-License-Identifier: Apache-2.0
// Hand-overs of random runs, followed byte by byte through a cache that does the worst it may, and
// a network behind such caches.
#include "network/handover.h"

#include <algorithm>
#include <random>

#include "base/nth.h"
#include "check_suite.h"
#include "grid_network.h"
#include "network/network.h"

namespace dvnn::test::handover_tests {

DVNN_SUITE(handover);

using namespace dvnn::network;

namespace {

constexpr uint64_t kBytes = 48;  // of the memory; a line is a byte

// Each byte as the versions that memory and cache have; a write makes a new one.
class Caches {
 public:
  Caches() : memory_(kBytes, 0), cache_(kBytes, 0), dirty_(kBytes, false), newest_(kBytes, 0) {}

  void to_device(const ByteRange& range) {
    each(range, [&](size_t i) { clean(i); });
  }
  void to_cpu(const ByteRange& range) {
    each(range, [&](size_t i) {
      ck_assert_msg(!nth(dirty_, i), "byte %zu is lost in the cache", i);
      nth(cache_, i) = nth(memory_, i);
    });
  }
  void write(bool by_device, const ByteRange& range) {
    each(range, [&](size_t i) {
      nth(newest_, i) = ++version_;
      if (by_device) {
        ck_assert_msg(!nth(dirty_, i), "byte %zu is written beside a cache that has it", i);
        nth(memory_, i) = version_;
      } else {
        nth(cache_, i) = version_;
        nth(dirty_, i) = true;
      }
    });
  }
  void read(bool by_device, const ByteRange& range) {
    each(range, [&](size_t i) {
      const int seen = nth(by_device ? memory_ : cache_, i);
      ck_assert_msg(seen == nth(newest_, i), "the %s reads byte %zu as it was",
                    by_device ? "device" : "CPU", i);
    });
  }

 private:
  void clean(size_t i) {
    if (nth(dirty_, i)) nth(memory_, i) = nth(cache_, i);
    nth(dirty_, i) = false;
  }
  template <typename Visit>
  static void each(const ByteRange& range, Visit&& visit) {
    for (uint64_t i = range.offset; i < range.end(); ++i) visit(static_cast<size_t>(i));
  }

  std::vector<int> memory_, cache_;
  std::vector<bool> dirty_;
  std::vector<int> newest_;
  int version_ = 0;
};

class RandomRun {
 public:
  explicit RandomRun(uint32_t seed) : random_(seed) {
    input_ = range();
    written_ = {input_};
    const int stages = 1 + below(6);
    for (int i = 0; i < stages; ++i) {
      const bool by_device = below(2) != 0;
      stages_.emplace_back();
      const int steps = by_device ? 1 + below(3) : 1;
      for (int k = 0; k < steps; ++k) stages_.back().push_back(use(by_device));
    }
    outputs_ = {nth(written_, static_cast<size_t>(below(static_cast<int>(written_.size()))))};
    if (outputs_[0].offset == input_.offset) cpu_reads_input_ = true;
  }

  /// Runs three times; with a half of the input, as pixels are, where the device alone reads it.
  void follow() {
    const HandoverPlan plan = plan_handovers(stages_, input_, outputs_);
    const bool hands_over = plan.begins_with_input;
    const auto& handovers = plan.before;
    ck_assert_uint_eq(handovers.size(), stages_.size() + 1);
    Caches caches;
    for (int i = 0; i < 3; ++i) {
      const bool half = hands_over && !cpu_reads_input_ && i > 0;
      const ByteRange written = {input_.offset, half ? input_.bytes / 2 : input_.bytes};
      caches.write(false, written);
      if (hands_over) caches.to_device(written);
      for (size_t s = 0; s < stages_.size(); ++s) {
        hand_over(handovers[s], &caches);
        for (const MemoryUse& use : stages_[s]) {
          for (const ByteRange& r : use.reads) caches.read(use.by_device, r);
          for (const ByteRange& r : use.writes) caches.write(use.by_device, r);
        }
      }
      hand_over(handovers.back(), &caches);
      for (const ByteRange& r : outputs_) caches.read(false, r);
    }
  }

 private:
  static void hand_over(const Handover& handover, Caches* caches) {
    uint64_t end = 0;
    for (const ByteRange& r : handover.to_device) {
      ck_assert_msg(end == 0 || r.offset > end, "neighbours are one call");
      end = r.end();
      caches->to_device(r);
    }
    for (const ByteRange& r : handover.to_cpu) caches->to_cpu(r);
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  ByteRange range() {
    const auto offset = static_cast<uint64_t>(below(static_cast<int>(kBytes) - 1));
    return {offset, 1 + static_cast<uint64_t>(below(static_cast<int>(kBytes - offset)))};
  }
  // Reads what was written as a whole, and not overwritten since.
  MemoryUse use(bool by_device) {
    MemoryUse use;
    use.by_device = by_device;
    for (const ByteRange& r : written_) {
      if (below(2) == 0) continue;
      use.reads.push_back(r);
      if (!by_device && r.offset == input_.offset) cpu_reads_input_ = true;
    }
    const ByteRange made = range();
    use.writes = {made};
    written_.erase(std::remove_if(written_.begin(), written_.end(),
                                  [&](const ByteRange& r) { return r.meets(made); }),
                   written_.end());
    written_.push_back(made);
    return use;
  }

  std::mt19937 random_;
  ByteRange input_;
  bool cpu_reads_input_ = false;
  std::vector<ByteRange> written_;  // whole
  StageUses stages_;
  std::vector<ByteRange> outputs_;
};

}  // namespace

DVNN_TEST(no_run_reads_or_overwrites_what_lies_in_a_cache) {
  const auto first = dvnn_seed(std::random_device{}());
  std::printf("runs from seed %u\n", first);
  const auto runs = static_cast<uint32_t>(dvnn_rounds(20000));
  for (uint32_t i = 0; i < runs; ++i) RandomRun(first + i).follow();
}

DVNN_TEST(what_goes_from_layer_to_layer_stays_in_the_cache) {
  // A command, two layers and a command, each with memory of its own.
  const StageUses stages = {{{true, {{0, 64}}, {{64, 64}}}},
                            {{false, {{64, 64}}, {{128, 64}}}},
                            {{false, {{128, 64}}, {{192, 64}}}},
                            {{true, {{192, 64}}, {{256, 64}}}}};
  const std::vector<ByteRange> outputs = {{256, 64}};
  const HandoverPlan plan = plan_handovers(stages, {0, 64}, outputs);
  ck_assert(plan.begins_with_input);
  const HandoverCount count = count_handovers(plan, {0, 64});
  ck_assert_uint_eq(count.to_device, 64 + 64);  // the input, and the second layer's result
  ck_assert_uint_eq(count.to_cpu, 128);         // the first layer's input, and the output
  ck_assert_uint_eq(count.crossing, 64 + 192);
  ck_assert_int_eq(count.calls, 1 + 3);
}

DVNN_TEST(a_layer_that_comes_first_reads_the_input_from_the_cache) {
  const StageUses stages = {{{false, {{0, 64}}, {{64, 64}}}}};
  const std::vector<ByteRange> outputs = {{64, 64}};
  const HandoverPlan plan = plan_handovers(stages, {0, 64}, outputs);
  ck_assert(!plan.begins_with_input);
  for (const Handover& handover : plan.before) {
    ck_assert(handover.to_device.empty() && handover.to_cpu.empty());
  }
}

// Each layer's memory begins a byte behind the one before: cells would be as many as layers, and
// each layer would touch all of them.
DVNN_TEST(thousands_of_layers_over_one_memory_take_no_square_of_time) {
  const auto layers = static_cast<uint64_t>(dvnn_rounds(60000));
  StageUses stages;
  for (uint64_t i = 0; i < layers; ++i)
    stages.push_back({{false, {{i, layers}}, {{i + 1, layers}}}});
  const std::vector<ByteRange> outputs = {{layers, layers}};
  const HandoverPlan plan = plan_handovers(stages, {0, layers}, outputs);
  const HandoverCount count = count_handovers(plan, {0, layers});
  ck_assert_int_eq(count.calls, 0);
}

DVNN_TEST(caches_that_do_the_worst_change_no_result) {
  const char* path = std::getenv("DVNN_CACHE_DEVICE");
  if (!path) return;
  std::vector<std::vector<float>> scores;
  for (const char* selector : {"soft", path}) {
    auto device = device::Device::open(selector);
    ck_assert_msg(device.ok(), "%s", device.ok() ? "" : device.error().message.c_str());
    auto network = Network::create(test::grid_network(), device.value());
    ck_assert(network.ok());
    auto slot = network.value()->create_slot();
    ck_assert(slot.ok());
    for (int run = 0; run < 3; ++run) {
      const TensorDesc& desc = network.value()->input_desc();
      std::vector<float> picture(desc.shape.count(), 0.0f);
      for (size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<float>((i + 1) % 7) / 8;
      write_nchw(picture.data(), {desc, slot.value()->input().data()});
      ck_assert(slot.value()->run().ok());
    }
    scores.emplace_back(32);
    read_nchw(slot.value()->output(1), scores.back().data());
  }
  ck_assert(scores[0] == scores[1]);
}

}  // namespace dvnn::test::handover_tests
