// SPDX-License-Identifier: Apache-2.0
// The spool keeps order, bounds and counts over restarts, kills and full disks. In segments that
// are damaged, or somebody's, records are found at the cost of reading them once, and those of
// other segments are not lost.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "base/format.h"
#include "check_suite.h"
#include "publish/spool.h"
#include "publish/spool_segment.h"
#include "spool_numbers.h"
#include "temporary_folder.h"

namespace dvnn::test::spool_tests {

DVNN_SUITE(publish_spool);

using publish::SegmentReader;

DVNN_TEST(messages_come_in_their_order_and_whole) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 1 << 20, 200);
  append(spool.get(), 0, 50);
  ck_assert_uint_ge(segments(folder).size(), 10);
  const auto entry = spool->read();
  dvnn_assert_text(entry->message.topic, "topic");
  dvnn_assert_text(entry->message.key, "stream");
  spool->rewind();
  expect(spool.get(), 0, 50, true);
  ck_assert_uint_eq(spool->messages(), 0);
  ck_assert_uint_eq(segments(folder).size(), 0);
}

DVNN_TEST(what_is_not_acknowledged_survives_a_restart) {
  TemporaryFolder folder;
  {
    const auto spool = opened(folder, 1 << 20, 200);
    append(spool.get(), 0, 50);
    for (int i = 0; i < 20; ++i) spool->acknowledge(spool->read()->place);
    for (int i = 0; i < 10; ++i) spool->read();
  }
  const auto spool = opened(folder, 1 << 20, 200);
  ck_assert_uint_eq(spool->messages(), 30);
  append(spool.get(), 50, 60);
  expect(spool.get(), 20, 60, true);
}

DVNN_TEST(a_rewind_reads_what_was_not_acknowledged_again) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 1 << 20, 200);
  append(spool.get(), 0, 40);
  for (int i = 0; i < 15; ++i) spool->acknowledge(spool->read()->place);
  for (int i = 0; i < 15; ++i) spool->read();
  spool->rewind();
  append(spool.get(), 40, 45);
  expect(spool.get(), 15, 45, false);
  ck_assert_uint_eq(spool->messages(), 30);
}

// Says to `told` how many it has appended and how many acknowledged, one after the other, until it
// is killed.
[[noreturn]] static void work_until_killed(const std::string& folder, int next, int told) {
  const auto spool = Spool::open(folder, {1 << 20, 2000});
  if (!spool.ok()) _exit(1);
  for (int acknowledged = 0;; ++next) {
    if (!spool.value()->append(numbered(next)).ok()) _exit(1);
    if (next % 3 == 0) {
      if (const auto entry = spool.value()->read()) {
        spool.value()->acknowledge(entry->place);
        acknowledged = std::atoi(entry->message.body.c_str()) + 1;
      }
    }
    const int state[] = {next + 1, acknowledged};
    if (::write(told, state, sizeof(state)) != sizeof(state)) _exit(1);
  }
}

DVNN_TEST(twenty_kills_lose_nothing_and_tear_nothing) {
  TemporaryFolder folder;
  int appended = 0, delivered = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t worker = fork();
    if (worker == 0) work_until_killed(folder.file("spool"), appended, ends[1]);
    close(ends[1]);
    int state[2] = {};
    const int until = appended + 150 + 37 * round;
    while (state[0] < until) ck_assert_int_eq(::read(ends[0], state, sizeof(state)), sizeof(state));
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
    for (int later[2]; ::read(ends[0], later, sizeof(later)) == sizeof(later);) {
      std::copy(later, later + 2, state);
    }
    close(ends[0]);
    const auto spool = opened(folder);
    // The last one may be there that it could not tell of any more, or half of it.
    ck_assert_uint_le(spool->take_dropped(), 1);
    int first = -1, last = -1;
    while (const auto entry = spool->read()) {
      const int number = std::atoi(entry->message.body.c_str());
      ck_assert(entry->message.body == numbered(number).body);
      if (first < 0) first = number;
      ck_assert_msg(last < 0 || number == last + 1, "after %d comes %d", last, number);
      last = number;
    }
    // What was acknowledged may come again; what was not is there. One may have been acknowledged
    // that it could not tell of.
    delivered = std::max(delivered, state[1]);
    ck_assert_msg(first <= delivered + 1, "%d is missing, %d is first", delivered, first);
    ck_assert_int_ge(last, state[0] - 1);
    appended = last + 1;
  }
}

DVNN_TEST(a_full_disk_refuses_a_message_and_keeps_the_others) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 1 << 20, 100000);
  append(spool.get(), 0, 10);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit few = {static_cast<rlim_t>(spool->bytes()) + 30, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &few);
  for (int i = 0; i < 3; ++i) {
    const Status status = spool->append(numbered(99));
    ck_assert(!status.ok());
    ck_assert_ptr_nonnull(std::strstr(status.error().message.c_str(), "cannot be written"));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  append(spool.get(), 10, 20);
  const uint64_t bytes = spool->bytes();
  expect(spool.get(), 0, 20, false);
  ck_assert_uint_eq(spool->take_dropped(), 0);
  ck_assert_uint_eq(spool->bytes(), bytes);
}

DVNN_TEST(the_bound_drops_the_oldest_and_counts_them) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 8000, 1000);
  append(spool.get(), 0, 1000);
  ck_assert_uint_le(spool->bytes(), 8000);
  const uint64_t dropped = spool->take_dropped();
  ck_assert_uint_eq(dropped + spool->messages(), 1000);
  expect(spool.get(), static_cast<int>(dropped), 1000, true);
}

