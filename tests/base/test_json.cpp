// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::json_tests {

DVNN_SUITE(json);

using json = dvnn::Json;

DVNN_TEST(reads_fields_and_defaults) {
  const json object = {{"count", 3}, {"ratio", 0.5}, {"name", "x"}, {"list", {1, 2}}};
  JsonReader in(object, "thing");
  ck_assert_int_eq(in.integer("count", 0, 10), 3);
  ck_assert_int_eq(in.integer("absent", 0, 10, 7), 7);
  ck_assert_float_eq(static_cast<float>(in.number("ratio")), 0.5f);
  ck_assert(in.text("name") == "x");
  ck_assert_uint_eq(in.numbers("list", 4).size(), 2);
  ck_assert(in.status().ok());
}

static void expect_refusal(const json& object, void (*read)(JsonReader*), const char* word) {
  JsonReader in(object, "thing");
  read(&in);
  ck_assert(!in.status().ok());
  ck_assert_msg(in.status().error().message.find(word) != std::string::npos, "%s",
                in.status().error().message.c_str());
}

DVNN_TEST(refusals_name_the_field) {
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

DVNN_TEST(members_that_nobody_knows_are_refused) {
  ck_assert(check_members({{"size", 1}}, "thing", {"size", "name"}).ok());
  const Status other = check_members({{"seize", 1}}, "thing", {"size", "name"});
  ck_assert_str_eq(other.error().message.c_str(),
                   "thing: there is no field 'seize', but size, name");
  for (const json& value : {json(5), json("size"), json(), json{1, 2}, json::array()}) {
    const Status none = check_members(value, "thing", {"size", "name"});
    ck_assert_str_eq(none.error().message.c_str(), "thing must be a JSON object");
  }
}

DVNN_TEST(text_is_parsed_within_limits) {
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

DVNN_TEST(values_are_shown_on_one_short_line) {
  dvnn_assert_text(shown(json::array({1, 2})), "a list");
  dvnn_assert_text(shown(json::object()), "an object");
  ck_assert_uint_le(shown(std::string(1000, 'x')).size(), 40);
  dvnn_assert_text(shown("a\xc2\x9b"), "\"a\\u009b\"");
}

DVNN_TEST(many_numbers_are_packed_and_come_back) {
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

DVNN_TEST(infinities_are_packed_and_come_back_where_they_may) {
  const std::vector<float> few = {1, -INFINITY, INFINITY};
  const json object = {{"few", packed_numbers(few)}, {"nan", packed_numbers({1, NAN})}};
  ck_assert(object["few"].is_string());
  JsonReader in(object, "thing");
  ck_assert(in.numbers("few", 3, true) == few && in.ok());
  expect_refusal(
      object, [](JsonReader* in) { in->numbers("few", 3); }, "finite");
  expect_refusal(
      object, [](JsonReader* in) { in->numbers("nan", 2, true); }, "not a number");
}

// Constant values of nlohmann's have no check in their [].
DVNN_TEST(wrong_kinds_and_absent_members_throw) {
  int thrown = 0;
  const json object = {{"a", "text"}, {"list", {1}}};
  const auto expect = [&](auto ask) {
    try {
      ask();
    } catch (const json::exception&) {
      ++thrown;
    }
  };
  expect([&] { (void)object.at("a").get<int>(); });
  expect([&] { (void)object.at("list").get<std::string>(); });
  expect([&] { (void)object.at("b"); });
  expect([&] { (void)object.at("list").at(1); });
  ck_assert_int_eq(thrown, 4);
}

DVNN_TEST(members_are_written_by_name_or_as_given) {
  json by_name = {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}};
  by_name["m"] = nullptr;
  OrderedJson as_given = {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}};
  as_given["m"] = nullptr;
  as_given["z"] = 4;  // keeps its place
  dvnn_assert_text(json_text(by_name), R"({"a":{"b":3,"y":2},"m":null,"z":1})");
  dvnn_assert_text(json_text(as_given), R"({"z":4,"a":{"y":2,"b":3},"m":null})");
  dvnn_assert_text(json_text(json({{"a", {1, json::object()}}}), 1),
                   "{\n \"a\": [\n  1,\n  {}\n ]\n}");
}

DVNN_TEST(what_terminals_obey_is_escaped) {
  const auto check = [](const char* any, const std::string& wanted) {
    std::string text;
    append_json(any, &text);
    dvnn_assert_text(text, wanted.c_str());
    dvnn_assert_text(json_text(json(any)), wanted.c_str());
    const std::string member = "{\n " + wanted + ": 1\n}";
    dvnn_assert_text(json_text(json({{any, 1}}), 1), member.c_str());
    ck_assert(json::parse(text) == json(any));  // receivers do not notice
  };
  check("a\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\"a\\u007f\\u0080\\u009b\\u009f\xc2\xa0\"");
  check("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xe2\x80\xae\xe2\x81\xa9",
        "\"\\u200e\\u200f\\u061c\\u202e\\u2069\"");
  check("\xe2\x80\x90 \xf0\x9f\x90\xa6 caf\xc3\xa9 \"\\\n",
        "\"\xe2\x80\x90 \xf0\x9f\x90\xa6 caf\xc3\xa9 \\\"\\\\\\n\"");
}

// Network files are compared by their bytes, so text is what it has been.
DVNN_TEST(text_is_what_it_has_been) {
  const auto check = [](const json& value, const char* wanted) {
    dvnn_assert_text(json_text(value), wanted);
  };
  check(json::parse("[true,-1,0,18446744073709551615,-9223372036854775808]"),
        "[true,-1,0,18446744073709551615,-9223372036854775808]");
  check(json::parse("[1e300,-0.0,0.1,1e-7,100.0,1e15,1e16]"),
        "[1e+300,-0.0,0.1,1e-07,100.0,1e+15,1e+16]");
  check(json(0.1f), "0.10000000149011612");
  check(json(NAN), "null");
  check(json::parse(R"({"b":[{}],"a":"\u00e9\n\"\\\u0001","b":2})"),
        "{\"a\":\"\xc3\xa9\\n\\\"\\\\\\u0001\",\"b\":2}");
  check(json("a\xff"
             "b"),
        "\"a\xef\xbf\xbd"
        "b\"");
  dvnn_assert_text(json_text(json("\xc3\xa9\xed\xa0"), -1, true), "\"\\u00e9\\ufffd\\ufffd\"");
  std::mt19937 random(1);
  constexpr std::array kSteps = {1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 3.0};
  for (int i = 0; i < dvnn_rounds(200000); ++i) {
    const double steps = kSteps[static_cast<size_t>(i) % kSteps.size()];
    const double value = (static_cast<double>(random()) - 0x1p31) / 0x1p8;
    const double rounded = std::round(value * steps) / steps;
    for (const double any : {value, rounded, rounded / 1e6, i - 100.0, i / 1e4, -0.0}) {
      std::string number;
      append_json(any, &number);
      const std::string whole = json_text(json(any));
      dvnn_assert_text(number, whole.c_str());
    }
  }
}

DVNN_TEST(what_is_let_go_of_is_empty) {
  json list = {1, {{"a", {"b", {1, 2}}}}, "text"}, object = {{"a", {{"b", {1}}}}}, text = "text";
  for (json* value : {&list, &object, &text}) let_go(value);
  ck_assert(list == json::array() && object == json::object() && text == "text");
  {
    object["a"] = 1;
    const JsonEnd end(&object);
    ck_assert(!object.empty());
  }
  ck_assert(object == json::object());
}

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

DVNN_TEST(limits_of_written_json_are_those_of_all_json) {
  expect_refused(std::string(65, '[').c_str(), "it is nested deeper than 64 levels at byte 64");
}

}  // namespace dvnn::test::json_tests
