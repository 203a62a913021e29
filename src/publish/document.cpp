// SPDX-License-Identifier: Apache-2.0
#include "publish/document.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "publish/line_writer.h"

namespace dvnn::publish {
namespace {

constexpr int kVersion = 1;
constexpr int64_t kSecond = 1000000000;

// Rounds to hundredths of a pixel, which are precise enough and short.
double pixels(double value) {
  constexpr double kSteps = 100, kMost = 1e12;
  if (std::fabs(value) >= kMost && std::isfinite(value)) return value;
  return std::isfinite(value) ? std::round(value * kSteps) / kSteps : 0;
}

image::Corners pixels(const image::Corners& box) {
  return {pixels(box.x0), pixels(box.y0), pixels(box.x1), pixels(box.y1)};
}

double share(double value) {
  constexpr double kSteps = 10000;
  return std::isfinite(value) ? std::clamp(std::round(value * kSteps) / kSteps, 0.0, 1.0) : 0;
}

double finite(double value) {
  return std::isfinite(value) ? value : 0;
}

// Members come in the order of the schema.
void put(const image::Corners& box, LineWriter* out) {
  const auto [x0, y0, x1, y1] = pixels(box);
  out->begin_list();
  for (const double edge : {x0, y0, x1, y1}) out->number(edge);
  out->end_list();
}

void put_text(const char* name, const std::string& text, LineWriter* out) {
  if (!text.empty()) out->name(name).text(text);
}

void put_natural(const char* name, const std::optional<uint64_t>& value, LineWriter* out) {
  if (value) out->name(name).natural(*value);
}

void put(const Picture& picture, LineWriter* out) {
  out->begin_object();
  out->name("type").text("image/jpeg");
  out->name("of").text(picture.of_frame ? "frame" : "object");
  out->name("width").integer(picture.width);
  out->name("height").integer(picture.height);
  put_natural("pts", picture.pts, out);
  if (picture.box) put(*picture.box, &out->name("box"));
  if (picture.file.empty()) {
    out->name("base64").text(base64(picture.jpeg));
  } else {
    out->name("file").text(picture.file);
  }
  out->end_object();
}

void put(const objects::Mask& mask, LineWriter* out) {
  out->begin_object();
  put(mask.place, &out->name("box"));
  out->name("width").integer(mask.width);
  out->name("height").integer(mask.height);
  out->name("cells").text(
      base64({reinterpret_cast<const char*>(mask.cells.data()), mask.cells.size()}));
  out->end_object();
}

// If two numbers have the same name, the later one counts.
void put(const std::vector<objects::Number>& numbers, LineWriter* out) {
  out->begin_object();
  for (auto number = numbers.begin(); number != numbers.end(); ++number) {
    const bool replaced = std::any_of(number + 1, numbers.end(), [&](const objects::Number& other) {
      return other.name == number->name;
    });
    if (!replaced) out->name_of(number->name).number(finite(number->value));
  }
  out->end_object();
}

void put_points(const char* name, const std::vector<objects::Point>& points, bool with_confidence,
                LineWriter* out) {
  if (points.empty()) return;
  out->name(name).begin_list();
  for (const objects::Point& point : points) {
    out->begin_list();
    out->number(pixels(point.x));
    out->number(pixels(point.y));
    if (with_confidence) out->number(share(static_cast<double>(point.confidence)));
    out->end_list();
  }
  out->end_list();
}

void put_embedding(const std::vector<float>& embedding, LineWriter* out) {
  out->name("embedding").begin_list();
  for (const float value : embedding) out->number(finite(static_cast<double>(value)));
  out->end_list();
}

// Finer than any camera sees.
double millimetres(double metres) {
  constexpr double kMost = 1e12;
  if (std::fabs(metres) >= kMost) return finite(metres);
  return std::round(finite(metres) * 1000) / 1000;
}

// What is left out goes by the values that are written, so that a reader decides likewise.
void put(const objects::Movement& known, LineWriter* out) {
  objects::Movement ground;
  ground.speed = millimetres(known.speed);
  ground.speed_deviation = millimetres(known.speed_deviation);
  out->begin_object();
  out->name("x").number(millimetres(known.x));
  out->name("y").number(millimetres(known.y));
  out->name("deviation").number(millimetres(known.deviation));
  if (ground.knows_speed()) {
    out->name("speed").number(ground.speed);
    out->name("speed_deviation").number(ground.speed_deviation);
    if (ground.speed > 2 * ground.speed_deviation) {
      out->name("heading").number(millimetres(known.heading));
    }
  }
  out->end_object();
}

void put(const objects::Agreement& agreement, LineWriter* out) {
  out->begin_object();
  out->name("looks").natural(agreement.looks);
  out->name("probability").number(share(static_cast<double>(agreement.probability)));
  out->name("agreed").flag(agreement.reached);
  out->end_object();
}

void put_who(const std::string& name, uint64_t stranger, LineWriter* out) {
  put_text("name", name, out);
  if (stranger > 0) out->name("stranger").natural(stranger);
}

void put(const objects::Identity& identity, LineWriter* out) {
  out->begin_object();
  put_who(identity.name, identity.stranger, out);
  out->name("likeness").number(share(static_cast<double>(identity.likeness)));
  out->name("agreed").flag(identity.agreed);
  out->end_object();
}

void put(const FrameObject& told, LineWriter* out) {
  // All members, so that a new one is not forgotten here.
  const auto& [id, parent, kind, class_id, label, confidence, raw_score, box, track_id, predicted,
               region, region_name, network, outline, points, skeleton, mask, text, text_format,
               text_confidences, embedding, numbers, ground, agreement, identity] = told.object;
  out->begin_object();
  out->name("id").natural(id);
  if (parent > 0) out->name("parent").natural(parent);
  if (track_id > 0) out->name("track_id").natural(track_id);
  out->name("kind").text(objects::kind_name(kind));
  out->name("class_id").integer(class_id);
  out->name("label").text(label);
  out->name("confidence").number(share(static_cast<double>(confidence)));
  put_text("network", network, out);
  put_text("region", region_name, out);
  if (predicted) out->name("predicted").flag(true);
  if (image::is_place(pixels(box))) put(box, &out->name("box"));
  put_points("points", points, true, out);
  put_text("skeleton", skeleton, out);
  put_points("outline", outline, false, out);
  if (mask.there()) put(mask, &out->name("mask"));
  put_text("text", text, out);
  put_text("text_format", text_format, out);
  if (!embedding.empty()) put_embedding(embedding, out);
  if (!numbers.empty()) put(numbers, &out->name("numbers"));
  if (ground) put(*ground, &out->name("ground"));
  if (agreement.looks > 0) put(agreement, &out->name("agreement"));
  if (identity.is_known()) put(identity, &out->name("identity"));
  if (told.picture) put(*told.picture, &out->name("picture"));
  out->end_object();
}

void put(const std::vector<ZoneCount>& counts, LineWriter* out) {
  out->begin_list();
  for (const ZoneCount& count : counts) {
    out->begin_object();
    out->name("name").text(count.name);
    for (const auto& [name, value] : count.numbers) out->name(name).natural(value);
    if (count.occupied) out->name("occupied").flag(*count.occupied);
    put_natural("since", count.since, out);
    if (!count.labels.empty()) put(count.labels, &out->name("labels"));
    out->end_object();
  }
  out->end_list();
}

void put(const Distance& distance, LineWriter* out) {
  out->begin_object();
  out->name("tracks").begin_list();
  out->natural(distance.track_id);
  out->natural(distance.other_id);
  out->end_list();
  out->name("metres").number(millimetres(distance.metres));
  out->name("deviation").number(millimetres(distance.deviation));
  out->end_object();
}

void put(const FrameFacts& frame, LineWriter* out) {
  out->name("passes").begin_list();
  for (const PassFacts& pass : frame.passes) {
    out->begin_object();
    out->name("network").text(pass.network);
    out->name("state").text(pass.state);
    out->end_object();
  }
  out->end_list();
  out->name("objects").begin_list();
  for (const FrameObject& object : frame.objects) put(object, out);
  out->end_list();
  if (!frame.counts) return;
  out->name("counts").begin_object();
  put(frame.counts->areas, &out->name("areas"));
  put(frame.counts->lines, &out->name("lines"));
  out->end_object();
  if (frame.distances.empty()) return;
  out->name("distances").begin_list();
  for (const Distance& distance : frame.distances) put(distance, out);
  out->end_list();
}

void put_members(const EventFacts& event, LineWriter* out) {
  out->name("kind").text(event.kind);
  put_text("area", event.area, out);
  put_text("line", event.line, out);
  if (event.track_id > 0) out->name("track_id").natural(event.track_id);
  put_text("label", event.label, out);
  put_text("direction", event.direction, out);
  put_natural("duration", event.duration, out);
  put_natural("inside", event.inside, out);
  if (event.speed) out->name("speed").number(millimetres(*event.speed));
  put_who(event.name, event.stranger, out);
  if (event.likeness) out->name("likeness").number(share(*event.likeness));
  if (event.before) out->name("before").flag(*event.before);
  put_natural("since", event.since, out);
  if (event.distance) {
    out->name("other_id").natural(event.distance->other_id);
    out->name("distance").number(millimetres(event.distance->metres));
    out->name("distance_deviation").number(millimetres(event.distance->deviation));
  }
}

void put(const EventFacts& event, LineWriter* out) {
  out->name("event").begin_object();
  put_members(event, out);
  out->end_object();
}

void put(const ClipFacts& clip, LineWriter* out) {
  out->name("clip").begin_object();
  out->name("state").text(clip.state);
  out->name("number").natural(clip.clip);
  put_text("file", clip.file, out);
  out->name("duration").natural(clip.duration);
  out->name("before").natural(clip.before);
  out->name("bytes").natural(clip.bytes);
  out->name("lost").natural(clip.lost);
  out->name("complete").flag(clip.complete);
  put_text("problem", clip.problem, out);
  out->name("events").begin_list();
  for (const ClipEvent& event : clip.events) {
    out->begin_object();
    out->name("at").natural(event.at);
    put_members(event.event, out);
    out->end_object();
  }
  out->end_list();
  out->end_object();
}

// Fine enough for a cell that something crosses between two frames.
double microseconds(double seconds) {
  return std::round(finite(seconds) * 1e6) / 1e6;
}

void put(const HeatFacts& heat, LineWriter* out) {
  out->name("heat").begin_object();
  out->name("from").natural(heat.from);
  out->name("to").natural(heat.to);
  out->name("unit").text(heat.unit);
  out->name("cell").number(finite(heat.cell));
  out->name("labels").begin_list();
  for (const HeatLabel& label : heat.labels) {
    out->begin_object();
    out->name("name").text(label.label);
    out->name("seconds").number(microseconds(label.seconds));
    out->name("cells").begin_list();
    for (const auto& [column, row, seconds] : label.cells) {
      out->begin_list();
      out->integer(static_cast<int64_t>(finite(column)));
      out->integer(static_cast<int64_t>(finite(row)));
      out->number(microseconds(seconds));
      out->end_list();
    }
    out->end_list();
    out->end_object();
  }
  out->end_list();
  out->name("left_out").number(microseconds(heat.left_out));
  out->end_object();
}

void put_path(const TrackFacts& track, LineWriter* out) {
  out->name("path").begin_list();
  for (const auto& [place, time] : track.path) {
    out->begin_list();
    out->number(pixels(place[0]));
    out->number(pixels(place[1]));
    out->natural(time);
    out->end_list();
  }
  out->end_list();
}

void put(const TrackFacts& track, LineWriter* out) {
  out->name("track").begin_object();
  out->name("state").text(track.ended ? "ended" : "started");
  out->name("track_id").natural(track.track_id);
  put_text("network", track.network, out);
  out->name("class_id").integer(track.class_id);
  out->name("label").text(track.label);
  out->name("first").natural(track.first);
  out->name("last").natural(track.last);
  if (track.confidence) out->name("confidence").number(share(*track.confidence));
  if (track.box) put(*track.box, &out->name("box"));
  put_natural("detections", track.detections, out);
  if (!track.path.empty()) put_path(track, out);
  if (track.best_view) {
    out->name("best_view").begin_object();
    out->name("pts").natural(track.best_view->pts);
    out->name("confidence").number(share(track.best_view->confidence));
    put(track.best_view->box, &out->name("box"));
    out->end_object();
  }
  out->end_object();
}

void put(const Times& time, LineWriter* out) {
  out->begin_object();
  put_natural("pts", time.pts, out);
  put_natural("stream_time", time.stream_time, out);
  out->name("utc").text(utc_text(time.utc_ns));
  out->name("utc_from").text(time.from_reference ? "reference" : "clock");
  put_natural("ntp", time.ntp, out);
  out->end_object();
}

const char* type_of(const FrameFacts&) {
  return "frame";
}
const char* type_of(const EventFacts&) {
  return "event";
}
const char* type_of(const TrackFacts&) {
  return "track";
}
const char* type_of(const ClipFacts&) {
  return "clip";
}
const char* type_of(const HeatFacts&) {
  return "heat";
}

}  // namespace

std::string new_session() {
  std::random_device random;
  return format("%08x%08x", static_cast<unsigned>(random()), static_cast<unsigned>(random()));
}

std::string utc_text(int64_t nanoseconds) {
  int64_t seconds = nanoseconds / kSecond, rest = nanoseconds % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  constexpr int64_t kFirst = 0, kLast = 253402300799;  // the years 1970 to 9999
  const time_t time = static_cast<time_t>(std::clamp(seconds, kFirst, kLast));
  struct tm parts {};
  gmtime_r(&time, &parts);
  return format("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(rest / 1000));
}

std::string to_line(const Document& document, const Identity& identity, uint64_t seq,
                    const std::string& fields) {
  constexpr size_t kRoom = 512, kRoomOfObject = 256;
  const auto* frame = std::get_if<FrameFacts>(&document.facts);
  LineWriter out(kRoom + (frame ? kRoomOfObject * frame->objects.size() : 0));
  out.begin_object();
  out.name("version").integer(kVersion);
  out.name("type").text(
      std::visit([](const auto& facts) { return type_of(facts); }, document.facts));
  out.name("id").text(identity.session + "-" + std::to_string(seq));
  out.name("session").text(identity.session);
  out.name("seq").natural(seq);
  out.name("stream").text(identity.stream);
  put(document.time, &out.name("time"));
  if (document.width > 0 && document.height > 0) {
    out.name("frame").begin_object();
    out.name("width").integer(document.width);
    out.name("height").integer(document.height);
    out.end_object();
  }
  std::visit([&out](const auto& facts) { put(facts, &out); }, document.facts);
  if (document.picture) put(*document.picture, &out.name("picture"));
  if (!fields.empty()) out.name("fields").raw(fields);
  out.end_object();
  return out.take();
}

std::string status_document(const Identity& identity, bool online) {
  constexpr size_t kRoom = 128;
  LineWriter out(kRoom);
  out.begin_object();
  out.name("version").integer(kVersion);
  out.name("type").text("status");
  out.name("session").text(identity.session);
  out.name("stream").text(identity.stream);
  out.name("state").text(online ? "online" : "offline");
  out.end_object();
  return out.take();
}

Result<std::string> parse_fields(const std::string& text) {
  if (text.empty()) return text;
  DVNN_ASSIGN(const Json fields, parse_written_json(text, "fields"));
  if (!fields.is_object()) {
    return malformed("fields is " + shown(fields) +
                     ", and must be an object: {\"site\":\"Kyoto\"}");
  }
  if (fields.empty()) return std::string();
  return json_text(OrderedJson::parse(text));
}

}  // namespace dvnn::publish
