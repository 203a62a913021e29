// SPDX-License-Identifier: Apache-2.0
// What damage to a spool's files costs: what it touches, which is counted; and files that are not
// the spool's are left alone.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/format.h"
#include "publish/spool_segment.h"
#include "spool_numbers.h"

namespace dvnn::test::spool_damage_tests {

DVNN_SUITE(publish_spool_damage);

DVNN_TEST(every_torn_end_costs_one_message_at_most) {
  std::string record;
  publish::append_record(numbered(0), 1, &record);
  for (size_t cut = 1; cut < record.size(); ++cut) {
    TemporaryFolder folder;
    {
      const auto spool = opened(folder);
      append(spool.get(), 0, 5);
    }
    const std::string last = segments(folder).back();
    std::filesystem::resize_file(last, std::filesystem::file_size(last) - cut);
    opened(folder);
    const auto spool = opened(folder);  // counted once, at the first open
    ck_assert_uint_eq(spool->take_dropped(), 0);
    append(spool.get(), 5, 7);
    for (const int wanted : {0, 1, 2, 3, 5, 6}) {
      const auto entry = spool->read();
      ck_assert(entry.has_value());
      ck_assert_int_eq(std::atoi(entry->message.body.c_str()), wanted);
    }
    ck_assert(!spool->read());
  }
}

static std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

static void write(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Opens the spool of `count` messages, reads all and returns how many came; they are in order, and
// those that did not come are counted as dropped.
static int read_rest(const TemporaryFolder& folder, int count) {
  const auto spool = opened(folder);
  int last = -1, came = 0;
  for (; const auto entry = spool->read(); ++came) {
    const int number = std::atoi(entry->message.body.c_str());
    ck_assert_int_gt(number, last);
    // What is read is what was written.
    ck_assert(entry->message.body == numbered(number).body);
    last = number;
  }
  ck_assert_int_eq(came + static_cast<int>(spool->take_dropped()), count);
  return came;
}

DVNN_TEST(a_damaged_byte_costs_its_message_alone_and_is_counted) {
  constexpr int kMessages = 6;
  TemporaryFolder folder;
  {
    const auto spool = opened(folder);
    append(spool.get(), 0, kMessages);
  }
  const std::string segment = segments(folder).back(), place = folder.file("spool") + "/place";
  const std::string good = bytes_of(segment), good_place = bytes_of(place);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      write(segment, bad);
      write(place, good_place);
      ck_assert_msg(read_rest(folder, kMessages) == kMessages - 1, "byte %zu, bit %d", at, bit);
    }
  }
  for (size_t at = 0; at < good_place.size(); ++at) {
    std::string bad = good_place;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write(segment, good);
    write(place, bad);
    ck_assert_int_eq(read_rest(folder, kMessages), kMessages);
  }
}

DVNN_TEST(zeroed_and_missing_parts_cost_what_they_hold) {
  constexpr int kMessages = 40;
  TemporaryFolder folder;
  {
    const auto spool = Spool::open(folder.file("spool"), {1 << 20, 700});
    append(spool.value().get(), 0, kMessages);
  }
  std::string record;
  publish::append_record(numbered(0), 1, &record);
  const size_t size = record.size();
  const auto all = segments(folder);
  ck_assert_uint_ge(all.size(), 4);
  const auto count = [&](size_t i) {
    return static_cast<int>(std::filesystem::file_size(all[i]) / size);
  };
  const int of_first = count(0), of_last = count(all.size() - 1), of_third = count(2);
  std::string bytes = bytes_of(all[1]);
  bytes.replace(size + 5, 2 * size, 2 * size, '\0');  // parts of three messages
  write(all[1], bytes);
  std::filesystem::remove(all[2]);
  write(all.back(), std::string(std::filesystem::file_size(all.back()), '\0'));
  write(all.front(), bytes_of(all.front()).substr(5));
  ck_assert_int_eq(read_rest(folder, kMessages), kMessages - 3 - of_third - of_last - 1);
  ck_assert_int_gt(of_first, 1);
}

DVNN_TEST(a_place_that_cannot_be_is_not_believed) {
  const auto place = [](const char* text) {
    return text + format(" %08x\n", publish::record_checksum(text, std::strlen(text)));
  };
  for (const std::string& wrong :
       {std::string("99999 0\n"), std::string("18446744073709551615 0\n"), std::string("-1 -1\n"),
        std::string("9999999999999999 5\n"), std::string("1 99999999\n"), std::string(4096, '1'),
        place("99999 99999 0"), place("18446744073709551615 18446744073709551615 0"),
        place("5 2 0"), place("0 3 9")}) {
    TemporaryFolder folder;
    {
      const auto spool = opened(folder);
      append(spool.get(), 0, 3);
    }
    write(folder.file("spool") + "/place", wrong);
    {
      const auto spool = opened(folder);
      ck_assert_uint_eq(spool->take_dropped(), 0);
      append(spool.get(), 3, 5);
    }
    // What came later is found, too.
    const auto spool = opened(folder);
    expect(spool.get(), 0, 5, true);
    ck_assert_uint_eq(spool->take_dropped(), 0);
  }
}

