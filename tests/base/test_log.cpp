// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstring>
#include <string>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::base_log_tests {

DVNN_SUITE(log);

namespace {

std::vector<std::string> lines;
log::Level most;

const log::Sink kSink = {[](log::Topic, log::Level level) { return level <= most; },
                         [](log::Topic topic, log::Level, const char* file, int, const char* text) {
                           ck_assert_ptr_nonnull(strstr(file, "test_log.cpp"));
                           lines.push_back(std::string(log::name_of(topic)) + ": " + text);
                         }};

int made = 0;
int number() {
  return ++made;
}

}  // namespace

DVNN_TEST(a_line_that_nobody_wants_is_not_made) {
  made = 0;
  lines.clear();
  DVNN_LOG(kNetwork, kWarning, "number %d", number());
  most = log::Level::kInfo;
  log::connect(&kSink);
  DVNN_LOG(kNetwork, kDebug, "number %d", number());
  ck_assert_int_eq(made, 0);
  DVNN_LOG(kNetwork, kInfo, "number %d", number());
  DVNN_LOG(kSpool, kWarning, "%s", std::string(5000, 'x').c_str());
  log::connect(nullptr);
  DVNN_LOG(kNetwork, kInfo, "number %d", number());
  ck_assert_int_eq(made, 1);
  ck_assert_uint_eq(lines.size(), 2);
  ck_assert(lines[0] == "dvnetwork: number 1");
  // Long lines are cut.
  ck_assert_uint_lt(lines[1].size(), 1100);
}

DVNN_TEST(every_topic_has_a_name_of_its_own) {
  std::vector<std::string> names;
  for (const log::Topic topic : log::kTopics) {
    const std::string name = log::name_of(topic);
    ck_assert(name.rfind("dv", 0) == 0);
    ck_assert_uint_gt(std::string(log::subject_of(topic)).size(), 0);
    for (const std::string& other : names) ck_assert(other != name);
    names.push_back(name);
  }
}

}  // namespace dvnn::test::base_log_tests
