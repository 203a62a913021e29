// SPDX-License-Identifier: Apache-2.0
#include "check_main.h"
#include "publish/base64.h"
#include "publish/document.h"

using namespace dvnn;

START_TEST(base64_is_that_of_the_rfc) {
  const std::pair<const char*, const char*> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) dvnn_assert_text(publish::base64(bytes), text);
  dvnn_assert_text(publish::base64("\xff\xfe\xfd"), "//79");
}
END_TEST

START_TEST(times_are_written_to_the_microsecond) {
  dvnn_assert_text(publish::utc_text(0), "1970-01-01T00:00:00.000000Z");
  dvnn_assert_text(publish::utc_text(1709210096123456789), "2024-02-29T12:34:56.123456Z");
}
END_TEST

START_TEST(a_document_has_what_there_is_and_no_more) {
  publish::Document document;
  document.time.utc_ns = 0;
  document.time.pts = 40;
  publish::EventFacts event;
  event.kind = "enter";
  event.area = "door";
  event.track_id = 7;
  event.inside = 0;
  document.facts = event;
  dvnn_assert_text(
      publish::to_line(document, {"cam", "0123456789abcdef", ""}, 3, JsonValue()),
      "{\"event\":{\"area\":\"door\",\"inside\":0,\"kind\":\"enter\",\"track_id\":7},"
      "\"id\":\"0123456789abcdef-3\",\"seq\":3,\"session\":\"0123456789abcdef\","
      "\"stream\":\"cam\",\"time\":{\"pts\":40,\"utc\":\"1970-01-01T00:00:00.000000Z\","
      "\"utc_from\":\"clock\"},\"type\":\"event\",\"version\":1}");
}
END_TEST

START_TEST(no_number_and_no_text_breaks_a_line) {
  publish::Document document;
  publish::FrameFacts frame;
  publish::ObjectFacts object;
  object.id = 1;
  object.label = "a\nb\xff";
  object.region = "gate\n";
  object.confidence = std::nan("");
  object.box = publish::Box{1.234567, -INFINITY, 2, 3};
  frame.objects.push_back(object);
  document.facts = frame;
  const std::string line = publish::to_line(document, {"cam", "0", ""}, 0, JsonValue());
  ck_assert_ptr_null(std::strchr(line.c_str(), '\n'));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"box\":[1.23,0.0,2.0,3.0]"));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"confidence\":0.0"));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"region\":\"gate"));
}
END_TEST

START_TEST(fields_are_an_object) {
  ck_assert(publish::parse_fields("").ok());
  ck_assert(publish::parse_fields("{\"a\":1}").ok());
  const auto list = publish::parse_fields("[1]");
  ck_assert(!list.ok());
  dvnn_assert_text(list.error().message,
                   "fields is a list, and must be an object: {\"site\":\"Kyoto\"}");
}
END_TEST

START_TEST(sessions_differ) {
  const std::string one = publish::new_session(), other = publish::new_session();
  ck_assert_uint_eq(one.size(), 16);
  ck_assert_str_ne(one.c_str(), other.c_str());
}
END_TEST

DVNN_TEST_MAIN(publish_documents, base64_is_that_of_the_rfc, times_are_written_to_the_microsecond,
               a_document_has_what_there_is_and_no_more, no_number_and_no_text_breaks_a_line,
               fields_are_an_object, sessions_differ)
