// SPDX-License-Identifier: Apache-2.0
// A spool of messages that are numbers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "check_suite.h"
#include "publish/spool.h"
#include "temporary_folder.h"

namespace dvnn::test {

using publish::Message;
using publish::Spool;

inline Message numbered(int number, size_t size = 20) {
  std::string body = std::to_string(number);
  body.resize(std::max(size, body.size()), ' ');
  return {"topic", "stream", body};
}

inline std::unique_ptr<Spool> opened(const TemporaryFolder& folder, uint64_t most = 1 << 20,
                                     uint64_t segment = 0) {
  auto spool = Spool::open(folder.file("spool"), {most, segment});
  if (!spool.ok()) ck_abort_msg("%s", spool.error().message.c_str());
  return std::move(spool.value());
}

inline void append(Spool* spool, int from, int to) {
  for (int i = from; i < to; ++i) {
    const Status status = spool->append(numbered(i));
    if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
  }
}

// Reads all; the numbers must be those from `from` to `to`, in order.
inline void expect(Spool* spool, int from, int to, bool acknowledge) {
  for (int i = from; i < to; ++i) {
    const auto entry = spool->read();
    ck_assert_msg(entry.has_value(), "message %d is missing", i);
    ck_assert_int_eq(std::atoi(entry->message.body.c_str()), i);
    if (acknowledge) spool->acknowledge(entry->place);
  }
  ck_assert(!spool->read());
}

inline std::vector<std::string> segments(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("spool"))) {
    if (entry.path().extension() == ".spool") names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dvnn::test
