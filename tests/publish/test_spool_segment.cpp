// SPDX-License-Identifier: Apache-2.0
// Segments that are damaged, or somebody's: records are found in them at the cost of reading them
// once, and those of other segments are not lost.
#include <fcntl.h>

#include <fstream>

#include "base/file.h"
#include "check_suite.h"
#include "publish/spool.h"
#include "publish/spool_segment.h"
#include "temporary_folder.h"

namespace dvnn::test::spool_segment_tests {

DVNN_SUITE(publish_spool_segment);

using publish::SegmentReader;

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

}  // namespace dvnn::test::spool_segment_tests
