// SPDX-License-Identifier: Apache-2.0
// The order in which lists run, and the threads that run them.
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check_suite.h"
#include "soft_library.h"

namespace dvnn::test::queue_tests {

DVNN_SUITE(softdv_queue);

using dvnn::test::fn;

namespace {

// Returns how often the calling thread has gone to sleep.
int64_t own_sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// Packs the weights of a command whose result is a number, or the sum of its input (eight eighths
// of it) and the number.
void pack_sum(bool adds, size_t number, uint8_t* to) {
  const std::vector<half_t> eighths(64, float_to_half(adds ? 0.125f : 0));
  const std::vector<half_t> numbers(8, float_to_half(static_cast<float>(number)));
  pack_weights({8, 8, 1, 1, false, false, false},
               {nullptr, eighths.data(), numbers.data(), nullptr}, to);
}

// Random lists, each of which reads cells of one memory and writes cells of another, or of the
// same. A command's result is a number, or the sum of its input and a number. Cells are as
// small_command() has them.
class RandomLists {
 public:
  explicit RandomLists(unsigned seed) : random_(seed) {
    for (size_t i = 0; i < kMemories; ++i) {
      memories_.push_back(fn().mem_alloc(ctx_, kCells * kCellBytes));
      data_.push_back(reinterpret_cast<half_t*>(fn().mem_map(memories_.back())));
      std::memset(data_.back(), 0, kCells * kCellBytes);
    }
    // Every second number stands alone, so that sums stay far below 2048, up to which binary16 has
    // all whole numbers.
    weights_ = fn().mem_alloc(ctx_, kNumbers * kPackedBytes);
    uint8_t* const packed = fn().mem_map(weights_);
    for (size_t k = 0; k < kNumbers; ++k) pack_sum(adds(k), k + 1, packed + k * kPackedBytes);
  }
  ~RandomLists() {
    for (dmp_dv_cmdlist list : lists_) fn().cmdlist_release(list);
    for (dmp_dv_mem memory : memories_) fn().mem_release(memory);
    fn().mem_release(weights_);
    fn().context_release(ctx_);
  }
  RandomLists(const RandomLists&) = delete;
  RandomLists& operator=(const RandomLists&) = delete;

  // Makes lists, and works out by hand what is in the cells when all have run.
  void make(int count) {
    for (int i = 0; i < count; ++i) {
      dmp_dv_cmdlist list = fn().cmdlist_create(ctx_);
      const auto from = static_cast<size_t>(below(kMemories));
      const auto to = static_cast<size_t>(below(kMemories));
      for (int left = 1 + below(200); left > 0; --left) add_command(list, from, to);
      ck_assert_int_eq(fn().cmdlist_commit(list), 0);
      lists_.push_back(list);
    }
  }
  void run_all() {
    int64_t last = 0;
    for (dmp_dv_cmdlist list : lists_) {
      last = fn().cmdlist_exec(list);
      ck_assert_int_gt(last, 0);
    }
    ck_assert_int_eq(fn().cmdlist_wait(lists_.back(), last), 0);
  }
  void check() const {
    for (size_t m = 0; m < kMemories; ++m) {
      for (size_t c = 0; c < kCells; ++c) {
        const float found = half_to_float(data_[m][c * kCellBytes / sizeof(half_t)]);
        ck_assert_msg(found == static_cast<float>(wanted_[m][c]),
                      "cell %zu of memory %zu is %g, not %d", c, m, double{found}, wanted_[m][c]);
      }
    }
  }

 private:
  static constexpr size_t kMemories = 5, kCells = 4, kCellBytes = 256, kNumbers = 16;
  static constexpr size_t kPackedBytes = 2048;  // what the weights take, and more

  static bool adds(size_t number) { return number % 2 == 0; }
  int below(size_t limit) { return static_cast<int>(random_() % limit); }
  void add_command(dmp_dv_cmdlist list, size_t from, size_t to) {
    const auto in = static_cast<size_t>(below(kCells)), out = static_cast<size_t>(below(kCells));
    const auto number = static_cast<size_t>(below(kNumbers));
    dmp_dv_cmdraw_conv_v0 command = small_command(memories_[from]);
    command.input_buf.offs = in * kCellBytes;
    command.output_buf.mem = memories_[to];
    command.output_buf.offs = out * kCellBytes;
    command.run[0].weight_buf.mem = weights_;
    command.run[0].weight_buf.offs = number * kPackedBytes;
    ck_assert_int_eq(fn().cmdlist_add_raw(list, &command.header), 0);
    wanted_[to][out] = (adds(number) ? wanted_[from][in] : 0) + static_cast<int>(number) + 1;
  }

