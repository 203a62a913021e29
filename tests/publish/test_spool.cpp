// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "check_suite.h"
#include "publish/spool.h"
#include "publish/spool_record.h"
#include "temporary_folder.h"

namespace dvnn::test::spool_tests {

using publish::Message;
using publish::Spool;

namespace {

Message numbered(int number, size_t size = 20) {
  std::string body = std::to_string(number);
  body.resize(std::max(size, body.size()), ' ');
  return {"topic", "stream", body};
}

std::unique_ptr<Spool> opened(const TemporaryFolder& folder, uint64_t most = 1 << 20,
                              uint64_t segment = 0) {
  auto spool = Spool::open(folder.file("spool"), {most, segment});
  if (!spool.ok()) ck_abort_msg("%s", spool.error().message.c_str());
  return std::move(spool.value());
}

void append(Spool* spool, int from, int to) {
  for (int i = from; i < to; ++i) {
    const Status status = spool->append(numbered(i));
    if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
  }
}

// Reads all; the numbers must be those from `from` to `to`, in order.
void expect(Spool* spool, int from, int to, bool acknowledge) {
  for (int i = from; i < to; ++i) {
    const auto entry = spool->read();
    ck_assert_msg(entry.has_value(), "message %d is missing", i);
    ck_assert_int_eq(std::atoi(entry->message.body.c_str()), i);
    if (acknowledge) spool->acknowledge(entry->place);
  }
  ck_assert(!spool->read());
}

std::vector<std::string> segments(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("spool"))) {
    if (entry.path().extension() == ".spool") names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

START_TEST(messages_come_in_their_order_and_whole) {
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
END_TEST

START_TEST(what_is_not_acknowledged_survives_a_restart) {
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
END_TEST

START_TEST(a_rewind_reads_what_was_not_acknowledged_again) {
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
END_TEST

START_TEST(every_torn_end_costs_one_message_at_most) {
  std::string record;
  publish::append_record(numbered(0), &record);
  for (size_t cut = 1; cut < record.size(); ++cut) {
    TemporaryFolder folder;
    {
      const auto spool = opened(folder);
      append(spool.get(), 0, 5);
    }
    const std::string last = segments(folder).back();
    std::filesystem::resize_file(last, std::filesystem::file_size(last) - cut);
    const auto spool = opened(folder);
    ck_assert_uint_eq(spool->take_dropped(), 1);
    append(spool.get(), 5, 7);
    for (const int wanted : {0, 1, 2, 3, 5, 6}) {
      const auto entry = spool->read();
      ck_assert(entry.has_value());
      ck_assert_int_eq(std::atoi(entry->message.body.c_str()), wanted);
    }
    ck_assert(!spool->read());
  }
}
END_TEST

static void damage(const std::string& segment) {
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(30);
  file.put('!');
}

START_TEST(damage_is_noticed_and_later_segments_are_read) {
  TemporaryFolder folder;
  {
    const auto spool = opened(folder, 1 << 20, 200);
    append(spool.get(), 0, 20);
  }
  damage(segments(folder)[1]);
  const auto spool = opened(folder, 1 << 20, 200);
  ck_assert_uint_ge(spool->take_dropped(), 1);
  int last = -1, count = 0;
  while (const auto entry = spool->read()) {
    const int number = std::atoi(entry->message.body.c_str());
    ck_assert_int_gt(number, last);
    last = number;
    ++count;
  }
  ck_assert_int_eq(last, 19);
  ck_assert_int_ge(count, 16);
}
END_TEST

START_TEST(what_damage_costs_while_it_is_open_is_counted) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 1 << 20, 200);
  append(spool.get(), 0, 20);
  damage(segments(folder)[1]);
  uint64_t count = 0;
  int last = -1;
  while (const auto entry = spool->read()) {
    const int number = std::atoi(entry->message.body.c_str());
    ck_assert_int_gt(number, last);
    last = number;
    ++count;
    spool->acknowledge(entry->place);
  }
  ck_assert_int_eq(last, 19);
  ck_assert_uint_lt(count, 20);
  ck_assert_uint_eq(count + spool->take_dropped(), 20);
  ck_assert_uint_eq(spool->messages(), 0);
}
END_TEST

START_TEST(a_place_within_a_message_costs_none) {
  TemporaryFolder folder;
  {
    const auto spool = opened(folder);
    append(spool.get(), 0, 3);
    spool->acknowledge(spool->read()->place);
  }
  const std::string name = folder.file("spool") + "/place";
  unsigned long long segment = 0, end = 0;
  std::ifstream(name) >> segment >> end;
  ck_assert(end > 1);
  std::ofstream(name) << segment << ' ' << end + 1 << '\n';
  {
    const auto spool = opened(folder);
    expect(spool.get(), 1, 3, true);
    ck_assert_uint_eq(spool->take_dropped(), 0);
  }
  ck_assert_uint_eq(opened(folder)->messages(), 0);
}
END_TEST

START_TEST(the_bound_drops_the_oldest_and_counts_them) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 8000, 1000);
  append(spool.get(), 0, 1000);
  ck_assert_uint_le(spool->bytes(), 8000);
  const uint64_t dropped = spool->take_dropped();
  ck_assert_uint_eq(dropped + spool->messages(), 1000);
  expect(spool.get(), static_cast<int>(dropped), 1000, true);
}
END_TEST

START_TEST(dropped_messages_on_their_way_count_only_if_they_come_back) {
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
END_TEST

START_TEST(numbers_of_segments_are_not_given_twice) {
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
END_TEST

START_TEST(a_spool_belongs_to_one) {
  TemporaryFolder folder;
  const auto first = opened(folder);
  const auto second = Spool::open(folder.file("spool"), {});
  ck_assert(!second.ok());
  ck_assert_ptr_nonnull(std::strstr(second.error().message.c_str(), "is in use"));
}
END_TEST

START_TEST(a_message_that_is_too_large_is_refused_by_name) {
  TemporaryFolder folder;
  const auto spool = opened(folder, 8000);
  append(spool.get(), 0, 2);
  const Status status = spool->append(numbered(2, 5000));
  ck_assert(!status.ok());
  ck_assert_ptr_nonnull(std::strstr(status.error().message.c_str(), "is too large for a spool"));
  expect(spool.get(), 0, 2, true);
}
END_TEST

DVNN_SUITE(publish_spool, messages_come_in_their_order_and_whole,
           what_is_not_acknowledged_survives_a_restart,
           a_rewind_reads_what_was_not_acknowledged_again, every_torn_end_costs_one_message_at_most,
           damage_is_noticed_and_later_segments_are_read,
           what_damage_costs_while_it_is_open_is_counted, a_place_within_a_message_costs_none,
           the_bound_drops_the_oldest_and_counts_them,
           dropped_messages_on_their_way_count_only_if_they_come_back,
           numbers_of_segments_are_not_given_twice, a_spool_belongs_to_one,
           a_message_that_is_too_large_is_refused_by_name)

}  // namespace dvnn::test::spool_tests
