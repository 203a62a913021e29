// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <random>

#include "base/json.h"
#include "check_suite.h"
#include "publish/document.h"
#include "publish/pictures.h"
#include "random_documents.h"

namespace dvnn::test::documents_tests {

DVNN_SUITE(publish_documents);

DVNN_TEST(times_are_written_to_the_microsecond) {
  dvnn_assert_text(publish::utc_text(0), "1970-01-01T00:00:00.000000Z");
  dvnn_assert_text(publish::utc_text(1709210096123456789), "2024-02-29T12:34:56.123456Z");
}

DVNN_TEST(a_document_has_what_there_is_and_no_more) {
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
      publish::to_line(document, {"cam", "0123456789abcdef", ""}, 3, ""),
      "{\"version\":1,\"type\":\"event\",\"id\":\"0123456789abcdef-3\","
      "\"session\":\"0123456789abcdef\",\"seq\":3,\"stream\":\"cam\",\"time\":{\"pts\":40,"
      "\"utc\":\"1970-01-01T00:00:00.000000Z\",\"utc_from\":\"clock\"},"
      "\"event\":{\"kind\":\"enter\",\"area\":\"door\",\"track_id\":7,\"inside\":0}}");
}

DVNN_TEST(a_track_is_told_with_its_path_and_its_best_view) {
  publish::Document document;
  document.time.utc_ns = 1500000000;
  document.time.pts = 40;
  publish::TrackFacts track;
  track.ended = true;
  track.track_id = 7;
  track.class_id = 2;
  track.label = "car";
  track.network = "net";
  track.first = 10;
  track.last = 30;
  track.confidence = 0.25;
  track.box = image::Corners{1, 2, 3, 4.5};
  track.detections = 5;
  track.path = {{{1.5, 2}, 10}, {{3, 4}, 30}};
  track.best_view = {20, 0.75, {5, 6, 7, 8}};
  document.facts = track;
  dvnn_assert_text(
      publish::to_line(document, {"cam", "s", ""}, 1, ""),
      "{\"version\":1,\"type\":\"track\",\"id\":\"s-1\",\"session\":\"s\",\"seq\":1,"
      "\"stream\":\"cam\",\"time\":{\"pts\":40,\"utc\":\"1970-01-01T00:00:01.500000Z\","
      "\"utc_from\":\"clock\"},\"track\":{\"state\":\"ended\",\"track_id\":7,\"network\":\"net\","
      "\"class_id\":2,\"label\":\"car\",\"first\":10,\"last\":30,\"confidence\":0.25,"
      "\"box\":[1.0,2.0,3.0,4.5],\"detections\":5,\"path\":[[1.5,2.0,10],[3.0,4.0,30]],"
      "\"best_view\":{\"pts\":20,\"confidence\":0.75,\"box\":[5.0,6.0,7.0,8.0]}}}");
}

DVNN_TEST(no_number_and_no_text_breaks_a_line) {
  publish::Document document;
  publish::FrameFacts frame;
  publish::FrameObject told;
  objects::Object& object = told.object;
  object.id = 1;
  object.label = "a\nb\xff";
  object.region_name = "gate\n";
  object.confidence = std::nanf("");
  object.box = {1.234567, 0, 2, 3};
  object.points = {{-INFINITY, NAN, 1}};
  frame.objects.push_back(told);
  document.facts = frame;
  const std::string line = publish::to_line(document, {"cam", "0", ""}, 0, "");
  ck_assert_ptr_null(std::strchr(line.c_str(), '\n'));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"box\":[1.23,0.0,2.0,3.0]"));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"points\":[[0.0,0.0,1.0]]"));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"confidence\":0.0"));
  ck_assert_ptr_nonnull(std::strstr(line.c_str(), "\"region\":\"gate"));
}

// What is written without a tree of values is what the tree would write: numbers and texts as short
// as can be.
DVNN_TEST(lines_are_as_json_itself_writes_them) {
  RandomDocuments documents(11);
  for (int i = 0; i < dvnn_rounds(2000); ++i) {
    const publish::Document document = documents.frame();
    const std::string line = publish::to_line(document, {documents.text(), "0", ""},
                                              documents.random(), "{\"site\":\"Kyoto\"}");
    const auto tree = parse_json(line, "the line");
    ck_assert_msg(tree.ok(), "%s", line.c_str());
    const std::string written = json_text(OrderedJson::parse(line));
    ck_assert(tree.value().at("fields") == Json({{"site", "Kyoto"}}));
    dvnn_assert_text(line, written.c_str());
    ck_assert_uint_eq(tree.value().at("objects").size(),
                      std::get<publish::FrameFacts>(document.facts).objects.size());
  }
}

DVNN_TEST(fields_are_an_object) {
  const auto fields = [](const char* text) { return publish::parse_fields(text).value(); };
  ck_assert(fields("").empty() && fields("{ }").empty());
  ck_assert(fields("{ \"b\": 1, \"a\": {} }") == "{\"b\":1,\"a\":{}}");  // in their order
  const auto list = publish::parse_fields("[1]");
  ck_assert(!list.ok());
  dvnn_assert_text(list.error().message,
                   "fields is a list, and must be an object: {\"site\":\"Kyoto\"}");
}

DVNN_TEST(sessions_differ) {
  const std::string one = publish::new_session(), other = publish::new_session();
  ck_assert_uint_eq(one.size(), 16);
  ck_assert_str_ne(one.c_str(), other.c_str());
}

// Of a picture without columns libjpeg says so, and of a file without a folder the system.
DVNN_TEST(pictures_become_jpegs_and_those_that_cannot_are_left_out) {
#ifdef DVNN_HAVE_JPEG
  auto pixels = std::make_shared<publish::Pixels>();
  pixels->bytes.resize(4 * 12, 200);
  pixels->stride = 12;
  publish::Picture picture;
  picture.width = picture.height = 4;
  picture.quality = 85;
  picture.pixels = pixels;
  publish::Document document;
  document.picture = picture;
  ck_assert(publish::encode_pictures(&document).ok());
  const std::string& jpeg = document.picture->jpeg;
  ck_assert(jpeg.substr(0, 3) == "\xff\xd8\xff" && jpeg.substr(jpeg.size() - 2) == "\xff\xd9");
  ck_assert(!document.picture->pixels);
  const auto refusal = [](const publish::Picture& wrong) {
    publish::Document without;
    publish::FrameFacts frame;
    frame.objects.push_back({{}, wrong});
    without.facts = frame;
    const Status status = publish::encode_pictures(&without);
    ck_assert(!std::get<publish::FrameFacts>(without.facts).objects[0].picture);
    return status.ok() ? "" : status.error().message;
  };
  publish::Picture empty = picture, homeless = picture;
  empty.width = 0;
  homeless.file = "/dev/null/none.jpg";
  ck_assert_ptr_nonnull(std::strstr(refusal(empty).c_str(), "Empty JPEG image"));
  ck_assert_ptr_nonnull(std::strstr(refusal(homeless).c_str(), "'/dev/null/none.jpg'"));
#else
  std::printf("skipped: no libjpeg\n");
#endif
}

}  // namespace dvnn::test::documents_tests
