// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/json.h"
#include "check_suite.h"
#include "publish/document_reader.h"
#include "random_documents.h"

namespace dvnn::test::document_reader_tests {

DVNN_SUITE(publish_document_reader);

// Of all kinds of documents, with new seeds in each run.
DVNN_TEST(what_is_read_is_written_again_as_the_same_bytes) {
  const unsigned seed = std::random_device()();
  RandomDocuments documents(seed);
  for (int i = 0; i < dvnn_rounds(4000); ++i) {
    const publish::Document document = documents.any();
    const std::string fields = documents.chance(2) ? "" : R"({"z":1,"a":{"b":[1.5,"x"]}})";
    const std::string line =
        publish::to_line(document, {documents.text(), "89ab", ""}, documents.random(), fields);
    const auto read = publish::read_line(line);
    ck_assert_msg(read.ok(), "seed %u: %s: %s", seed, read.ok() ? "" : read.error().message.c_str(),
                  line.c_str());
    const publish::ReadDocument& again = read.value();
    const std::string written =
        publish::to_line(again.document, again.identity, again.seq, again.fields);
    ck_assert_msg(written == line, "seed %u:\n%s\n%s", seed, line.c_str(), written.c_str());
  }
}

namespace {

const char* const kFrame =
    R"({"version":1,"type":"frame","id":"s-0","session":"s","seq":0,"stream":"cam",)"
    R"("time":{"utc":"2026-11-23T21:50:13.123456Z","utc_from":"clock"},)"
    R"("frame":{"width":64,"height":48},"passes":[{"network":"net","state":"inferred"}],)"
    R"("objects":[{"id":1,"kind":"detection","class_id":0,"label":"cat","confidence":0.5,)"
    R"("box":[1,2,3,4]}]})";

std::string changed(const char* from, const char* to) {
  std::string line = kFrame;
  const size_t at = line.find(from);
  ck_assert(at != std::string::npos);
  return line.replace(at, std::strlen(from), to);
}

}  // namespace

DVNN_TEST(members_that_are_not_known_are_skipped) {
  const auto read = publish::read_line(changed("\"kind\"", R"("colour":{"r":[1]},"kind")"));
  ck_assert(read.ok());
  const auto& frame = std::get<publish::FrameFacts>(read.value().document.facts);
  ck_assert_uint_eq(frame.objects.size(), 1);
  ck_assert(frame.objects[0].object.box == (image::Corners{1, 2, 3, 4}));
  ck_assert_int_eq(read.value().document.width, 64);
}

DVNN_TEST(what_is_wrong_is_named) {
  const struct {
    const char *from, *to, *error;
  } kWrong[] = {
      {"\"version\":1", "\"version\":2",
       "the document: 'version' is not 1, the version that is read"},
      {"\"frame\",\"id\"", "\"status\",\"id\"",
       "the document: 'type' is not frame, event, track, clip, heat"},
      {"[1,2,3,4]", "[1,2,3]", "the document: 'objects[0].box' is not a list of 4"},
      {"[1,2,3,4]", "[1,2,null,4]", "the document: 'objects[0].box[2]' is not a number"},
      {"\"id\":1", "\"id\":-1", "the document: 'objects[0].id' is not an integer from 0 on"},
      {"\"class_id\":0", "\"class_id\":4000000000",
       "the document: 'objects[0].class_id' is not an integer of 32 bits"},
      {",\"label\":\"cat\"", "", "the document: there is no 'objects[0].label'"},
      {"\"inferred\"", "\"seen\"",
       "the document: 'passes[0].state' is not inferred, skipped, predicted"},
      {"21:50", "21-50", "the document: 'time.utc' is not a time as 2026-11-23T21:50:13.123456Z"},
      {"\"box\":[1,2,3,4]", R"("mask":{"box":[0,0,1,1],"width":2,"height":65536,"cells":"AAAA"})",
       "the document: 'objects[0].mask.cells' is not base64 of width x height cells"},
      {"\"box\":[1,2,3,4]", "\"box\":[1,2,3,4}",
       "the document is not JSON of objects of at most 256 members"},
  };
  ck_assert(publish::read_line(kFrame).ok());
  for (const auto& wrong : kWrong) {
    const auto read = publish::read_line(changed(wrong.from, wrong.to));
    ck_assert_msg(!read.ok(), "%s", wrong.to);
    dvnn_assert_text(read.error().message, wrong.error);
  }
}

// The members of an object are looked for one after the other.
DVNN_TEST(an_object_has_few_members) {
  std::string many = "\"numbers\":{\"n\":1";
  for (int i = 1; i < 256; ++i) many += ",\"n" + std::to_string(i) + "\":1";
  ck_assert(publish::read_line(changed("\"kind\"", (many + "},\"kind\"").c_str())).ok());
  many += ",\"one more\":1},\"kind\"";
  ck_assert(!publish::read_line(changed("\"kind\"", many.c_str())).ok());
}

}  // namespace dvnn::test::document_reader_tests
