// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include "check_suite.h"

namespace dvnn::test::base64_tests {

DVNN_SUITE(base64);

DVNN_TEST(texts_are_those_of_the_rfc) {
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

DVNN_TEST(all_bytes_come_back) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes.push_back(static_cast<char>(i * 37 + i / 256));
    const auto back = from_base64(base64(bytes));
    ck_assert(back && *back == bytes);
  }
}

DVNN_TEST(other_texts_are_refused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg= ", "Z===", "====", "Zm9v=", "Zm 9", "Zg==Zg==", "Zm-_"}) {
    ck_assert_msg(!from_base64(text), "%s", text);
  }
}

}  // namespace dvnn::test::base64_tests
