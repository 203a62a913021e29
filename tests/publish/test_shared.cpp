// SPDX-License-Identifier: Apache-2.0
// Entries that are shared by mosquitto's retained messages.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "base/format.h"
#include "check_suite.h"
#include "publish/shared_topic.h"
#include "server_process.h"
#include "temporary_folder.h"
#include "waiting.h"

namespace dvnn::test::shared_topic_tests {

DVNN_SUITE(publish_shared);

using publish::SharedEntry;
using publish::SharedTopic;

namespace {

class Broker {
 public:
  // `more`: further lines of its configuration.
  explicit Broker(const std::string& more = "") {
    std::ofstream(folder_.file("conf")) << "listener " << port() << " 127.0.0.1\n"
                                        << "allow_anonymous true\nmax_queued_messages 0\n"
                                        << "log_dest none\nuser root\n"
                                        << more;
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{kMosquitto, "-c", folder_.file("conf")}, port());
    server_->start();
  }
  int port() const { return port_.number(); }
  ServerProcess& server() { return *server_; }

 private:
  OwnPort port_;
  TemporaryFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

// One side: what it has, by the newest version.
class Side {
 public:
  explicit Side(const Broker& broker, std::vector<SharedEntry> own = {},
                const char* scheme = "mqtt://127.0.0.1:", const publish::Options& options = {}) {
    for (SharedEntry& entry : own) entries_[entry.id] = std::move(entry);
    publish::SharedHooks hooks;
    hooks.came = [this](const std::string& id, const std::string& line) {
      const auto version = std::atoll(line.substr(line.find(':') + 1).c_str());
      const std::lock_guard<std::mutex> lock(mutex_);
      SharedEntry& known = entries_[id];
      if (known.line.empty() || known.version < version) known = {id, line, version};
      SharedTopic* const topic = sends_;
      if (known.version > version && topic) topic->send(id, known.line);
      changed_.notify_all();
    };
    hooks.all = [this] {
      std::vector<SharedEntry> all;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [id, entry] : entries_) all.push_back(entry);
      }
      asked.add();
      return all;
    };
    hooks.state = [this](const std::string& why) { (why.empty() ? up : lost).add(); };
    const auto address = publish::parse_address(scheme + std::to_string(broker.port())).value();
    auto opened = publish::open_shared_topic(address, options, "home/gallery", std::move(hooks));
    ck_assert_msg(opened.ok(), "%s", opened.ok() ? "" : opened.error().message.c_str());
    topic_ = std::move(opened.value());
    sends_ = topic_.get();
  }
  void set(const SharedEntry& entry) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      entries_[entry.id] = entry;
    }
    topic_->send(entry.id, entry.line);
  }
  void remove(const std::string& id) { topic_->send(id, ""); }
  void until(const std::string& id, int64_t version) {
    std::unique_lock<std::mutex> lock(mutex_);
    wait_watched(&changed_, &lock, "an entry", [&] {
      const auto found = entries_.find(id);
      return found != entries_.end() && found->second.version == version;
    });
  }
  void until_count(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    wait_watched(&changed_, &lock, "entries", [&] { return entries_.size() == count; });
  }
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }

  Count up, lost, asked;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, SharedEntry> entries_;
  std::atomic<SharedTopic*> sends_{nullptr};
  std::unique_ptr<SharedTopic> topic_;  // ends first
};

SharedEntry entry(const std::string& id, int64_t version) {
  return {id, format("{\"version\":%lld}", static_cast<long long>(version)), version};
}

}  // namespace

DVNN_TEST(a_change_reaches_those_that_are_there_and_those_that_come) {
  if (!there_is_a_broker()) return;
  Broker broker;
  Side door(broker), yard(broker);
  door.asked.until(1);
  yard.asked.until(1);
  door.set(entry("ada", 1));
  yard.until("ada", 1);
  Side late(broker);
  late.until("ada", 1);
  // Removed, it is not told to those that come.
  door.set(entry("bob", 1));
  yard.until("bob", 1);
  door.remove("ada");
  door.set(entry("bob", 2));
  yard.until("bob", 2);
  Side later(broker);
  later.until("bob", 2);
  later.asked.until(1);
  ck_assert_uint_eq(later.size(), 1);
}

