// SPDX-License-Identifier: Apache-2.0
// Documents of all kinds, with and without what they may have, and with values at the edges.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>

#include "publish/document.h"

namespace dvnn::test {

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

}  // namespace dvnn::test
