// SPDX-License-Identifier: Apache-2.0
#include "publish/document_reader.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "publish/document_item.h"

namespace dvnn::publish {
namespace {

// An object with more members is refused: they keep their order, so each is looked for among those
// before it.
constexpr size_t kMostMembers = 256;

std::string text_or_none(const Item& item) {
  return item.there() ? item.text() : std::string();
}

uint64_t natural_or_none(const Item& item) {
  return item.there() ? item.natural() : 0;
}

std::optional<uint64_t> optional_natural(const Item& item) {
  return item.there() ? std::optional<uint64_t>(item.natural()) : std::nullopt;
}

// One of the names that there are, which live as long as the program; `otherwise` is a problem.
template <size_t N>
const char* one_of(const Item& item, const char* const (&names)[N]) {
  const std::string text = item.text();
  for (const char* name : names) {
    if (text == name) return name;
  }
  item.fail(joined(std::vector<std::string>(names, names + N)).c_str());
  return names[0];
}

image::Corners read_box(const Item& item) {
  if (!item.has(4)) return {};
  return {item.at(0).number(), item.at(1).number(), item.at(2).number(), item.at(3).number()};
}

std::optional<image::Corners> read_optional_box(const Item& item) {
  return item.there() ? std::optional<image::Corners>(read_box(item)) : std::nullopt;
}

Picture read_picture(const Item& item) {
  static constexpr const char* kOf[] = {"object", "frame"};
  static constexpr const char* kTypes[] = {"image/jpeg"};
  Picture picture;
  (void)one_of(item.must("type"), kTypes);
  picture.of_frame = one_of(item.must("of"), kOf) == kOf[1];
  picture.width = item.must("width").integer();
  picture.height = item.must("height").integer();
  picture.pts = optional_natural(item.may("pts"));
  picture.box = read_optional_box(item.may("box"));
  picture.file = text_or_none(item.may("file"));
  if (const Item bytes = item.may("base64"); bytes.there()) {
    const auto jpeg = from_base64(bytes.text());
    if (!jpeg) bytes.fail("base64");
    picture.jpeg = jpeg.value_or(std::string());
  }
  return picture;
}

std::optional<Picture> read_optional_picture(const Item& item) {
  return item.there() ? std::optional<Picture>(read_picture(item)) : std::nullopt;
}

void read_points(const Item& item, bool with_confidence, std::vector<objects::Point>* points) {
  item.each([&](const Item& point) {
    if (!point.has(with_confidence ? 3 : 2)) return;
    points->push_back({point.at(0).number(), point.at(1).number(),
                       with_confidence ? point.at(2).single() : 1.0f});
  });
}

void read_mask(const Item& item, objects::Mask* mask) {
  mask->place = read_box(item.must("box"));
  mask->width = item.must("width").integer();
  mask->height = item.must("height").integer();
  const Item cells = item.must("cells");
  const auto bytes = from_base64(cells.text());
  const bool sized = mask->width > 0 && mask->height > 0 && bytes &&
                     bytes->size() == grid_size(mask->width, mask->height);
  if (!sized) return cells.fail("base64 of width x height cells");
  std::copy(bytes->begin(), bytes->end(), mask->cells.resize(bytes->size()));
}

objects::Movement read_ground(const Item& item) {
  objects::Movement ground;
  ground.x = item.must("x").number();
  ground.y = item.must("y").number();
  ground.deviation = item.must("deviation").number();
  // What was not known well enough to be told.
  ground.speed_deviation = std::numeric_limits<double>::max();
  if (const Item speed = item.may("speed"); speed.there()) {
    ground.speed = speed.number();
    ground.speed_deviation = item.must("speed_deviation").number();
  }
  if (const Item heading = item.may("heading"); heading.there()) ground.heading = heading.number();
  return ground;
}

objects::Agreement read_agreement(const Item& item) {
  objects::Agreement agreement;
  const uint64_t looks = item.must("looks").natural();
  if (looks > UINT32_MAX) item.must("looks").fail("a number of looks");
  agreement.looks = static_cast<uint32_t>(looks);
  agreement.probability = item.must("probability").single();
  agreement.reached = item.must("agreed").flag();
  return agreement;
}

objects::Identity read_who(const Item& item) {
  objects::Identity identity;
  identity.name = text_or_none(item.may("name"));
  identity.stranger = natural_or_none(item.may("stranger"));
  identity.likeness = item.must("likeness").single();
  identity.agreed = item.must("agreed").flag();
  return identity;
}

objects::Kind read_kind(const Item& item) {
  constexpr objects::Kind kKinds[] = {objects::Kind::kDetection, objects::Kind::kClassification,
                                      objects::Kind::kSegmentation, objects::Kind::kAttributes};
  const std::string text = item.text();
  for (const objects::Kind kind : kKinds) {
    if (text == objects::kind_name(kind)) return kind;
  }
  item.fail("a kind of object");
  return objects::Kind::kDetection;
}

FrameObject read_object(const Item& item) {
  FrameObject told;
  // All members, so that a new one is not forgotten here.
  auto& [id, parent, kind, class_id, label, confidence, raw_score, box, track_id, predicted, region,
         region_name, network, outline, points, skeleton, mask, text, text_format, text_confidences,
         embedding, numbers, ground, agreement, identity] = told.object;
  id = item.must("id").natural();
  parent = natural_or_none(item.may("parent"));
  track_id = natural_or_none(item.may("track_id"));
  kind = read_kind(item.must("kind"));
  class_id = item.must("class_id").integer();
  label = item.must("label").text();
  confidence = item.must("confidence").single();
  network = text_or_none(item.may("network"));
  region_name = text_or_none(item.may("region"));
  if (const Item flag = item.may("predicted"); flag.there()) predicted = flag.flag();
  if (const Item edges = item.may("box"); edges.there()) box = read_box(edges);
  if (const Item list = item.may("points"); list.there()) read_points(list, true, &points);
  skeleton = text_or_none(item.may("skeleton"));
  if (const Item list = item.may("outline"); list.there()) read_points(list, false, &outline);
  if (const Item cells = item.may("mask"); cells.there()) read_mask(cells, &mask);
  text = text_or_none(item.may("text"));
  text_format = text_or_none(item.may("text_format"));
  if (const Item list = item.may("embedding"); list.there()) {
    // By a name of its own: a lambda of C++17 cannot capture a structured binding.
    list.each([&to = embedding](const Item& value) { to.push_back(value.single()); });
  }
  if (const Item all = item.may("numbers"); all.there()) {
    all.each_member([&to = numbers](const std::string& name, const Item& value) {
      to.push_back({name, value.number()});
    });
  }
  if (const Item place = item.may("ground"); place.there()) ground = read_ground(place);
  if (const Item looks = item.may("agreement"); looks.there()) agreement = read_agreement(looks);
  if (const Item who = item.may("identity"); who.there()) identity = read_who(who);
  told.picture = read_optional_picture(item.may("picture"));
  return told;
}

constexpr const char* kCounts[] = {"inside", "entered", "left", "forward", "backward"};

std::vector<ZoneCount> read_counts(const Item& item) {
  std::vector<ZoneCount> counts;
  item.each([&](const Item& one) {
    ZoneCount count;
    count.name = one.must("name").text();
    one.each_member([&](const std::string& name, const Item& value) {
      for (const char* known : kCounts) {
        if (name == known) count.numbers.emplace_back(known, value.natural());
      }
    });
    if (const Item bay = one.may("occupied"); bay.there()) count.occupied = bay.flag();
    count.since = optional_natural(one.may("since"));
    if (const Item labels = one.may("labels"); labels.there()) count.labels = read_counts(labels);
    counts.push_back(std::move(count));
  });
  return counts;
}

Distance read_distance(const Item& item) {
  Distance distance;
  if (const Item tracks = item.must("tracks"); tracks.has(2)) {
    distance.track_id = tracks.at(0).natural();
    distance.other_id = tracks.at(1).natural();
  }
  distance.metres = item.must("metres").number();
  distance.deviation = item.must("deviation").number();
  return distance;
}

FrameFacts read_frame(const Item& document) {
  static constexpr const char* kStates[] = {"inferred", "skipped", "predicted"};
  FrameFacts frame;
  document.must("passes").each([&](const Item& pass) {
    frame.passes.push_back({pass.must("network").text(), one_of(pass.must("state"), kStates)});
  });
  document.must("objects").each(
      [&](const Item& object) { frame.objects.push_back(read_object(object)); });
  if (const Item counts = document.may("counts"); counts.there()) {
    frame.counts = ZoneCounts{read_counts(counts.must("areas")), read_counts(counts.must("lines"))};
  }
  if (const Item pairs = document.may("distances"); pairs.there()) {
    pairs.each([&](const Item& pair) { frame.distances.push_back(read_distance(pair)); });
  }
  return frame;
}

EventFacts read_event(const Item& item) {
  EventFacts event;
  event.kind = item.must("kind").text();
  event.area = text_or_none(item.may("area"));
  event.line = text_or_none(item.may("line"));
  event.track_id = natural_or_none(item.may("track_id"));
  event.label = text_or_none(item.may("label"));
  event.direction = text_or_none(item.may("direction"));
  event.duration = optional_natural(item.may("duration"));
  event.inside = optional_natural(item.may("inside"));
  if (const Item speed = item.may("speed"); speed.there()) event.speed = speed.number();
  event.name = text_or_none(item.may("name"));
  event.stranger = natural_or_none(item.may("stranger"));
  if (const Item like = item.may("likeness"); like.there()) event.likeness = like.number();
  if (const Item before = item.may("before"); before.there()) event.before = before.flag();
  event.since = optional_natural(item.may("since"));
  if (const Item metres = item.may("distance"); metres.there()) {
    event.distance = Distance{event.track_id, item.must("other_id").natural(), metres.number(),
                              item.must("distance_deviation").number()};
  }
  return event;
}

TrackFacts read_track(const Item& item) {
  static constexpr const char* kStates[] = {"started", "ended"};
  TrackFacts track;
  track.ended = one_of(item.must("state"), kStates) == kStates[1];
  track.track_id = item.must("track_id").natural();
  track.network = text_or_none(item.may("network"));
  track.class_id = item.must("class_id").integer();
  track.label = item.must("label").text();
  track.first = item.must("first").natural();
  track.last = item.must("last").natural();
  if (const Item sure = item.may("confidence"); sure.there()) track.confidence = sure.number();
  track.box = read_optional_box(item.may("box"));
  track.detections = optional_natural(item.may("detections"));
  if (const Item path = item.may("path"); path.there()) {
    path.each([&](const Item& place) {
      if (!place.has(3)) return;
      track.path.push_back({{place.at(0).number(), place.at(1).number()}, place.at(2).natural()});
    });
  }
  if (const Item view = item.may("best_view"); view.there()) {
    track.best_view = BestView{view.must("pts").natural(), view.must("confidence").number(),
                               read_box(view.must("box"))};
  }
  return track;
}

ClipFacts read_clip(const Item& item) {
  ClipFacts clip;
  clip.state = item.must("state").text();
  clip.clip = item.must("number").natural();
  clip.file = text_or_none(item.may("file"));
  clip.duration = item.must("duration").natural();
  clip.before = item.must("before").natural();
  clip.bytes = item.must("bytes").natural();
  clip.lost = item.must("lost").natural();
  clip.complete = item.must("complete").flag();
  clip.problem = text_or_none(item.may("problem"));
  item.must("events").each([&](const Item& event) {
    clip.events.push_back({read_event(event), event.must("at").natural()});
  });
  return clip;
}

HeatFacts read_heat(const Item& item) {
  HeatFacts heat;
  heat.from = item.must("from").natural();
  heat.to = item.must("to").natural();
  heat.unit = item.must("unit").text();
  heat.cell = item.must("cell").number();
  item.must("labels").each([&](const Item& one) {
    HeatLabel label{one.must("name").text(), one.must("seconds").number(), {}};
    one.must("cells").each([&](const Item& cell) {
      if (!cell.has(3)) return;
      label.cells.push_back({cell.at(0).number(), cell.at(1).number(), cell.at(2).number()});
    });
    heat.labels.push_back(std::move(label));
  });
  heat.left_out = item.must("left_out").number();
  return heat;
}

// Reads what utc_text() has written.
int64_t read_utc(const Item& item) {
  constexpr int64_t kSecond = 1000000000, kMicrosecond = 1000;
  constexpr int kFirstYear = 1900;
  const std::string text = item.text();
  struct tm parts {};
  int microseconds = 0, end = 0;
  const int fields =
      sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &parts.tm_year, &parts.tm_mon,
             &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &microseconds, &end);
  parts.tm_year -= kFirstYear;
  parts.tm_mon -= 1;
  const bool good = fields == 7 && static_cast<size_t>(end) == text.size() &&
                    text == utc_text(static_cast<int64_t>(timegm(&parts)) * kSecond +
                                     microseconds * kMicrosecond);
  if (!good) return item.fail("a time as 2026-11-23T21:50:13.123456Z"), 0;
  return static_cast<int64_t>(timegm(&parts)) * kSecond + microseconds * kMicrosecond;
}

Times read_times(const Item& item) {
  static constexpr const char* kFrom[] = {"clock", "reference"};
  Times times;
  times.pts = optional_natural(item.may("pts"));
  times.stream_time = optional_natural(item.may("stream_time"));
  times.ntp = optional_natural(item.may("ntp"));
  times.utc_ns = read_utc(item.must("utc"));
  times.from_reference = one_of(item.must("utc_from"), kFrom) == kFrom[1];
  return times;
}

ReadDocument read_document(const Item& root) {
  static constexpr const char* kTypes[] = {"frame", "event", "track", "clip", "heat"};
  ReadDocument read;
  if (root.must("version").natural() != 1) root.must("version").fail("1, the version that is read");
  const std::string type = one_of(root.must("type"), kTypes);
  read.identity.session = root.must("session").text();
  read.identity.stream = root.must("stream").text();
  read.seq = root.must("seq").natural();
  Document& document = read.document;
  document.time = read_times(root.must("time"));
  if (const Item size = root.may("frame"); size.there()) {
    document.width = size.must("width").integer();
    document.height = size.must("height").integer();
  }
  if (type == "frame") document.facts = read_frame(root);
  if (type == "event") document.facts = read_event(root.must("event"));
  if (type == "track") document.facts = read_track(root.must("track"));
  if (type == "clip") document.facts = read_clip(root.must("clip"));
  if (type == "heat") document.facts = read_heat(root.must("heat"));
  document.picture = read_optional_picture(root.may("picture"));
  if (const Item fields = root.may("fields"); fields.there()) read.fields = fields.json();
  return read;
}

// Parses JSON whose members keep their order. Returns a discarded value if an object has too many.
OrderedJson parse_in_order(const std::string& text) {
  std::vector<size_t> members(kMaxJsonDepth + 1);
  bool fits = true;
  const auto count = [&](int depth, OrderedJson::parse_event_t event, OrderedJson&) {
    const auto level = static_cast<size_t>(depth);
    if (event == OrderedJson::parse_event_t::object_start) members.at(level) = 0;
    if (event == OrderedJson::parse_event_t::key && level > 0) {
      fits = fits && ++members.at(level - 1) <= kMostMembers;
    }
    return fits;
  };
  OrderedJson value = OrderedJson::parse(text, count, /*allow_exceptions=*/false);
  return fits ? std::move(value) : OrderedJson(OrderedJson::value_t::discarded);
}

}  // namespace

Result<ReadDocument> read_line(const std::string& line) {
  constexpr const char* kWhat = "the document";
  if (line.size() > kMostLineBytes) {
    return too_large(
        format("%s has %zu bytes, the limit is %zu", kWhat, line.size(), kMostLineBytes));
  }
  DVNN_TRY(check_json_extent(line, kWhat));
  const OrderedJson value = parse_in_order(line);
  if (value.is_discarded()) {
    return malformed(
        format("%s is not JSON of objects of at most %zu members", kWhat, kMostMembers));
  }
  Problem problem;
  ReadDocument read = read_document(Item(&value, "", &problem));
  if (problem.none()) return read;
  return malformed(std::string(kWhat) + ": " + problem.text());
}

}  // namespace dvnn::publish
