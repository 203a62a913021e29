// SPDX-License-Identifier: Apache-2.0
// Frame after frame, the tracker works in the memory that it has.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>

#include "check_suite.h"
#include "counted_new.h"
#include "track/tracker.h"

namespace dvnn::test::memory_tests {

DVNN_SUITE(track_memory);

using namespace dvnn::track;

namespace {

// Two hundred things on a grid, each on its way, whose boxes touch their neighbours'.
std::vector<Detection> crowd(int frame, std::mt19937* random) {
  std::vector<Detection> all;
  for (int i = 0; i < 200; ++i) {
    const double jitter = static_cast<double>((*random)() % 1000) / 500;
    const double x = 34.0 * (i % 20) + 2 * std::sin(0.1 * frame + i) + jitter;
    const double y = 70.0 * static_cast<int>(i / 20) + jitter;
    Detection detection;
    detection.box = {x, y, x + 40, y + 80};
    all.push_back(detection);
  }
  return all;
}

}  // namespace

DVNN_TEST(two_hundred_things_take_no_memory_of_their_own) {
  std::mt19937 random(3);
  std::vector<std::vector<Detection>> frames;
  for (int i = 0; i < 120; ++i) frames.push_back(crowd(i, &random));
  TrackIds ids;
  Tracker tracker(&ids);
  const auto run = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      tracker.update(static_cast<Time>(40 * i) * kMillisecond, {800, 800}, frames[i]);
    }
  };
  run(0, 20);
  const size_t before = test::counted_news;
  const std::clock_t began = std::clock();
  run(20, 120);
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  ck_assert_uint_eq(test::counted_news, before);
  ck_assert_uint_eq(ids.last, 200);
  std::printf("200 objects: %.3f ms of CPU time a frame\n", 1000 * seconds / 100);
}

// Where looks are known, and one thing in ten is hidden in turn.
DVNN_TEST(looks_take_no_memory_of_their_own) {
  std::mt19937 random(3);
  std::vector<std::vector<float>> looks(200, std::vector<float>(64));
  for (auto& look : looks) {
    for (float& value : look) value = static_cast<float>(random() % 2001) / 1000 - 1;
  }
  std::vector<std::vector<Detection>> frames;
  for (int i = 0; i < 120; ++i) {
    std::vector<Detection> seen;
    const std::vector<Detection> all = crowd(i, &random);
    for (size_t k = 0; k < all.size(); ++k) {
      if ((static_cast<size_t>(i) / 5 + k) % 10 == 0) continue;
      seen.push_back(all[k]);
      seen.back().embedding = looks[k];
    }
    frames.push_back(std::move(seen));
  }
  TrackIds ids;
  Tracker tracker(&ids);
  size_t before = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i == 60) before = test::counted_news;
    tracker.update(static_cast<Time>(40 * i) * kMillisecond, {800, 800}, frames[i]);
  }
  ck_assert_uint_eq(test::counted_news, before);
}

}  // namespace dvnn::test::memory_tests