// The broker has lost everything, or has older versions: who connects brings what is newer, and
// takes what is newer there.
DVNN_TEST(both_sides_bring_what_is_newer) {
  if (!there_is_a_broker()) return;
  Broker broker;
  Side door(broker, {entry("ada", 5), entry("bob", 5)});
  door.asked.until(1);
  Side yard(broker, {entry("ada", 4), entry("bob", 6), entry("eve", 1)});
  yard.until("ada", 5);
  door.until("bob", 6);
  door.until("eve", 1);
  Side late(broker);
  late.until("ada", 5);
  late.until("bob", 6);
  late.until("eve", 1);
  broker.server().stop(SIGKILL);
  door.lost.until(1);
  door.set(entry("ada", 7));  // nobody hears of it yet
  broker.server().start();
  yard.until("ada", 7);
  Side last(broker);
  last.until("ada", 7);
  last.until("eve", 1);
}

DVNN_TEST(thousands_of_entries_come) {
  if (!there_is_a_broker()) return;
  Broker broker;
  const size_t count = static_cast<size_t>(dvnn_rounds(3000)) + 10;
  std::vector<SharedEntry> own;
  for (size_t i = 0; i < count; ++i) {
    own.push_back(
        {"p" + std::to_string(i), "{\"version\":3,\"x\":\"" + std::string(3000, 'x') + "\"}", 3});
  }
  Side door(broker, own);
  door.asked.until(1);
  Side yard(broker);
  yard.until_count(count);
}

// A gallery has faces' embeddings: nobody else hears them, and nobody else's are taken.
DVNN_TEST(entries_go_to_a_broker_with_the_right_certificate_alone) {
  if (!there_is_a_broker()) return;
  const Certificates certificates;
  if (!certificates.made()) return;
  for (const auto& one : Certificates::kCases) {
    const Broker broker("certfile " + certificates.certificate(one.host) + "\nkeyfile " +
                        certificates.key(one.host) + "\n");
    publish::Options options;
    if (one.authority) options["ca"] = certificates.certificate(one.authority);
    Side door(broker, {entry("ada", 1)}, "mqtts://localhost:", options);
    if (!one.good) {
      door.lost.until(1);
      ck_assert_msg(door.asked.value() == 0, "%s", one.text().c_str());
      continue;
    }
    door.asked.until(1);
    Side yard(broker, {}, "mqtts://localhost:", options);
    yard.until("ada", 1);
  }
}

DVNN_TEST(what_cannot_be_shared_is_refused) {
  const auto open = [](const char* url, const publish::Options& options, const char* topic) {
    return publish::open_shared_topic(publish::parse_address(url).value(), options, topic, {})
        .error()
        .message;
  };
  ck_assert_ptr_nonnull(strstr(open("http://a", {}, "t").c_str(), "not http:"));
  ck_assert_ptr_nonnull(strstr(open("mqtt://a", {}, "a/#").c_str(), "no MQTT topic"));
  ck_assert_ptr_nonnull(strstr(open("mqtt://a", {{"qos", "1"}}, "t").c_str(), "qos"));
}

// Without a broker it ends at once, and tells once per try that there is none.
DVNN_TEST(without_a_broker_it_waits_and_ends) {
  OwnPort port;
  Count told;
  publish::SharedHooks hooks;
  hooks.state = [&](const std::string& why) {
    ck_assert(!why.empty());
    told.add();
  };
  auto opened = publish::open_shared_topic(
      publish::parse_address("mqtt://127.0.0.1:" + std::to_string(port.number())).value(), {}, "t",
      std::move(hooks));
  ck_assert(opened.ok());
  told.until(1);
  opened.value()->send("ada", "{}");
}

}  // namespace dvnn::test::shared_topic_tests