DVNN_TEST(what_is_not_ours_is_set_aside_and_stays_as_it_is) {
  TemporaryFolder folder;
  namespace files = std::filesystem;
  const std::string spool_path = folder.file("spool"), precious = folder.file("precious");
  const std::string other = folder.file("other");
  write(precious, "precious");
  write(other, "other");
  {
    const auto spool = opened(folder);
    append(spool.get(), 4, 9);
  }
  files::create_symlink(other, spool_path + "/0000000000000007.spool");
  files::create_hard_link(precious, spool_path + "/0000000000000009.spool");
  files::create_directory(spool_path + "/0000000000000008.spool");
  ck_assert_int_eq(mkfifo((spool_path + "/0000000000000006.spool").c_str(), 0600), 0);
  write(spool_path + "/9999999999999999.spool", "");
  files::remove(spool_path + "/place");
  files::create_symlink(other, spool_path + "/place.new");
  ck_assert_int_eq(mkfifo((spool_path + "/place").c_str(), 0600), 0);
  {
    const auto spool = opened(folder);
    ck_assert_uint_eq(spool->take_dropped(), 0);
    append(spool.get(), 9, 12);
  }
  const auto spool = opened(folder);
  expect(spool.get(), 4, 12, true);
  ck_assert_uint_eq(spool->take_dropped(), 0);
  ck_assert(bytes_of(precious) == "precious" && bytes_of(other) == "other");
  ck_assert(files::is_symlink(spool_path + "/0000000000000007.spool.bad"));
  ck_assert(files::is_fifo(spool_path + "/place.bad"));
  ck_assert(files::is_directory(spool_path + "/0000000000000008.spool.bad"));
}

static void expect_refused(const std::string& path, const char* why) {
  const auto spool = Spool::open(path, {});
  ck_assert(!spool.ok());
  if (!std::strstr(spool.error().message.c_str(), why)) {
    ck_abort_msg("'%s' does not say '%s'", spool.error().message.c_str(), why);
  }
}

DVNN_TEST(a_folder_of_others_is_refused) {
  TemporaryFolder folder;
  namespace files = std::filesystem;
  files::create_directory(folder.file("real"));
  files::create_symlink(folder.file("real"), folder.file("link"));
  expect_refused(folder.file("link"), "link'");
  files::create_directory(folder.file("open"));
  files::permissions(folder.file("open"), files::perms(0777));
  expect_refused(folder.file("open"), "others must not write to it");
  expect_refused(folder.file("open") + "/spool", "others must not write to it");
  files::create_directory(folder.file("pipe"));
  ck_assert_int_eq(mkfifo((folder.file("pipe") + "/lock").c_str(), 0600), 0);
  expect_refused(folder.file("pipe"), "lock' cannot be opened");
  files::create_directory(folder.file("led"));
  files::create_symlink(folder.file("made"), folder.file("led") + "/lock");
  expect_refused(folder.file("led"), "lock' cannot be opened");
  ck_assert(!files::exists(folder.file("made")));
  if (geteuid() != 0) return;  // only root can give files away
  files::create_directory(folder.file("given"));
  ck_assert_int_eq(chown(folder.file("given").c_str(), 12345, 12345), 0);
  expect_refused(folder.file("given"), "belongs to user 12345");
}

static void damage(const std::string& segment) {
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(30);
  file.put('!');
}

DVNN_TEST(what_damage_costs_while_it_is_open_is_counted) {
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

DVNN_TEST(random_damage_costs_no_more_than_it_touches) {
  std::mt19937 random(41);
  constexpr int kMessages = 60;
  std::string record;
  publish::append_record(numbered(0), 1, &record);
  for (int round = 0; round < dvnn_rounds(300); ++round) {
    TemporaryFolder folder;
    {
      const auto spool = opened(folder, 1 << 20, 1000);
      append(spool.get(), 0, kMessages);
      ck_assert(spool->sync().ok());
    }
    const auto all = segments(folder);
    size_t touched = 0;
    for (unsigned left = 1 + random() % 4; left > 0; --left) {
      const std::string& segment = all[random() % all.size()];
      std::string bytes = bytes_of(segment);
      const size_t at = random() % bytes.size();
      const size_t size = std::min<size_t>(1 + random() % 200, bytes.size() - at);
      for (size_t i = at; i < at + size; ++i) bytes[i] = static_cast<char>(random());
      write(segment, bytes);
      touched += (at + size - 1) / record.size() - at / record.size() + 1;
    }
    const int came = read_rest(folder, kMessages);
    ck_assert_msg(came + static_cast<int>(touched) >= kMessages, "round %d: %d came, %zu touched",
                  round, came, touched);
  }
}

}  // namespace dvnn::test::spool_damage_tests
