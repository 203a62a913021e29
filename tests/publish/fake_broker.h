// SPDX-License-Identifier: Apache-2.0
// A broker that is made of nothing but what brokers do wrong, and the way to it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "publish/transports/transport.h"
#include "waiting.h"

namespace dvnn::test::publisher_tests {

using publish::Listener;
using publish::Message;
using publish::Transport;
using std::chrono::milliseconds;

// A broker that remembers what arrived. Each connection gets messages in order; when it dies, those
// on their way arrive or do not, and their acknowledgements are lost.
class Broker {
 public:
  explicit Broker(milliseconds settling_time = {}) : settling(settling_time) {}

  const milliseconds settling;

  void kill() {
    change([this] { ++kills; });
  }
  void set_away(bool so) {
    change([=] { away = so; });
  }
  void set_silent(bool so) {
    change([=] { silent = so; });
  }
  /// The next one that is killed has forgotten that many of what it has acknowledged.
  void set_forgetful(size_t count) {
    change([=] { forgets = count; });
  }
  /// Waits until the newest connection is of a broker that was not killed yet.
  void until_served() {
    until([this] { return served == kills; });
  }
  /// Waits until that many messages are on their way to it.
  void until_coming(size_t count) {
    until([=] { return coming.size() >= count; });
  }
  std::vector<int> all() {
    const std::lock_guard<std::mutex> lock(mutex);
    return received;
  }

 private:
  friend class FakeTransport;
  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard<std::mutex> lock(mutex);
    change();
    changed.notify_all();
  }
  template <typename Condition>
  void until(const Condition& is_so) {
    std::unique_lock<std::mutex> lock(mutex);
    wait_watched(&changed, &lock, "the broker", is_so);
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> received;
  bool away = false, silent = false;
  int kills = 0, served = -1;  // served: the number of kills before the newest connection
  size_t forgets = 0;
  std::deque<std::pair<uint64_t, int>> coming;  // tokens and numbers
};

class FakeTransport final : public Transport {
 public:
  FakeTransport(Broker* broker, Listener* listener) : broker_(*broker), listener_(listener) {}
  ~FakeTransport() override { close(); }
  void connect() override {
    close();
    {
      const std::lock_guard<std::mutex> lock(broker_.mutex);
      dead_ = broker_.away;
      stopping_ = false;
      if (!dead_) {
        kills_ = broker_.served = broker_.kills;
        broker_.changed.notify_all();
      }
    }
    if (dead_) return listener_->lost("the broker is away");
    listener_->ready({});
    thread_ = std::thread([this] { serve(); });
  }
  bool send(uint64_t token, const Message& message) override {
    const std::lock_guard<std::mutex> lock(broker_.mutex);
    if (dead_ || stopping_) return false;
    broker_.coming.push_back({token, std::atoi(message.body.c_str())});
    broker_.changed.notify_all();
    return true;
  }
  size_t window() const override { return 10; }
  milliseconds settling() const override { return broker_.settling; }
  void close() override {
    broker_.change([this] { stopping_ = true; });
    if (thread_.joinable()) thread_.join();
    broker_.change([this] { broker_.coming.clear(); });
  }

 private:
  void serve() {
    std::mt19937 random(static_cast<unsigned>(kills_));
    std::unique_lock<std::mutex> lock(broker_.mutex);
    for (;;) {
      const auto has_died = [this] { return broker_.kills != kills_ || broker_.away; };
      broker_.changed.wait(lock, [&] {
        return stopping_ || has_died() || (!broker_.coming.empty() && !broker_.silent);
      });
      if (stopping_) return;
      if (has_died()) {
        dead_ = true;
        // Some arrive all the same.
        for (size_t i = random() % 5; i > 0 && !broker_.coming.empty(); --i) take();
        const size_t forgotten = std::min(broker_.received.size(), broker_.forgets);
        broker_.received.resize(broker_.received.size() - forgotten);
        lock.unlock();
        return listener_->lost("the broker was killed");
      }
      std::vector<uint64_t> tokens;
      for (size_t i = 1 + random() % 4; i > 0 && !broker_.coming.empty(); --i) {
        tokens.push_back(take());
      }
      std::shuffle(tokens.begin(), tokens.end(), random);
      lock.unlock();
      for (const uint64_t token : tokens) listener_->acknowledged(token);
      lock.lock();
    }
  }
  uint64_t take() {
    const auto [token, number] = broker_.coming.front();
    broker_.coming.pop_front();
    broker_.received.push_back(number);
    return token;
  }

  Broker& broker_;
  Listener* const listener_;
  std::thread thread_;
  // Under the broker's mutex.
  bool dead_ = true, stopping_ = false;
  int kills_ = 0;
};

}  // namespace dvnn::test::publisher_tests
