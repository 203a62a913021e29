// SPDX-License-Identifier: Apache-2.0
// Webhooks with Python's http.server, which fails now and then: webhook.py.
#include "check_suite.h"
#include "publish/publisher.h"
#include "random_server.h"
#include "server_process.h"
#include "temporary_folder.h"
#include "told.h"

namespace dvnn::test::http_tests {

DVNN_SUITE(publish_http);

using publish::Publisher;
using publish::PublisherSettings;
using std::chrono::milliseconds;

namespace {

PublisherSettings hasty() {
  PublisherSettings settings;
  settings.least_pause = milliseconds(2);
  settings.longest_pause = milliseconds(20);
  return settings;
}

const auto quiet = [](publish::Notice, const std::string&) {};

void start(Publisher* publisher, int port, const publish::Options& options,
           const char* scheme = "http") {
  const auto address = publish::parse_address(std::string(scheme) +
                                              "://localhost:" + std::to_string(port) + "/hook");
  ck_assert(address.ok());
  const Status status = publisher->start(address.value(), options, {"cam", "0", ""});
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

// A server that writes down what it takes.
struct Webhook {
  // With https where there is a certificate.
  explicit Webhook(const std::vector<std::string>& certificate_and_key = {}) {
    std::vector<std::string> command = {"/usr/bin/python3", DVNN_WEBHOOK, std::to_string(port()),
                                        folder_.file("taken")};
    command.insert(command.end(), certificate_and_key.begin(), certificate_and_key.end());
    server_ = std::make_unique<ServerProcess>(command, port());
    server_->start();
  }
  // Messages 0 to `count` - 1 have arrived, in their order.
  void expect(int64_t count) const {
    Arrivals arrivals;
    for (const std::string& line : lines_of(folder_.file("taken"))) {
      arrivals.add(std::atoll(line.c_str()));
    }
    arrivals.expect(count);
  }
  int port() const { return port_.number(); }

 private:
  const OwnPort port_;
  TemporaryFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace

DVNN_TEST(a_webhook_that_fails_now_and_then_gets_all_in_order) {
  for (const char* batch : {"1", "10"}) {
    const Webhook webhook;
    Publisher publisher(hasty(), quiet);
    start(&publisher, webhook.port(), {{"batch", batch}});
    for (int i = 0; i < 200; ++i) publisher.publish({"", "s", std::to_string(i)});
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    webhook.expect(200);
    ck_assert_uint_eq(publisher.stats().dropped, 0);
  }
}

DVNN_TEST(a_message_that_the_server_calls_bad_is_dropped_alone) {
  for (const char* batch : {"1", "10"}) {
    const Webhook webhook;
    Publisher publisher(hasty(), quiet);
    start(&publisher, webhook.port(), {{"batch", batch}});
    for (int i = 0; i < 20; ++i) {
      publisher.publish({"", "s", std::to_string(i)});
      if (i == 8) publisher.publish({"", "s", "bad"});
    }
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    webhook.expect(20);
    ck_assert_uint_eq(publisher.stats().dropped, 1);
  }
}

// A server that takes what it is sent, and never answers.
DVNN_TEST(a_server_that_does_not_answer_keeps_nobody_from_stopping) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ck_assert_int_eq(bind(listening, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  socklen_t size = sizeof place;
  getsockname(listening, reinterpret_cast<sockaddr*>(&place), &size);
  ck_assert_int_eq(listen(listening, 1), 0);
  Publisher publisher(hasty(), quiet);
  // Ten minutes, for which no test may take.
  start(&publisher, ntohs(place.sin_port), {{"timeout", "600000"}});
  publisher.publish({"", "s", "0"});
  const int taken = accept(listening, nullptr, nullptr);
  char byte = 0;
  ck_assert_int_eq(recv(taken, &byte, 1, 0), 1);  // the request is on its way
  publisher.stop();
  close(taken);
  close(listening);
}

DVNN_TEST(wrong_certificates_are_refused) {
  const Certificates certificates;
  if (!certificates.made()) return;
  for (const auto& one : Certificates::kCases) {
    const Webhook webhook({certificates.certificate(one.host), certificates.key(one.host)});
    Told told;
    Publisher publisher(hasty(), told.tell());
    publish::Options options;
    if (one.authority) options["ca"] = certificates.certificate(one.authority);
    start(&publisher, webhook.port(), options, "https");
    for (int i = 0; i < 20; ++i) publisher.publish({"", "s", std::to_string(i)});
    if (one.good) {
      ck_assert_msg(publisher.flush(kWatchdog), "%s", one.text().c_str());
      webhook.expect(20);
      continue;
    }
    ck_assert_msg(told.lost().find("certificate") != std::string::npos, "%s", told.lost().c_str());
    ck_assert_msg(publisher.stats().delivered == 0, "%s", one.text().c_str());
    webhook.expect(0);
  }
}

namespace {

std::string any_http(Random* random) {
  const char* const kStatus[] = {"200 OK",   "204 ",         "301 Moved",    "400 no",
                                 "503 busy", "100 Continue", "999 \x1b[31m", "x"};
  const char* const kHeads[] = {"Content-Length: 0",
                                "Content-Length: 18446744073709551616",
                                "Content-Length: -1",
                                "Transfer-Encoding: chunked",
                                "Location: file:///etc/passwd",
                                "Connection: close",
                                "Content-Encoding: gzip",
                                "Set-Cookie: a=b",
                                "Retry-After: -1"};
  std::string bytes;
  for (unsigned answers = (*random)() % 3; answers < 3; ++answers) {
    bytes += std::string("HTTP/1.1 ") + kStatus[(*random)() % std::size(kStatus)] + "\r\n";
    for (unsigned left = (*random)() % 4; left > 0; --left) {
      bytes += std::string(kHeads[(*random)() % std::size(kHeads)]) + "\r\n";
    }
    if ((*random)() % 4 == 0) bytes += any_bytes(random, 60) + "\r\n";
    bytes += "\r\n";
    if ((*random)() % 3 == 0) bytes += any_bytes(random, 200);
  }
  return bytes;
}

}  // namespace

DVNN_TEST(a_webhook_may_answer_anything) {
  try_rounds("http", any_http, {}, 3, 100);
}

}  // namespace dvnn::test::http_tests
