// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <vector>

#include "check_suite.h"

namespace dvnn::test::short_text_tests {

DVNN_SUITE(short_text);

DVNN_TEST(text_is_cut_to_the_bytes_that_there_are) {
  const std::string text = "abcdefgh";
  // Below four bytes nothing of the text is left but the dots.
  const char* const wanted[] = {"...",   "...",    "...",     "...",      "a...",
                                "ab...", "abc...", "abcd...", "abcdefgh", "abcdefgh"};
  for (size_t most = 0; most < 10; ++most) {
    const std::string cut = short_text(text, most);
    dvnn_assert_text(cut, wanted[most]);
  }
  // A character of three bytes goes as a whole.
  for (size_t most = 5; most <= 7; ++most) {
    const std::string cut = short_text(
        "a\xe2\x82\xac"
        "bcde",
        most);
    dvnn_assert_text(cut, most < 7 ? "a..." : "a\xe2\x82\xac...");
  }
}

DVNN_TEST(paths_have_folders_and_names) {
  const char* const kPaths[][3] = {{"a/b/c.txt", "a/b/", "c.txt"},
                                   {"c.txt", "", "c.txt"},
                                   {"/c", "/", "c"},
                                   {"a/", "a/", ""},
                                   {"", "", ""}};
  for (const auto& [path, folder, name] : kPaths) {
    const std::string found_folder = folder_name(path), found_name = base_name(path);
    dvnn_assert_text(found_folder, folder);
    dvnn_assert_text(found_name, name);
  }
  const std::string small = lower_case("AZaz[@\xc3\x84");
  dvnn_assert_text(small, "azaz[@\xc3\x84");
}

DVNN_TEST(lists_are_joined_by_what_lies_between) {
  struct Row {
    const char* name;
  };
  const Row rows[] = {{"a"}, {"b"}, {"c"}};
  dvnn_assert_text(joined(rows, " + ", &Row::name), "a + b + c");
  dvnn_assert_text(joined(std::vector<int64_t>{1, -1, 300}, "x"), "1x-1x300");
  dvnn_assert_text(joined(std::vector<std::string>{"one"}), "one");
  dvnn_assert_text(joined(std::vector<std::string>{"one", "two"}), "one, two");
  dvnn_assert_text(joined(std::vector<std::string>{}), "");
}

}  // namespace dvnn::test::short_text_tests
