// SPDX-License-Identifier: Apache-2.0
// Documents as ONVIF metadata: values and places. tests/publish/check_onvif.py parses what
// `onvif_lines` writes, and holds it against rules of ONVIF's schema.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/format.h"
#include "check_suite.h"
#include "publish/onvif.h"

namespace dvnn::test::onvif_tests {

DVNN_SUITE(publish_onvif);

using publish::Document;
using publish::EventFacts;
using publish::FrameFacts;
using publish::TrackFacts;

namespace {

const publish::Identity kWho = {"door", "session", "t"};

Document document(publish::Document what = {}) {
  what.width = 200;
  what.height = 100;
  what.time.utc_ns = 1700000000123456789;
  return what;
}

std::string written(const Document& what) {
  const std::string text = publish::to_onvif(what, kWho, 1, "");
  ck_assert(text.find('\n') == std::string::npos);
  return text;
}

bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  std::printf("%s\nhas no %s\n", text.c_str(), part.c_str());
  return false;
}

publish::FrameObject person() {
  publish::FrameObject told;
  told.object.id = 1;
  told.object.track_id = 7;
  told.object.label = "person";
  told.object.confidence = 0.75f;
  told.object.box = {50, 25, 150, 75};
  return told;
}

}  // namespace

// The picture's upper left corner is (-1, 1): the box from a quarter to three quarters of it lies
// between -0.5 and 0.5.
DVNN_TEST(boxes_are_normalised_with_y_up) {
  Document what = document();
  FrameFacts frame;
  frame.objects = {person()};
  what.facts = frame;
  const std::string text = written(what);
  ck_assert(has(text, R"(<tt:BoundingBox bottom="-0.5" top="0.5" right="0.5" left="-0.5"/>)"));
  ck_assert(has(text, R"(<tt:CenterOfGravity x="0" y="0"/>)"));
  ck_assert(has(text, R"(<tt:Object ObjectId="7">)"));
  ck_assert(has(text, R"(<tt:Type Likelihood="0.75">Human</tt:Type>)"));
  ck_assert(has(text, R"(<tt:Frame UtcTime="2023-11-14T22:13:20.123456Z" Source="door">)"));
  frame.objects[0].object.box = {0, 0, 20, 10};
  what.facts = frame;
  ck_assert(has(written(what), R"(bottom="0.8" top="1" right="-0.8" left="-1")"));
}

