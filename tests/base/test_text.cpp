// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/format.h"
#include "check_suite.h"

namespace dvnn::test::text_tests {

DVNN_SUITE(text);

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

DVNN_TEST(base64_is_that_of_the_rfc) {
  const std::pair<const char*, const char*> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : known) {
    dvnn_assert_text(base64(bytes), text);
    const auto back = from_base64(text);
    ck_assert(back && *back == bytes);
  }
}

DVNN_TEST(all_bytes_come_back_from_base64) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes.push_back(static_cast<char>(i * 37 + i / 256));
    const auto back = from_base64(base64(bytes));
    ck_assert(back && *back == bytes);
  }
}

DVNN_TEST(texts_that_are_no_base64_are_refused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg= ", "Z===", "====", "Zm9v=", "Zm 9", "Zg==Zg==", "Zm-_"}) {
    ck_assert_msg(!from_base64(text), "%s", text);
  }
}

}  // namespace dvnn::test::text_tests
