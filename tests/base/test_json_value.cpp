// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::json_value_tests {

using dvnn::Json;

START_TEST(braces_make_lists_and_objects) {
  const Json object = {{"a", 1}, {"b", {1, 2}}};
  ck_assert(object.is_object() && object["b"].is_array());
  ck_assert_int_eq(object["b"][1].get<int>(), 2);
  ck_assert(Json({1, 2}).is_array() && Json({1, 2}).size() == 2);
  ck_assert(Json({{1, 2}, {3, 4}}).is_array());  // pairs, but of no names
  ck_assert(Json::array({{"a", 1}}).is_array());
  ck_assert(Json(std::vector<float>{0.5f})[0].get<float>() == 0.5f);
  ck_assert(Json().is_null() && Json(nullptr).empty() && Json::object().empty());
}
END_TEST

START_TEST(numbers_compare_by_value) {
  ck_assert(Json(1) == Json(1u) && Json(1) == Json(1.0) && Json(1) != Json(1.5));
  ck_assert(Json(1) != Json(true) && Json("1") != Json(1) && Json() != Json(0));
  ck_assert(Json({{"a", {1, "x"}}}) == Json({{"a", {1.0, "x"}}}));
  ck_assert(Json({{"a", 1}}) != Json({{"a", 1}, {"b", 1}}));
}
END_TEST

START_TEST(copies_are_apart_and_moves_leave_null) {
  Json first = {{"list", {1, 2}}};
  Json copy = first;
  copy["list"].push_back("three");
  ck_assert_uint_eq(first["list"].size(), 2);
  first["self"] = first;  // a part of itself is copied before it is replaced
  ck_assert(first["self"]["list"] == Json({1, 2}));
  const Json moved = std::move(copy);
  ck_assert(copy.is_null() &&
            moved["list"].size() == 3);  // NOLINT: what a move leaves is the point
}
END_TEST

START_TEST(wrong_kinds_and_absent_members_throw) {
  int thrown = 0;
  const Json object = {{"a", "text"}, {"list", {1}}};
  const auto expect = [&](auto ask) {
    try {
      ask();
    } catch (const std::logic_error&) {
      ++thrown;
    }
  };
  expect([&] { object["a"].get<int>(); });
  expect([&] { object["a"].get<bool>(); });
  expect([&] { object["list"].get<std::string>(); });
  expect([&] { (void)object["b"]; });
  expect([&] { (void)object["list"][1]; });
  expect([&] { (void)object["a"].items(); });
  expect([&] { Json(5).push_back(1); });
  expect([&] { Json::parse("[1,"); });
  ck_assert_int_eq(thrown, 8);
  ck_assert(object.find("b") == object.end() && !Json(5).contains("b"));
  ck_assert_int_eq(object.value("b", 7), 7);
  dvnn_assert_text(object.value("a", "other"), "text");
}
END_TEST

START_TEST(members_are_written_by_name_or_as_given) {
  Json object = {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}};
  object["m"] = nullptr;
  object["z"] = 4;  // keeps its place
  dvnn_assert_text(object.dump(), R"({"a":{"b":3,"y":2},"m":null,"z":4})");
  dvnn_assert_text(object.dump_as_given(), R"({"z":4,"a":{"y":2,"b":3},"m":null})");
  dvnn_assert_text(Json({{"a", {1, Json::object()}}}).dump(1), "{\n \"a\": [\n  1,\n  {}\n ]\n}");
}
END_TEST

START_TEST(patches_replace_and_remove) {
  Json value = {{"a", {{"x", 1}, {"y", 2}}}, {"b", 3}};
  value.merge_patch({{"a", {{"x", nullptr}, {"z", 4}}}, {"c", {1}}});
  dvnn_assert_text(value.dump(), R"({"a":{"y":2,"z":4},"b":3,"c":[1]})");
}
END_TEST

static void same_text(const std::string& text, const std::string& wanted) {
  dvnn_assert_text(text, wanted.c_str());
}

START_TEST(what_terminals_obey_is_escaped) {
  const auto text = [](const char* any) {
    std::string json;
    append_json(any, &json);
    ck_assert(Json::parse(json) == Json(any));  // receivers do not notice
    return json;
  };
  same_text(text("a\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"),
            "\"a\\u007f\\u0080\\u009b\\u009f\xc2\xa0\"");
  same_text(text("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xe2\x80\xae\xe2\x81\xa9"),
            "\"\\u200e\\u200f\\u061c\\u202e\\u2069\"");
  same_text(text("\xe2\x80\x90 \xf0\x9f\x90\xa6 caf\xc3\xa9 \"\\\n"),
            "\"\xe2\x80\x90 \xf0\x9f\x90\xa6 caf\xc3\xa9 \\\"\\\\\\n\"");
}
END_TEST

// Network files are compared by their bytes, so text is what it has been.
START_TEST(text_is_that_of_nlohmanns_json) {
  for (const char* text : {"null", "[true,false,-1,0,18446744073709551615,-9223372036854775808]",
                           "{}", "[]", R"({"b":[{}],"a":"\u00e9\n\"\\\u0001"})",
                           "[1e300,-0.0,0.1,1e-7,100.0,1e15,1e16]", R"({"a":1,"a":2})"}) {
    const auto other = nlohmann::json::parse(text);
    const auto parsed = dvnn::parse_json(text, "it");
    ck_assert(parsed.ok());
    same_text(parsed.value().dump(), other.dump());
    same_text(parsed.value().dump(2, true), other.dump(2, ' ', true));
    ck_assert(Json::parse(parsed.value().dump()) == parsed.value());
  }
  std::mt19937 random(1);
  for (int i = 0; i < dvnn_rounds(100000); ++i) {
    const float number =
        std::ldexp(static_cast<float>(random()) - 0x1p31f, static_cast<int>(random() % 80) - 60);
    same_text(Json(number).dump(), nlohmann::json(number).dump());
  }
  same_text(Json(NAN).dump(), "null");
  for (const char* broken : {"a\xff"
                             "b",
                             "\xc3", "\xe2\x82", "\xed\xa0\x80"}) {
    const auto replace = nlohmann::json::error_handler_t::replace;
    same_text(Json(broken).dump(), nlohmann::json(broken).dump(-1, ' ', false, replace));
    same_text(Json(broken).dump(-1, true), nlohmann::json(broken).dump(-1, ' ', true, replace));
  }
}
END_TEST

DVNN_SUITE(json_value, braces_make_lists_and_objects, numbers_compare_by_value,
           copies_are_apart_and_moves_leave_null, wrong_kinds_and_absent_members_throw,
           members_are_written_by_name_or_as_given, patches_replace_and_remove,
           what_terminals_obey_is_escaped, text_is_that_of_nlohmanns_json)

}  // namespace dvnn::test::json_value_tests
