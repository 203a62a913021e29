// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

#include "base/json.h"
#include "check_suite.h"
#include "publish/document.h"
#include "publish/document_reader.h"
#include "publish/pictures.h"

namespace dvnn::test::documents_tests {

DVNN_SUITE(publish_documents);

namespace {

// Documents of all kinds, with and without what they may have, and with values at the edges.
class RandomDocuments {
 public:
  explicit RandomDocuments(unsigned seed) : random_(seed) {}

  unsigned random() { return static_cast<unsigned>(random_()); }
  bool chance(unsigned n) { return random_() % n == 0; }
  std::string text() {
    static constexpr const char* kTexts[] = {
        "person", "", "a\"b\\c", "caf\xc3\xa9", "\x7f\x01\xff", "\xe2\x82", "<b>&amp;</b>\n"};
    return kTexts[random_() % std::size(kTexts)];
  }
  double number() {
    static constexpr double kNumbers[] = {0,    -0.0,   200,     612.499, 1e-5,     -3.005,
                                          1e15, 1e20,   0.1,     1e300,   0.00012,  12345,
                                          0.3,  0.2996, 0.30049, 1.0,     INFINITY, NAN};
    if (chance(2)) return std::uniform_real_distribution<double>(-5, 2000)(random_);
    return kNumbers[random_() % std::size(kNumbers)];
  }

  publish::Document any() {
    switch (random_() % 6) {
      case 0:
        return event();
      case 1:
        return track();
      case 2:
        return clip();
      case 3:
        return heat();
      default:
        return frame();
    }
  }

  publish::Document frame() {
    static constexpr const char* kStates[] = {"inferred", "skipped", "predicted"};
    publish::Document document = head();
    publish::FrameFacts frame;
    if (chance(2)) frame.passes.push_back({text(), kStates[random_() % 3]});
    for (unsigned k = random() % 4; k-- > 0;) frame.objects.push_back(object());
    if (chance(2)) {
      publish::ZoneCount all{
          text(), {{"left", 3}, {"inside", 1}, {"entered", random_()}}, {}, {}, {}};
      all.labels.push_back({text(), {{"forward", 1}, {"backward", 0}}, {}, {}, {}});
      if (chance(2)) all.occupied = chance(2), all.since = random_();
      frame.counts = publish::ZoneCounts{{all}, {}};
      if (chance(2)) frame.distances = {{random_(), 2, number(), number()}, {3, 4, 5, 6}};
    }
    document.facts = frame;
    return document;
  }

 private:
  publish::Document head() {
    publish::Document document;
    document.time.utc_ns = static_cast<int64_t>(random_() << 20 | random_());
    if (chance(2)) document.time.pts = random_();
    if (chance(3)) document.time.stream_time = random_();
    if (chance(4)) document.time.ntp = ~uint64_t{0} - random_();
    document.time.from_reference = chance(3);
    document.width = chance(4) ? 0 : 640;
    document.height = 480;
    if (chance(4)) document.picture = publish::Picture{false, 3, 4, {}, {}, {}, 80, text(), ""};
    return document;
  }
  objects::Point point() {
    return {number(), number(), static_cast<float>(std::clamp(number(), -1e9, 1e9))};
  }
  image::Corners box() { return {number(), number(), number(), number()}; }
  void set_mask(objects::Mask* mask) {
    mask->place = box();
    mask->width = mask->height = 2;
    std::copy_n("\x01\x02\x03\xff", 4, mask->cells.resize(4));
  }
  publish::FrameObject object() {
    publish::FrameObject told;
    objects::Object& object = told.object;
    object.id = random_();
    object.kind = static_cast<objects::Kind>(random_() % 4);
    object.class_id = static_cast<int>(random());
    object.label = text();
    object.network = text();
    object.region_name = text();
    object.text = text();
    object.confidence = static_cast<float>(std::clamp(number(), -2.0, 2.0));
    object.predicted = chance(3);
    if (chance(2)) object.parent = 3;
    if (chance(2)) object.track_id = random_();
    if (chance(2)) object.box = box();
    if (chance(8)) object.box = {1, 2, 1 + number() / 1e5, 2 + number() / 1e5};
    if (chance(3)) object.points = {point(), {1, 2, 0.5}};
    if (chance(3)) object.skeleton = text();
    if (chance(3)) object.outline = {point()};
    if (chance(3)) object.text_format = text();
    if (chance(3)) object.embedding = {0.1f, static_cast<float>(std::clamp(number(), -1e9, 1e9))};
    if (chance(3)) object.numbers = {{text(), number()}, {"b", 1}, {"a", 2}, {"b", 3}};
    if (chance(2)) object.ground = {number(), number(), 0.1, number(), number(), 359.5};
    if (chance(3)) object.agreement = {random() % 20, 0.98765f, chance(2)};
    if (chance(3)) object.identity = {text(), random_() % 2, 0.98765f, chance(2)};
    if (chance(4)) set_mask(&object.mask);
    if (chance(4)) told.picture = publish::Picture{true, 3, 4, 5, {}, {}, 80, "", "JPEG"};
    return told;
  }
  publish::EventFacts event_facts() {
    publish::EventFacts event;
    for (std::string* field :
         {&event.kind, &event.area, &event.line, &event.label, &event.direction, &event.name}) {
      *field = text();
    }
    event.track_id = random_() % 3;
    event.stranger = random_() % 3;
    if (chance(3)) event.likeness = number();
    if (chance(3)) event.before = chance(2);
    if (chance(3)) event.since = random_();
    if (chance(3)) event.distance = publish::Distance{event.track_id, random_(), number(), 0.25};
    if (chance(2)) event.duration = random_();
    if (chance(2)) event.inside = random_();
    if (chance(2)) event.speed = number();
    return event;
  }
  publish::Document event() {
    publish::Document document = head();
    document.facts = event_facts();
    return document;
  }
  publish::Document track() {
    publish::Document document = head();
    publish::TrackFacts track;
    track.ended = chance(2);
    track.track_id = random_();
    track.network = text();
    track.label = text();
    track.class_id = static_cast<int>(random());
    track.first = random_();
    track.last = random_();
    if (chance(2)) track.confidence = number();
    if (chance(2)) track.box = box();
    if (chance(2)) track.detections = random_();
    if (chance(2)) track.path = {{{number(), number()}, random_()}, {{1, 2}, 3}};
    if (chance(2)) track.best_view = publish::BestView{random_(), number(), box()};
    document.facts = track;
    return document;
  }
  publish::Document clip() {
    publish::Document document = head();
    publish::ClipFacts clip;
    clip.file = text();
    clip.problem = text();
    clip.clip = random_();
    clip.duration = random_();
    clip.bytes = ~uint64_t{0};
    clip.complete = chance(2);
    for (unsigned k = random() % 3; k-- > 0;) clip.events.push_back({event_facts(), random_()});
    document.facts = clip;
    return document;
  }

  publish::Document heat() {
    publish::Document document = head();
    publish::HeatFacts heat{random_(), random_(), text(), number(), number(), {}};
    for (unsigned k = random() % 3; k-- > 0;) {
      heat.labels.push_back({text(), number(), {{1, -2, number()}, {70000, 0, 0.5}}});
    }
    document.facts = heat;
    return document;
  }

  std::mt19937_64 random_;
};

}  // namespace

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

}  // namespace dvnn::test::documents_tests
