// SPDX-License-Identifier: Apache-2.0
// MQTT with mosquitto, which the tests start, kill and start again. DVNN_SOAK_MESSAGES and
// DVNN_SOAK_DEATHS make two of them long: tests/publish/soak.
#include <poll.h>
#include <sys/inotify.h>

#include "check_suite.h"
#include "clocks.h"
#include "mqtt_library.h"
#include "publish/document.h"
#include "publish/publisher.h"
#include "server_process.h"
#include "temporary_folder.h"
#include "told.h"

namespace dvnn::test::mqtt_tests {

DVNN_SUITE(publish_mqtt);

using publish::Options;
using publish::Publisher;
using publish::PublisherSettings;
using std::chrono::milliseconds;

namespace {

int64_t number_of(const char* name, int64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : usual;
}

// A broker that writes down what it has taken and not passed on: at its end, and each second, which
// would be half an hour otherwise.
class Broker {
 public:
  explicit Broker(const std::string& more = "") {
    std::ofstream(folder_.file("conf"))
        << "listener " << port() << " 127.0.0.1\nallow_anonymous true\npersistence true\n"
        << "persistence_location " << folder_.path() << "/\nautosave_interval 1\n"
        << "max_queued_messages 0\nmax_inflight_messages 1000\n"
        << "log_dest none\nuser root\n"
        << more;
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{kMosquitto, "-c", folder_.file("conf")}, port());
  }
  void start() { server_->start(); }
  void end(int signal) { server_->stop(signal); }
  // Waits until it has stored its subscribers.
  void wait_until_saved() const {
    const int changes = inotify_init1(IN_CLOEXEC);
    ck_assert_int_ge(inotify_add_watch(changes, folder_.path().c_str(), IN_CREATE | IN_MOVED_TO),
                     0);
    std::filesystem::remove(folder_.file("mosquitto.db"));
    while (!std::filesystem::exists(folder_.file("mosquitto.db"))) {
      pollfd one{changes, POLLIN, 0};
      ck_assert_int_eq(poll(&one, 1, static_cast<int>(milliseconds(kWatchdog).count())), 1);
      char which[4096];
      ck_assert_int_gt(read(changes, which, sizeof(which)), 0);
    }
    close(changes);
  }
  // Loses what it has written.
  void forget() const { std::filesystem::remove(folder_.file("mosquitto.db")); }
  int port() const { return port_.number(); }
  std::string url(const char* scheme = "mqtt") const {
    return std::string(scheme) + "://localhost:" + std::to_string(port());
  }

 private:
  TemporaryFolder folder_;
  const OwnPort port_;
  std::unique_ptr<ServerProcess> server_;
};

// Stays subscribed over the broker's deaths.
class Subscriber {
 public:
  Subscriber(int port, const char* topic, int qos) : topic_(topic), qos_(qos) {
    mosquitto_lib_init();
    client_ = mosquitto_new("reader", false, this);
    mosquitto_reconnect_delay_set(client_, 1, 1, false);
    mosquitto_connect_callback_set(client_, [](mosquitto* client, void* data, int) {
      auto* self = static_cast<Subscriber*>(data);
      mosquitto_subscribe(client, nullptr, self->topic_, self->qos_);
    });
    mosquitto_subscribe_callback_set(client_, [](mosquitto*, void* data, int, int, const int*) {
      static_cast<Subscriber*>(data)->subscribed_.open();
    });
    mosquitto_message_callback_set(
        client_, [](mosquitto*, void* data, const mosquitto_message* message) {
          auto* self = static_cast<Subscriber*>(data);
          const std::string body(static_cast<const char*>(message->payload),
                                 static_cast<size_t>(message->payloadlen));
          if (std::strstr(message->topic, "/status")) {
            const std::lock_guard<std::mutex> lock(self->mutex_);
            self->statuses_.push_back(body);
            self->changed_.notify_all();
          } else {
            self->arrivals.add(std::atoll(body.c_str()));
          }
        });
    ck_assert_int_eq(mosquitto_connect(client_, "127.0.0.1", port, 60), MOSQ_ERR_SUCCESS);
    mosquitto_loop_start(client_);
    subscribed_.wait();
  }
  ~Subscriber() {
    // By force, the thread would end wherever it is, perhaps with a mutex, which is then destroyed.
    mosquitto_disconnect(client_);
    mosquitto_loop_stop(client_, false);
    mosquitto_destroy(client_);
  }
  std::vector<std::string> statuses() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return statuses_;
  }
  void until_statuses(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    wait_watched(&changed_, &lock, "statuses", [&] { return statuses_.size() >= count; });
  }
  Arrivals arrivals;

