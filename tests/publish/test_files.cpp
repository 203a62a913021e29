// SPDX-License-Identifier: Apache-2.0
// Files and pipes, through the whole publisher.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"
#include "check_suite.h"
#include "publish/publisher.h"
#include "temporary_folder.h"
#include "told.h"

namespace dvnn::test::files_tests {

DVNN_SUITE(publish_files);

using publish::Options;
using publish::Publisher;
using publish::PublisherSettings;
using std::chrono::milliseconds;

namespace {

void start(Publisher* publisher, const std::string& path, const Options& options = {}) {
  const auto address = publish::parse_address("file:" + path);
  ck_assert(address.ok());
  const Status status = publisher->start(address.value(), options, {"s", "0", ""});
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

void publish_numbers(Publisher* publisher, int from, int to) {
  for (int i = from; i < to; ++i) publisher->publish({"", "s", std::to_string(i)});
}

void expect_numbers(const std::vector<std::string>& lines, int from, int to) {
  ck_assert_uint_eq(lines.size(), static_cast<size_t>(to - from));
  for (int i = from; i < to; ++i) {
    ck_assert_int_eq(std::atoi(lines[static_cast<size_t>(i - from)].c_str()), i);
  }
}

const auto quiet = [](publish::Notice, const std::string&) {};

}  // namespace

DVNN_TEST(lines_are_appended_in_order) {
  TemporaryFolder folder;
  for (int round = 0; round < 3; ++round) {
    Publisher publisher({}, quiet);
    start(&publisher, folder.file("out"));
    publish_numbers(&publisher, round * 500, round * 500 + 500);
    ck_assert(publisher.flush(std::chrono::minutes(1)));
  }
  expect_numbers(lines_of(folder.file("out")), 0, 1500);
}

DVNN_TEST(files_rotate_and_the_oldest_go) {
  TemporaryFolder folder;
  Publisher publisher({}, quiet);
  start(&publisher, folder.file("out"), {{"rotate-bytes", "40"}, {"keep", "3"}});
  publish_numbers(&publisher, 100, 200);  // ten lines of four bytes a file
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  publisher.stop();
  expect_numbers(lines_of(folder.file("out")), 190, 200);
  expect_numbers(lines_of(folder.file("out.1")), 180, 190);
  expect_numbers(lines_of(folder.file("out.3")), 160, 170);
  ck_assert(!std::filesystem::exists(folder.file("out.4")));
}

DVNN_TEST(a_torn_line_stays_alone) {
  TemporaryFolder folder;
  std::ofstream(folder.file("out")) << "1\n{\"torn";
  Publisher publisher({}, quiet);
  start(&publisher, folder.file("out"));
  publish_numbers(&publisher, 2, 3);
  publisher.flush(std::chrono::minutes(1));
  publisher.stop();
  const auto lines = lines_of(folder.file("out"));
  ck_assert_uint_eq(lines.size(), 3);
  dvnn_assert_text(lines[2], "2");
}

DVNN_TEST(a_pipe_may_be_read_late_and_slowly) {
  TemporaryFolder folder;
  const std::string path = folder.file("pipe");
  ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
  PublisherSettings settings;
  settings.queue_messages = 100000;
  settings.least_pause = milliseconds(10);
  settings.longest_pause = milliseconds(20);
  Told told;
  Publisher publisher(settings, told.tell());
  start(&publisher, path);
  publish_numbers(&publisher, 0, 20000);
  told.lost();  // it has no reader yet
  ck_assert(!publisher.flush(milliseconds(0)));
  const int reading = open(path.c_str(), O_RDONLY);
  std::string text;
  char bytes[4096];
  while (text.find("19999\n") == std::string::npos) {
    const ssize_t got = read(reading, bytes, sizeof(bytes));
    ck_assert_int_gt(got, 0);
    text.append(bytes, static_cast<size_t>(got));
  }
  close(reading);
  std::istringstream stream(text);
  for (int i = 0; i < 20000; ++i) {
    int number = -1;
    stream >> number;
    ck_assert_int_eq(number, i);
  }
}

// Records what a transport says, on the test's own thread.
class Heard : public publish::Listener {
 public:
  void ready(const std::string&) override {}
  void lost(const std::string&) override { ++losses; }
  void acknowledged(uint64_t token) override { acknowledged_.push_back(token); }
  void rejected(uint64_t, const std::string&) override {}
  int losses = 0;
  std::vector<uint64_t> acknowledged_;
};

DVNN_TEST(a_line_that_a_pipe_lost_is_not_acknowledged_later) {
  std::signal(SIGPIPE, SIG_IGN);
  TemporaryFolder folder;
  const std::string path = folder.file("pipe");
  ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
  const auto read_end = [&] { return File(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)); };
  File reader = read_end();
  Heard heard;
  const auto address = publish::parse_address("file:" + path);
  auto transport = publish::create_transport(address.value(), {}, {"s", "0", ""}, &heard);
  ck_assert(transport.ok());
  transport.value()->connect();
  constexpr size_t kMoreThanAPipe = size_t{1} << 21;
  ck_assert(transport.value()->send(1, {"", "s", std::string(kMoreThanAPipe, 'x')}));
  reader = File();
  ck_assert(!transport.value()->send(2, {"", "s", "2"}));
  ck_assert_int_eq(heard.losses, 1);
  reader = read_end();
  transport.value()->connect();
  ck_assert(transport.value()->send(3, {"", "s", "3"}));
  ck_assert(heard.acknowledged_ == std::vector<uint64_t>{3});
}

DVNN_TEST(a_folder_that_is_not_there_is_told_and_waited_for) {
  TemporaryFolder folder;
  PublisherSettings settings;
  settings.least_pause = milliseconds(10);
  settings.longest_pause = milliseconds(20);
  Told told;
  Publisher publisher(settings, told.tell());
  start(&publisher, folder.file("later/out"));
  publish_numbers(&publisher, 0, 3);
  told.lost_that_says("later/out' cannot be opened: No such file");
  ck_assert(!publisher.flush(milliseconds(0)));
  std::filesystem::create_directory(folder.file("later"));
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  publisher.stop();
  expect_numbers(lines_of(folder.file("later/out")), 0, 3);
}

DVNN_TEST(options_and_addresses_are_refused_by_name) {
  const auto refusal = [](const std::string& url, const std::string& options) -> std::string {
    const auto address = publish::parse_address(url);
    if (!address.ok()) return address.error().message;
    const auto parsed = publish::parse_options(options);
    if (!parsed.ok()) return parsed.error().message;
    Publisher publisher({}, quiet);
    const Status status = publisher.start(address.value(), parsed.value(), {"s", "0", ""});
    return status.ok() ? "" : status.error().message;
  };
  const auto expect = [&](const char* url, const char* options, const char* part) {
    const std::string why = refusal(url, options);
    ck_assert_msg(why.find(part) != std::string::npos, "'%s' lacks '%s'", why.c_str(), part);
  };
  expect("file:", "", "'file:' names no file");
  expect("file:/tmp", "", "'/tmp' is a folder");
  expect("somewhere", "", "is no url: file:PATH");
  expect("ftp://host/", "", "begins with 'ftp', and must with one of file, mqtt");
  expect("mqtt://", "", "names no host");
  expect("mqtt://host/door", "", "a topic is set by itself");
  expect("mqtts://host:8883/#", "", "a topic is set by itself");
  expect("kafka://one:9092,two:9092/door", "", "a topic is set by itself");
  expect("mqtt://host:99999", "", "port that is not in 1..65535");
  for (const char* url :
       {"http://[", "http://[::1", "https://a host/", "mqtt://host/\n", "mqtt://a|b"}) {
    expect(url, "", "has a character that no URL has there");
  }
  expect("mqtt://me%00:secret@host", "", "'mqtt://host': a user or a password has the character 0");
  expect("file:/tmp/x", "colour=red", "file has no option 'colour', but has keep, rotate-bytes");
  expect("file:/tmp/x", "keep=0", "option keep is '0', and must be in 1..9999");
  expect("file:/tmp/x", "keep=1,secret", "option 2 is not of the form name=value");
#ifdef DVNN_HAVE_MQTT
  expect("mqtt://host", "", "topic '' is no MQTT topic");
  expect("mqtt://host", "qos=3", "option qos is '3', and must be in 0..2");
  expect("mqtt://host", "version=4", "option version is '4', and must be one of 3.1.1, 5");
#endif
#ifdef DVNN_HAVE_KAFKA
  expect("kafka://host", "", "Kafka needs a topic");
#endif
#ifdef DVNN_HAVE_HTTP
  expect("http://host/", "batch=0", "option batch is '0', and must be in 1..10000");
#endif
}

DVNN_TEST(an_url_is_taken_apart) {
  const auto parsed = publish::parse_address("https://me%40home:s%3Acret@[::1]:8884/path");
  ck_assert(parsed.ok());
  dvnn_assert_text(parsed.value().user, "me@home");
  dvnn_assert_text(parsed.value().password, "s:cret");
  dvnn_assert_text(parsed.value().host, "::1");
  ck_assert_int_eq(parsed.value().port, 8884);
  dvnn_assert_text(parsed.value().path, "/path");
  dvnn_assert_text(parsed.value().url, "https://[::1]:8884/path");
  const auto options = publish::parse_options("# a note\n a = 1 \n\nb=x,y=z\n");
  ck_assert(options.ok());
  dvnn_assert_text(options.value().at("a"), "1");
  dvnn_assert_text(options.value().at("b"), "x,y=z");
}

}  // namespace dvnn::test::files_tests
