// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "check_suite.h"

namespace dvnn::test::json_tests {

using json = dvnn::Json;

START_TEST(reads_fields_and_defaults) {
  const json object = {{"count", 3}, {"ratio", 0.5}, {"name", "x"}, {"list", {1, 2}}};
  JsonReader in(object, "thing");
  ck_assert_int_eq(in.integer("count", 0, 10), 3);
  ck_assert_int_eq(in.integer("absent", 0, 10, 7), 7);
  ck_assert_float_eq(static_cast<float>(in.number("ratio")), 0.5f);
  ck_assert(in.text("name") == "x");
  ck_assert_uint_eq(in.numbers("list", 4).size(), 2);
  ck_assert(in.status().ok());
}
END_TEST

static void expect_refusal(const json& object, void (*read)(JsonReader*), const char* word) {
  JsonReader in(object, "thing");
  read(&in);
  ck_assert(!in.status().ok());
  ck_assert_msg(in.status().error().message.find(word) != std::string::npos, "%s",
                in.status().error().message.c_str());
}

START_TEST(refusals_name_the_field) {
  expect_refusal(
      json::object(), [](JsonReader* in) { in->integer("size", 0, 9); }, "size");
  expect_refusal(
      {{"size", 10}}, [](JsonReader* in) { in->integer("size", 0, 9); }, "0 to 9");
  expect_refusal(
      {{"size", 1.5}}, [](JsonReader* in) { in->integer("size", 0, 9); }, "size");
  expect_refusal(
      {{"size", UINT64_MAX}}, [](JsonReader* in) { in->integer("size", 0, 9); }, "size");
  expect_refusal(
      {{"ratio", 1e300}}, [](JsonReader* in) { in->number("ratio"); }, "finite");
  expect_refusal(
      {{"name", 5}}, [](JsonReader* in) { in->text("name"); }, "string");
  expect_refusal(
      {{"list", {1, "a"}}}, [](JsonReader* in) { in->numbers("list", 4); }, "list");
  expect_refusal(
      {{"list", {1, 2, 3}}}, [](JsonReader* in) { in->numbers("list", 2); }, "at most 2");
  expect_refusal(
      json::array(), [](JsonReader*) {}, "object");
}
END_TEST

START_TEST(text_is_parsed_within_limits) {
  auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  ck_assert(parse_json(nested(kMaxJsonDepth), "a text").ok());
  const auto deep = parse_json(nested(kMaxJsonDepth + 1), "a text");
  ck_assert(!deep.ok() && deep.error().code == ErrorCode::kLimit);
  ck_assert(!parse_json(std::string(1000000, '['), "a text").ok());
  ck_assert(!parse_json(std::string(1000000, '{'), "a text").ok());
  ck_assert(parse_json("[\"" + std::string(1000, '[') + "\\\"[\"]", "a text").ok());
  ck_assert(!parse_json("[1, 2", "a text").ok());
  ck_assert(!parse_json(std::string("[\0]", 3), "a text").ok());
  // As much memory as 300 times the text. It is put together of large parts: one by one takes
  // minutes under emulation.
  std::string some, groups = "[[]";
  for (int i = 0; i < 1 << 10; ++i) some += ",[]";
  for (int i = 0; i < 7 << 10; ++i) groups += some;
  const auto many = parse_json(groups + "]", "a text");
  ck_assert(!many.ok() && many.error().message.find("a text has") == 0);
}
END_TEST

START_TEST(values_are_shown_on_one_short_line) {
  dvnn_assert_text(shown(json::array({1, 2})), "a list");
  dvnn_assert_text(shown(json::object()), "an object");
  ck_assert_uint_le(shown(std::string(1000, 'x')).size(), 40);
  dvnn_assert_text(shown("a\xc2\x9b"), "\"a\\u009b\"");
}
END_TEST

START_TEST(many_numbers_are_packed_and_come_back) {
  ck_assert(packed_numbers({1, 2.5f}) == json::array({1, 2.5f}));
  std::vector<float> many;
  for (int i = 0; i < 100; ++i) many.push_back(std::ldexp(1.0f / 3, i - 50));
  const json object = {{"many", packed_numbers(many)}};
  ck_assert(object["many"].is_string());
  JsonReader in(object, "thing");
  ck_assert(in.numbers("many", 100) == many && in.ok());
  ck_assert(in.numbers("many", 99).empty() && !in.ok());
  const auto refused = [](const json& text, const char* word) {
    expect_refusal(
        {{"many", text}}, [](JsonReader* in) { in->numbers("many", 100); }, word);
  };
  const json nothing = {{"many", ""}};
  JsonReader none(nothing, "thing");
  ck_assert(none.numbers("many", 4).empty() && none.ok());
  refused("no base64", "base64");
  refused("AAAA", "base64");      // three bytes
  refused("AADAfw==", "finite");  // not a number
}
END_TEST

DVNN_SUITE(json, many_numbers_are_packed_and_come_back, text_is_parsed_within_limits,
           values_are_shown_on_one_short_line, reads_fields_and_defaults, refusals_name_the_field)

}  // namespace dvnn::test::json_tests