 private:
  const char* const topic_;
  const int qos_;
  mosquitto* client_ = nullptr;
  Gate subscribed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> statuses_;
};

// That it is gone, a publisher may say twice: by itself, and by its will, where the broker sees the
// connection end before the goodbye.
void expect_online_then_offline(Subscriber* subscriber) {
  subscriber->until_statuses(2);
  const auto statuses = subscriber->statuses();
  ck_assert_ptr_nonnull(std::strstr(statuses[0].c_str(), "\"state\":\"online\""));
  for (size_t i = 1; i < statuses.size(); ++i) {
    ck_assert_ptr_nonnull(std::strstr(statuses[i].c_str(), "\"state\":\"offline\""));
  }
}

PublisherSettings hasty() {
  PublisherSettings settings;
  settings.least_pause = milliseconds(20);
  settings.longest_pause = milliseconds(200);
  return settings;
}

void start(Publisher* publisher, const std::string& url, const Options& options) {
  const auto address = publish::parse_address(url);
  ck_assert(address.ok());
  const Status status =
      publisher->start(address.value(), options, {"cam", publish::new_session(), "t/cam"});
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

void say(Publisher* publisher, int64_t number) {
  publisher->publish({"t/cam", "cam", std::to_string(number)});
}

}  // namespace

DVNN_TEST(each_version_and_quality_of_service_delivers_in_order) {
  if (!there_is_a_broker()) return;
  for (const char* version : {"auto", "3.1.1", "5"}) {
    for (const char* qos : {"0", "1", "2"}) {
      Broker broker;
      broker.start();
      Subscriber subscriber(broker.port(), "t/#", 2);
      Told told;
      Publisher publisher(hasty(), told.tell());
      start(&publisher, broker.url(), {{"version", version}, {"qos", qos}});
      for (int i = 0; i < 500; ++i) say(&publisher, i);
      ck_assert(publisher.flush(std::chrono::minutes(1)));
      subscriber.arrivals.until(500);
      subscriber.arrivals.expect(500);
      ck_assert_int_eq(subscriber.arrivals.again(), 0);
      publisher.stop();
      const bool is_5 = version == std::string("5") ||
                        (version == std::string("auto") && the_library_bears_any_answer());
      dvnn_assert_text(told.connected(), is_5 ? "MQTT 5" : "MQTT 3.1.1");
      expect_online_then_offline(&subscriber);
    }
  }
}

namespace {

void expect_nothing_lost_where_a_broker_dies_by(int signal) {
  if (!there_is_a_broker()) return;
  const int64_t messages = number_of("DVNN_SOAK_MESSAGES", 6000);
  const int64_t deaths = number_of("DVNN_SOAK_DEATHS", 2);
  TemporaryFolder folder;
  Broker broker;
  broker.start();
  Subscriber subscriber(broker.port(), "t/cam", 1);
  broker.wait_until_saved();
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  settings.spool_bounds.most_bytes = uint64_t{1} << 30;
  Told told;
  const RealClock clock;
  Publisher publisher(settings, told.tell(), clock);
  const auto begin = std::chrono::steady_clock::now();
  start(&publisher, broker.url(), {{"qos", "1"}});
  std::thread killer([&] {
    for (int64_t death = 1; death <= deaths; ++death) {
      // While messages are under way, as often as not while the last outage is still caught up.
      subscriber.arrivals.until(messages * death / (deaths + 1));
      const int losses = told.losses();
      broker.end(signal);
      told.until_losses(losses + 1);
      broker.start();
    }
  });
  for (int64_t i = 0; i < messages; ++i) {
    clock.until([&] { return publisher.stats().queued <= 800; });
    say(&publisher, i);
  }
  const int patience = static_cast<int>(20 + messages / 1000);
  const bool flushed = publisher.flush(milliseconds(patience * 1000));
  ck_assert(flushed);
  subscriber.arrivals.until(messages);
  subscriber.arrivals.expect(messages);
  killer.join();
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.dropped, 0);
  ck_assert_uint_ge(stats.losses, static_cast<uint64_t>(deaths));
  std::printf("%ld messages, %ld deaths: %ld arrived, %ld too early, %ld twice, in %.1f s\n",
              static_cast<long>(messages), static_cast<long>(deaths),
              static_cast<long>(subscriber.arrivals.next()),
              static_cast<long>(subscriber.arrivals.overtaken()),
              static_cast<long>(subscriber.arrivals.again()),
              std::chrono::duration<double>(took).count());
}

}  // namespace