DVNN_TEST(crossings_and_stays_have_the_topics_of_the_analytics_specification) {
  Document what = document();
  EventFacts event;
  event.track_id = 7;
  event.label = "car";
  event.kind = "cross";
  event.line = "gate";
  event.direction = "backward";
  what.facts = event;
  std::string text = written(what);
  ck_assert(has(text, ">tns1:RuleEngine/LineDetector/Crossed<"));
  ck_assert(has(text, R"(<tt:SimpleItem Name="Rule" Value="gate"/></tt:Source><tt:Data>)"));
  ck_assert(has(text, R"(<tt:SimpleItem Name="ObjectId" Value="7"/>)"));
  ck_assert(has(text, R"(<tt:SimpleItem Name="ClassTypes" Value="Vehicle"/>)"));
  ck_assert(has(text, R"(<tt:SimpleItem Name="dvnn:Direction" Value="backward"/>)"));
  event = {};
  event.track_id = 7;
  event.area = "yard";
  // The second leaves while another is inside.
  const struct {
    const char* kind;
    uint64_t inside;
    const char* is_inside;
  } kStays[] = {{"enter", 1, "true"}, {"leave", 1, "true"}, {"leave", 0, "false"}};
  for (const auto& stay : kStays) {
    event.kind = stay.kind;
    event.inside = stay.inside;
    what.facts = event;
    text = written(what);
    ck_assert(has(text, ">tns1:RuleEngine/FieldDetector/ObjectsInside<"));
    ck_assert(has(text, "PropertyOperation=\"Changed\""));
    ck_assert(has(text, std::string(R"(Name="IsInside" Value=")") + stay.is_inside));
    ck_assert((text.find("ObjectId") != std::string::npos) == (event.kind == "enter"));
  }
  event.kind = "dwell";
  event.duration = 20123456789;
  what.facts = event;
  text = written(what);
  ck_assert(has(text, ">tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering<"));
  ck_assert(has(text, R"(<tt:SimpleItem Name="Since" Value="2023-11-14T22:13:00.000000Z"/>)"));
  event.kind = "crowd-end";
  what.facts = event;
  ck_assert(has(written(what), ">dvnn:Zones/CrowdEnd<"));
}

DVNN_TEST(a_track_that_has_ended_is_deleted) {
  Document what = document();
  TrackFacts track;
  track.ended = true;
  track.track_id = 9;
  what.facts = track;
  ck_assert(has(written(what), R"(<tt:ObjectTree><tt:Delete ObjectId="9"/></tt:ObjectTree>)"));
}

// Texts are anybody's. What this prints if it is asked to is parsed by check_onvif.py.
DVNN_TEST(onvif_lines) {
  const char* const path = std::getenv("DVNN_ONVIF_LINES");
  FILE* const out = path ? fopen(path, "we") : nullptr;
  std::mt19937 random(std::random_device{}());
  const auto any_text = [&random] {
    static const std::string kBytes =
        "a<>&\"'\n\r\t]]>\x01\x1b\x7f\xc3\xbc\xff\xed\xa0\x80\xef\xbf\xbe\xf0\x9f\x9a\xaa{}%";
    std::string text;
    for (int left = static_cast<int>(random() % 12); left > 0; --left) {
      text += kBytes[random() % kBytes.size()];
    }
    return text;
  };
  const auto any = [&random] { return std::uniform_real_distribution<>(-50, 250)(random); };
  static const char* const kLabels[] = {"person", "Bus", "license_plate", "face", "parcel"};
  for (int round = 0; round < 400; ++round) {
    Document what = document();
    FrameFacts frame;
    // One of each label for certain: most of the boxes below are turned around, and left out.
    for (const char* label : kLabels) {
      if (round > 0) break;
      frame.objects.push_back(person());
      frame.objects.back().object.label = label;
      frame.objects.back().object.text = "AB 12";
    }
    for (int left = static_cast<int>(random() % 4); left > 0; --left) {
      publish::FrameObject told = person();
      told.object.label = round % 2 ? any_text() : kLabels[random() % 5];
      told.object.text = any_text();
      told.object.track_id = random() % 3;
      told.object.box = {any(), any(), any(), any()};
      if (random() % 2) told.object.outline = {{any(), any()}, {any(), any()}, {any(), any()}};
      told.object.kind = random() % 4 ? objects::Kind::kDetection : objects::Kind::kClassification;
      if (random() % 2) told.picture = publish::Picture();
      if (told.picture && random() % 2) told.picture->file = any_text();
      if (told.picture) told.picture->jpeg = any_text();
      frame.objects.push_back(std::move(told));
    }
    EventFacts event;
    static const char* const kKinds[] = {"cross", "enter", "leave", "dwell", "crowd", "speeding"};
    event.kind = kKinds[random() % 6];
    event.line = any_text();
    event.area = any_text();
    event.label = any_text();
    event.track_id = random() % 3;
    if (random() % 2) event.duration = random();
    if (random() % 2) event.inside = random() % 100;
    if (random() % 2) event.speed = any();
    TrackFacts track;
    track.ended = random() % 2;
    track.track_id = 1 + random() % 100;
    track.label = any_text();
    if (random() % 2) track.box = image::Corners{any(), any(), any(), any()};
    publish::ClipFacts clip;
    clip.file = any_text();
    clip.problem = any_text();
    switch (round % 4) {
      case 0:
        what.facts = frame;
        break;
      case 1:
        what.facts = event;
        break;
      case 2:
        what.facts = track;
        break;
      default:
        what.facts = clip;
    }
    const std::string text =
        publish::to_onvif(what, {any_text(), "s", "t"}, static_cast<uint64_t>(round), "");
    ck_assert(text.find('\n') == std::string::npos && is_utf8(text));
    if (out) fprintf(out, "%s\n", text.c_str());
  }
  if (out) fclose(out);
}

}  // namespace dvnn::test::onvif_tests