  std::mt19937 random_;
  dmp_dv_context ctx_ = fn().context_create();
  std::vector<dmp_dv_mem> memories_;
  std::vector<half_t*> data_;
  dmp_dv_mem weights_ = nullptr;
  std::vector<dmp_dv_cmdlist> lists_;
  int wanted_[kMemories][kCells] = {};
};

}  // namespace

DVNN_TEST(lists_that_run_at_once_have_the_results_of_one_after_the_other) {
  const int rounds = dvnn_rounds(200);
  for (int round = 0; round < rounds; ++round) {
    RandomLists lists(dvnn_seed(1) + static_cast<unsigned>(round));
    lists.make(40);
    lists.run_all();
    lists.check();
  }
}

// A short list may have run before a long one that was submitted before it, and is waited for.
DVNN_TEST(a_wait_is_for_all_lists_before_it) {
  constexpr int kLists = 40, kRounds = 20, kLong = 200;
  std::vector<Fixture> all(kLists);
  for (int i = 0; i < kLists; ++i) {
    Fixture& f = all[static_cast<size_t>(i)];
    for (int left = i % 2 == 0 ? kLong : 1; left > 0; --left) {
      ck_assert_int_eq(f.add(small_command(f.mem)), 0);
    }
    ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
    set_values(fn().mem_map(f.mem), 1, 2);
  }
  for (int round = 0; round < kRounds; ++round) {
    int64_t last = 0;
    for (Fixture& f : all) {
      std::memset(fn().mem_map(f.mem) + 256, 0, 256);
      last = fn().cmdlist_exec(f.list);
    }
    ck_assert_int_eq(fn().cmdlist_wait(all.back().list, last), 0);
    for (Fixture& f : all) {
      const auto* result = reinterpret_cast<const half_t*>(fn().mem_map(f.mem) + 256);
      ck_assert(half_to_float(result[127]) == 16);
    }
  }
}

// Lists that run at once have their own transient bytes, though they name the same memory.
DVNN_TEST(lists_with_one_transient_memory_run_at_once) {
  constexpr size_t kLists = 24, kSize = 4096, kOwn = 256;
  constexpr int kSteps = 60, kMostRounds = 10000;
  Bench weights;
  pack_sum(true, 1, weights.data);
  const dmp_dv_mem shared = fn().mem_alloc(weights.ctx, kSize);
  ck_assert_int_eq(fn().soft_transient(shared), 0);
  ck_assert_int_eq(fn().soft_transient(shared), EINVAL);
  ck_assert_int_eq(fn().soft_transient(nullptr), EINVAL);
  std::vector<Fixture> all(kLists);
  for (size_t i = 0; i < kLists; ++i) {
    Fixture& f = all[i];
    const auto add = [&](dmp_dv_mem from, uint64_t from_at, dmp_dv_mem to, uint64_t to_at) {
      dmp_dv_cmdraw_conv_v0 command = small_command(from);
      command.input_buf.offs = from_at;
      command.output_buf.mem = to;
      command.output_buf.offs = to_at;
      command.run[0].weight_buf = weights.at(0);
      ck_assert_int_eq(f.add(command), 0);
    };
    add(f.mem, 0, shared, 0);
    for (int k = 0; k < kSteps; ++k) {
      add(shared, k % 2 * kOwn, shared, (k + 1) % 2 * kOwn);
    }
    add(shared, kSteps % 2 * kOwn, f.mem, kOwn);
    ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
    auto* const own = reinterpret_cast<half_t*>(fn().mem_map(f.mem));
    std::fill_n(own, 128, float_to_half(static_cast<float>(8 * i)));
  }
  ck_assert_int_eq(fn().soft_transient(shared), EINVAL);
  // A second list that runs makes room for its bytes. How soon one does is up to the system.
  const int64_t before = total_size();
  const bool has_lanes = std::thread::hardware_concurrency() > 1;
  int round = 0;
  do {
    int64_t last = 0;
    for (Fixture& f : all) last = fn().cmdlist_exec(f.list);
    ck_assert_int_eq(fn().cmdlist_wait(all.back().list, last), 0);
    for (size_t i = 0; i < kLists; ++i) {
      const auto* own = reinterpret_cast<const half_t*>(fn().mem_map(all[i].mem) + kOwn);
      const float wanted = static_cast<float>(8 * i) + kSteps + 2;
      ck_assert_msg(half_to_float(own[127]) == wanted, "list %zu makes %g, not %g", i,
                    double{half_to_float(own[127])}, double{wanted});
    }
  } while (has_lanes && total_size() == before && ++round < kMostRounds);
  ck_assert(round < kMostRounds);
  fn().mem_release(shared);
}

DVNN_TEST(lists_run_on_the_thread_that_waits_for_them) {
  Fixture f;
  ck_assert_int_eq(fn().soft_run(nullptr, nullptr, 0), EINVAL);
  ck_assert_int_eq(f.add(small_command(f.mem)), 0);
  ck_assert_int_eq(fn().soft_run(f.list, nullptr, 0), -1);  // not committed
  ck_assert_int_eq(fn().cmdlist_commit(f.list), 0);
  uint8_t* data = fn().mem_map(f.mem);
  set_values(data, 1, 2);
  int64_t times[2] = {0, -5};
  ck_assert_int_eq(fn().soft_run(f.list, times, 2), 0);
  ck_assert(half_to_float(reinterpret_cast<half_t*>(data)[128]) == 16);
  ck_assert(times[0] > 0 && times[1] == -5);  // there is one command
}

DVNN_TEST(lists_of_the_worker_and_of_waiting_threads_take_their_turns) {
  Fixture first;
  Fixture second;
  uint8_t* data = fn().mem_map(first.mem);
  set_values(data, 1, 0.5f);
  dmp_dv_cmdraw_conv_v0 after = small_command(first.mem);
  after.input_buf.offs = 256;
  after.output_buf.offs = 4096;
  ck_assert_int_eq(first.add(small_command(first.mem)), 0);
  ck_assert_int_eq(second.add(after), 0);
  ck_assert_int_eq(fn().cmdlist_commit(first.list), 0);
  ck_assert_int_eq(fn().cmdlist_commit(second.list), 0);
  for (int i = 0; i < 200; ++i) {
    std::memset(data + 256, 0, 256);
    std::memset(data + 4096, 0, 256);
    ck_assert_int_gt(fn().cmdlist_exec(first.list), 0);
    ck_assert_int_eq(fn().soft_run(second.list, nullptr, 0), 0);
    ck_assert(half_to_float(reinterpret_cast<half_t*>(data)[2048]) == 16);
  }
}

DVNN_TEST(shared_work_is_done_once_beside_lists) {
  constexpr int kPieces = 300, kRounds = 40;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&failures] {
      for (int round = 0; round < kRounds; ++round) {
        std::vector<std::atomic<int>> done(kPieces);
        fn().soft_share(
            kPieces,
            [](void* work, int i) {
              ++(*static_cast<std::vector<std::atomic<int>>*>(work))[static_cast<size_t>(i)];
            },
            &done);
        for (const auto& times : done) failures += times != 1;
      }
    });
  }
  threads.emplace_back([&failures] {
    Fixture f;
    if (f.add(small_command(f.mem)) != 0 || fn().cmdlist_commit(f.list) != 0) ++failures;
    for (int round = 0; round < kRounds; ++round) {
      failures += fn().soft_run(f.list, nullptr, 0) != 0;
      failures += fn().cmdlist_wait(f.list, fn().cmdlist_exec(f.list)) != 0;
    }
  });
  for (std::thread& thread : threads) thread.join();
  ck_assert_int_eq(failures, 0);
}