DVNN_TEST(a_broker_that_ends_under_load_loses_nothing) {
  expect_nothing_lost_where_a_broker_dies_by(SIGTERM);
}

DVNN_TEST(a_broker_that_is_killed_under_load_loses_nothing) {
  expect_nothing_lost_where_a_broker_dies_by(SIGKILL);
}

DVNN_TEST(wrong_certificates_are_refused) {
  if (!there_is_a_broker()) return;
  const Certificates certificates;
  if (!certificates.made()) return;
  for (const auto& one : Certificates::kCases) {
    Broker broker("certfile " + certificates.certificate(one.host) + "\nkeyfile " +
                  certificates.key(one.host) + "\n");
    broker.start();
    Told told;
    Publisher publisher(hasty(), told.tell());
    Options options;
    if (one.authority) options["ca"] = certificates.certificate(one.authority);
    start(&publisher, broker.url("mqtts"), options);
    say(&publisher, 0);
    if (one.good) {
      ck_assert_msg(publisher.flush(kWatchdog), "%s", one.text().c_str());
      continue;
    }
    ck_assert_msg(!told.lost().empty(), "%s: nobody is told", one.text().c_str());
    ck_assert_msg(publisher.stats().delivered == 0, "%s", one.text().c_str());
  }
}

namespace {

// A process that publishes until it is killed, once it is told to begin: each message when the one
// before has arrived.
class PublishingProcess {
 public:
  PublishingProcess(const std::string& url, const Options& options) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    begin_ = ends[1];
    process_ = fork();
    ck_assert_int_ge(process_, 0);
    if (process_ > 0) {
      close(ends[0]);
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char word = 0;
    if (read(ends[0], &word, 1) != 1) _exit(1);
    Publisher publisher(hasty(), [](publish::Notice, const std::string&) {});
    start(&publisher, url, options);
    for (int64_t number = 0;; ++number) {
      say(&publisher, number);
      publisher.flush(kWatchdog);
    }
  }
  ~PublishingProcess() { end(); }
  PublishingProcess(const PublishingProcess&) = delete;
  PublishingProcess& operator=(const PublishingProcess&) = delete;

  void begin() const { ck_assert_int_eq(write(begin_, "b", 1), 1); }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(begin_);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
  int begin_ = -1;
};

}  // namespace

// Whatever dies, a broker has the newest value of each topic, and nothing else: each connection
// says them anew, and what was recalled is what another client had retained.
DVNN_TEST(what_is_kept_is_retained_by_a_broker_that_has_forgotten_it) {
  if (!there_is_a_broker()) return;
  for (const char* version : {"3.1.1", "5"}) {
    Broker broker("retain_available true\n");
    broker.start();
    Told told;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> heard;
    PublisherSettings settings = hasty();
    settings.recalled = [&](const std::string& topic, const std::string& body) {
      const std::lock_guard<std::mutex> lock(mutex);
      heard.push_back(topic + "=" + body);
      changed.notify_all();
    };
    {
      Subscriber reader(broker.port(), "t/cam/status", 1);
      Publisher earlier(hasty(), told.tell());
      start(&earlier, broker.url(), {{"version", version}});
      earlier.keep("t/kept", "old");
      ck_assert(earlier.flush(kWatchdog));
      earlier.stop();
      // The broker has read all that it said once it says that it is offline.
      reader.until_statuses(2);
    }
    Publisher publisher(settings, told.tell());
    publisher.recall("t/kept");
    for (const char* body : {"1", "2", "3"}) publisher.keep("t/kept", body);
    publisher.keep("t/emptied", "x");
    publisher.keep("t/emptied", "");
    start(&publisher, broker.url(), {{"version", version}});
    ck_assert(publisher.flush(kWatchdog));
    {
      std::unique_lock<std::mutex> lock(mutex);
      wait_watched(&changed, &lock, "what was retained", [&] { return !heard.empty(); });
      ck_assert(heard == std::vector<std::string>{"t/kept=old"});
    }
    // It forgets: neither is it told, nor has it written.
    const int losses = told.losses();
    broker.end(SIGKILL);
    told.until_losses(losses + 1);
    broker.forget();
    broker.start();
    say(&publisher, 0);
    ck_assert(publisher.flush(kWatchdog));
    Subscriber reader(broker.port(), "t/kept", 1);
    reader.arrivals.until_any();
    ck_assert_int_eq(reader.arrivals.overtaken(), 1);  // a number that is not the first: 3
    ck_assert_uint_eq(publisher.stats().dropped, 0);
  }
}