DVNN_TEST(dropped_messages_on_their_way_count_only_if_they_come_back) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 8000, 1000);
  append(spool.get(), 0, 100);
  std::vector<Spool::Place> sent;
  for (int i = 0; i < 60; ++i) sent.push_back(spool->read()->place);
  append(spool.get(), 100, 200);  // the segments of all that was sent go
  const uint64_t dropped = spool->take_dropped();
  for (int i = 0; i < 5; ++i) spool->acknowledge(sent[static_cast<size_t>(i)]);
  spool->rewind();
  const uint64_t more = spool->take_dropped();
  ck_assert_uint_gt(more, 0);
  ck_assert_uint_eq(dropped + more + 5 + spool->messages(), 200);
}

DVNN_TEST(a_spool_that_is_emptied_again_and_again_stays_empty) {
  TemporaryFolder folder;
  for (int round = 0; round < 5; ++round) {
    const auto spool = opened(folder);
    append(spool.get(), 0, 3);
    expect(spool.get(), 0, 3, round % 2 == 0);
    if (round % 2 == 1) {
      spool->rewind();
      expect(spool.get(), 0, 3, true);
    }
  }
  const auto spool = opened(folder);
  ck_assert_uint_eq(spool->messages(), 0);
}

DVNN_TEST(a_spool_belongs_to_one) {
  TemporaryFolder folder;
  const auto first = opened(folder);
  const auto second = Spool::open(folder.file("spool"), {});
  ck_assert(!second.ok());
  ck_assert_ptr_nonnull(std::strstr(second.error().message.c_str(), "is in use"));
}

DVNN_TEST(a_message_that_is_too_large_is_refused_by_name) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 8000);
  append(spool.get(), 0, 2);
  const Status status = spool->append(numbered(2, 5000));
  ck_assert(!status.ok());
  ck_assert_ptr_nonnull(std::strstr(status.error().message.c_str(), "is too large for a spool"));
  expect(spool.get(), 0, 2, true);
}

namespace {

constexpr uint64_t kFirst = 7;

File written(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder.file("segment");
  const Status status = write_file(path, bytes);
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
  return File(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string record(const std::string& body) {
  std::string bytes;
  publish::append_record({"topic", "key", body}, kFirst, &bytes);
  return bytes;
}

// The bytes that this process has read so far, by any call.
uint64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  uint64_t count = 0;
  counts >> name >> count;
  return count;
}

}  // namespace

// At the edge of a block, and one to the left and the right of it, too.
DVNN_TEST(a_record_is_found_behind_any_bytes) {
  const std::string whole = record("it");
  for (const size_t before : {size_t{1}, size_t{100}, size_t{65536}, size_t{65536 * 3}}) {
    for (int beside = -30; beside <= 30; ++beside) {
      if (beside < 0 && before < static_cast<size_t>(-beside)) continue;
      const size_t size = before + static_cast<size_t>(beside);
      if (size == 0) continue;
      const TemporaryFolder folder;
      const File file = written(folder, std::string(size, '\xff') + whole + "rest");
      std::string buffer;
      SegmentReader reader(file.fd(), kFirst, size_of(file), &buffer);
      const auto found = reader.next();
      ck_assert_msg(found && found->message, "behind %zu bytes", size);
      dvnn_assert_text(found->message->body, "it");
      ck_assert_uint_eq(found->end, size + whole.size());
      ck_assert(!reader.next());
    }
  }
}

DVNN_TEST(marks_of_no_record_do_not_cost_more_than_other_bytes) {
  std::string marks;
  for (int i = 0; i < 200000; ++i) marks.append(publish::kRecordMark, sizeof(publish::kRecordMark));
  const std::string last = record("last");
  const TemporaryFolder folder;
  const File file = written(folder, marks + last);
  std::string buffer;
  SegmentReader reader(file.fd(), kFirst, size_of(file), &buffer);
  const uint64_t before = bytes_read();
  const auto found = reader.next();
  const uint64_t read = bytes_read() - before;
  ck_assert(found && found->message);
  dvnn_assert_text(found->message->body, "last");
  ck_assert_uint_lt(read, 2 * (marks.size() + last.size()));
}

// Message 2 of 3 is acknowledged, and somebody's copy of it is a segment, too: the third came
// neither out nor was it lost, and nothing behind it came out any more.
DVNN_TEST(a_copy_of_a_segment_keeps_no_message_back) {
  const TemporaryFolder folder;
  const publish::Spool::Bounds bounds{1 << 20, 0};
  {
    auto spool = publish::Spool::open(folder.file("spool"), bounds);
    ck_assert(spool.ok());
    for (const char* body : {"1", "2", "3"}) {
      ck_assert(spool.value()->append({"topic", "key", body}).ok());
    }
    for (int i = 0; i < 2; ++i) spool.value()->acknowledge(spool.value()->read()->place);
  }
  std::string copy;
  publish::append_record({"topic", "key", "2"}, 2, &copy);
  ck_assert(write_file(folder.file("spool/" + publish::segment_name(2)), copy).ok());
  auto spool = publish::Spool::open(folder.file("spool"), bounds);
  ck_assert(spool.ok());
  for (const char* body : {"3", "2"}) {
    const auto entry = spool.value()->read();
    ck_assert(entry);
    dvnn_assert_text(entry->message.body, body);
    spool.value()->acknowledge(entry->place);
  }
  ck_assert(!spool.value()->has_unread());
  ck_assert_uint_eq(spool.value()->messages(), 0);
}

}  // namespace dvnn::test::spool_tests