DVNN_TEST(threads_share_the_device) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&failures] {
      for (int i = 0; i < 25; ++i) {
        Fixture f;
        if (f.add(small_command(f.mem)) != 0 || fn().cmdlist_commit(f.list) != 0 ||
            fn().cmdlist_wait(f.list, fn().cmdlist_exec(f.list)) != 0) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ck_assert_int_eq(failures, 0);
  ck_assert_int_eq(total_size(), 0);
}

// Of many threads that wait for their lists only whose list has run is woken: it sleeps once for a
// list. If all were woken after each list, each would sleep about once for every list of the
// others.
DVNN_TEST(nobody_is_woken_for_the_lists_of_others) {
  constexpr int kThreads = 12, kRounds = 40, kCommands = 100;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0}, failures{0};
  std::atomic<int64_t> sleeps{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Fixture f;
      for (int i = 0; i < kCommands; ++i) failures += f.add(small_command(f.mem)) != 0;
      failures += fn().cmdlist_commit(f.list) != 0;
      for (++ready; ready < kThreads;) std::this_thread::yield();
      const int64_t before = own_sleeps();
      for (int i = 0; i < kRounds; ++i) failures += fn().soft_run(f.list, nullptr, 0) != 0;
      sleeps += own_sleeps() - before;
    });
  }
  for (std::thread& thread : threads) thread.join();
  ck_assert_int_eq(failures, 0);
  ck_assert_int_lt(sleeps, 3 * kThreads * kRounds);
}

}  // namespace dvnn::test::queue_tests