DVNN_TEST(the_last_will_of_who_was_killed_says_offline) {
  if (!there_is_a_broker()) return;
  for (const char* version : {"3.1.1", "5"}) {
    Broker broker;
    PublishingProcess process(broker.url(), {{"version", version}});
    broker.start();
    Subscriber subscriber(broker.port(), "t/#", 1);
    process.begin();
    subscriber.arrivals.until(20);
    ck_assert_uint_eq(subscriber.statuses().size(), 1);
    process.end();
    expect_online_then_offline(&subscriber);
  }
}

// The broker keeps the state for later subscribers; with status=no there is none.
DVNN_TEST(who_subscribes_later_is_told_the_state) {
  if (!there_is_a_broker()) return;
  for (const bool told : {true, false}) {
    bool delivered = false;
    std::vector<std::string> statuses;
    {
      Broker broker;
      broker.start();
      Publisher publisher(hasty(), [](publish::Notice, const std::string&) {});
      start(&publisher, broker.url(), {{"status", told ? "yes" : "no"}});
      say(&publisher, 0);
      delivered = publisher.flush(std::chrono::minutes(1));
      Subscriber subscriber(broker.port(), "t/#", 1);
      // Behind a message that is sent now, none of before is to be expected.
      say(&publisher, 0);
      subscriber.arrivals.until(1);
      statuses = subscriber.statuses();
    }
    ck_assert(delivered);
    ck_assert_uint_eq(statuses.size(), told ? 1 : 0);
    if (told) ck_assert_ptr_nonnull(std::strstr(statuses[0].c_str(), "\"state\":\"online\""));
  }
}

DVNN_TEST(a_refusal_says_why) {
  if (!there_is_a_broker()) return;
  TemporaryFolder folder;
  std::ofstream(folder.file("passwords")) << "";
  Broker broker("allow_anonymous false\npassword_file " + folder.file("passwords") + "\n");
  broker.start();
  for (const char* version : {"3.1.1", "5"}) {
    Told told;
    Publisher publisher(hasty(), told.tell());
    start(&publisher, broker.url(), {{"version", version}, {"user", "me"}, {"password", "wrong"}});
    say(&publisher, 0);
    const std::string why = told.lost();
    ck_assert(!publisher.flush(milliseconds(0)));
    ck_assert_msg(why.find("the broker refuses the connection: ") != std::string::npos, "%s",
                  why.c_str());
    ck_assert_ptr_null(std::strstr(why.c_str(), "wrong"));
  }
}

// MQTT 3.1.1 has no word for it: the broker acknowledges, and drops.
DVNN_TEST(messages_that_a_broker_may_not_take_are_not_lost) {
  if (!there_is_a_broker()) return;
  TemporaryFolder folder;
  std::ofstream(folder.file("rules")) << "topic readwrite elsewhere/#\n";
  Broker broker("acl_file " + folder.file("rules") + "\n");
  broker.start();
  Told told;
  Publisher publisher(hasty(), told.tell());
  start(&publisher, "mqtt://127.0.0.1:" + std::to_string(broker.port()),
        {{"version", "5"}, {"status", "no"}});
  say(&publisher, 0);
  // mosquitto 2.0.11 ends the connection as well, at times before its answer has come.
  told.lost_that_says("the broker takes no message");
  ck_assert_uint_eq(publisher.stats().delivered, 0);
  ck_assert_uint_eq(publisher.stats().dropped, 0);
  publisher.stop();
}

DVNN_TEST(what_a_broker_does_not_offer_is_named) {
  if (!there_is_a_broker()) return;
  const struct {
    const char *configuration, *option, *value;
  } lacks[] = {{"max_qos 0\n", "qos", "1"}, {"retain_available false\n", "retain", "yes"}};
  for (const auto& lack : lacks) {
    Broker broker(lack.configuration);
    broker.start();
    Told told;
    Publisher publisher(hasty(), told.tell());
    start(&publisher, "mqtt://127.0.0.1:" + std::to_string(broker.port()),
          {{"version", "5"}, {"status", "no"}, {lack.option, lack.value}});
    say(&publisher, 0);
    const std::string why = told.lost(), words = lack.option + ("=" + std::string(lack.value));
    ck_assert_msg(std::strstr(why.c_str(), ("no messages with " + words).c_str()), "%s: %s",
                  words.c_str(), why.c_str());
    publisher.stop();
  }
}

}  // namespace dvnn::test::mqtt_tests
