// SPDX-License-Identifier: Apache-2.0
#include "base/written_json.h"

#include <string>

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::written_json_tests {

DVNN_SUITE(written_json);

static void expect_refused(const char* text, const std::string& message) {
  const auto parsed = parse_written_json(text, "it");
  ck_assert_msg(!parsed.ok(), "%s", text);
  ck_assert_str_eq(parsed.error().message.c_str(), message.c_str());
}

DVNN_TEST(what_is_no_json_is_refused_with_its_place) {
  expect_refused("", "it is not JSON: line 1, column 1");
  expect_refused("{\n  \"a\": 1,\n  \"b\" 2\n}", "it is not JSON: line 3, column 8");
  expect_refused("[1,\n2,\n3\n", "it is not JSON: line 3, column 2");  // its end
  expect_refused("[\n\n  nul\n]", "it is not JSON: line 3, column 6");
  expect_refused("[1e999]", "it is not JSON: line 1, column 7");
  expect_refused("[\"\xff\"]", "it is not JSON: line 1, column 3");
  expect_refused("{}\n{}", "it is not JSON: line 2, column 1");
}

DVNN_TEST(a_name_that_stands_twice_is_refused_with_its_line) {
  expect_refused("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}",
                 "it, line 3, column 4: 'a' stands twice in this object");
  expect_refused("[{},\n {\"o\": {\"\\u0061\\n\": [],\n \"a\\u000a\": []}}]",
                 "it, line 3, column 10: 'a?' stands twice in this object");
  // Each object has names of its own.
  const auto parsed = parse_written_json(R"([{"a": {"a": [{"a": 1}, {"a": 2}]}, "b": {}}])", "it");
  ck_assert(parsed.ok());
  dvnn_assert_text(json_text(parsed.value()), R"([{"a":{"a":[{"a":1},{"a":2}]},"b":{}}])");
}

DVNN_TEST(limits_are_those_of_all_json) {
  expect_refused(std::string(65, '[').c_str(), "it is nested deeper than 64 levels at byte 64");
}

}  // namespace dvnn::test::written_json_tests
