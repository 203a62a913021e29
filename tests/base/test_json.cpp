// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "check_main.h"

using dvnn::JsonReader;
using nlohmann::json;

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

DVNN_TEST_MAIN(json, reads_fields_and_defaults, refusals_name_the_field)
