// SPDX-License-Identifier: Apache-2.0
#include "publish/document.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string_view>

#include "base/base64.h"
#include "base/format.h"
#include "base/json.h"
#include "publish/line_writer.h"

namespace dvnn::publish {
namespace {

constexpr int kVersion = 1;
constexpr int64_t kSecond = 1000000000;

// Hundredths of a pixel say all, and are short to read.
double pixels(double value) {
  constexpr double kSteps = 100;
  return std::isfinite(value) ? std::round(value * kSteps) / kSteps : 0;
}

double share(double value) {
  constexpr double kSteps = 10000;
  return std::isfinite(value) ? std::clamp(std::round(value * kSteps) / kSteps, 0.0, 1.0) : 0;
}

double finite(double value) {
  return std::isfinite(value) ? value : 0;
}

// Labels and texts come from files and networks: what is no UTF-8 is replaced.
std::string line_of(const Json& document) {
  return document.dump();
}

Json of(const image::Corners& box) {
  return {pixels(box.x0), pixels(box.y0), pixels(box.x1), pixels(box.y1)};
}

void set_text(const char* name, const std::string& text, Json* out) {
  if (!text.empty()) (*out)[name] = text;
}

template <typename T>
void set_number(const char* name, const std::optional<T>& value, Json* out) {
  if (value) (*out)[name] = *value;
}

// Members come in the order of their names.
void put(const image::Corners& box, LineWriter* out) {
  out->begin_list();
  for (const double edge : {box.x0, box.y0, box.x1, box.y1}) out->number(pixels(edge));
  out->end_list();
}

void put_text(const char* name, const std::string& text, LineWriter* out) {
  if (!text.empty()) out->name(name).text(text);
}

void put(const Picture& picture, LineWriter* out) {
  out->begin_object();
  if (picture.file.empty()) out->name("base64").text(base64(picture.jpeg));
  if (picture.box) put(*picture.box, &out->name("box"));
  if (!picture.file.empty()) out->name("file").text(picture.file);
  out->name("height").integer(picture.height);
  out->name("of").text(picture.of_frame ? "frame" : "object");
  if (picture.pts) out->name("pts").natural(*picture.pts);
  out->name("type").text("image/jpeg");
  out->name("width").integer(picture.width);
  out->end_object();
}

void put(const objects::Mask& mask, LineWriter* out) {
  out->begin_object();
  put(mask.place, &out->name("box"));
  out->name("cells").text(
      base64({reinterpret_cast<const char*>(mask.cells.data()), mask.cells.size()}));
  out->name("height").integer(mask.height);
  out->name("width").integer(mask.width);
  out->end_object();
}

// Of two numbers with one name, the last counts.
void put(const std::vector<objects::Number>& numbers, LineWriter* out) {
  Json all = Json::object();
  for (const auto& [name, value] : numbers) all[name] = finite(value);
  out->name("numbers").raw(line_of(all));
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

void put(const FrameObject& told, LineWriter* out) {
  // All members, so that a new one is not forgotten here.
  const auto& [id, parent, kind, class_id, label, confidence, raw_score, box, track_id, predicted,
               region, region_name, network, outline, points, skeleton, mask, text, text_format,
               embedding, numbers] = told.object;
  out->begin_object();
  if (objects::has_box(told.object)) put(box, &out->name("box"));
  out->name("class_id").integer(class_id);
  out->name("confidence").number(share(static_cast<double>(confidence)));
  if (!embedding.empty()) {
    out->name("embedding").begin_list();
    for (const float value : embedding) out->number(finite(static_cast<double>(value)));
    out->end_list();
  }
  out->name("id").natural(id);
  out->name("kind").text(objects::kind_name(kind));
  out->name("label").text(label);
  if (mask.there()) put(mask, &out->name("mask"));
  put_text("network", network, out);
  if (!numbers.empty()) put(numbers, out);
  put_points("outline", outline, false, out);
  if (parent > 0) out->name("parent").natural(parent);
  if (told.picture) put(*told.picture, &out->name("picture"));
  put_points("points", points, true, out);
  if (predicted) out->name("predicted").flag(true);
  put_text("region", region_name, out);
  put_text("skeleton", skeleton, out);
  put_text("text", text, out);
  put_text("text_format", text_format, out);
  if (track_id > 0) out->name("track_id").natural(track_id);
  out->end_object();
}

void put(const std::vector<ZoneCount>& counts, LineWriter* out);

void put(const ZoneCount& count, LineWriter* out) {
  std::vector<std::pair<const char*, uint64_t>> numbers = count.numbers;
  // These two are no numbers, but have their places among the names.
  numbers.emplace_back("name", 0);
  if (!count.labels.empty()) numbers.emplace_back("labels", 0);
  std::sort(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) {
    return std::string_view(a.first) < std::string_view(b.first);
  });
  out->begin_object();
  for (const auto& [name, value] : numbers) {
    out->name(name);
    if (std::string_view(name) == "name") {
      out->text(count.name);
    } else if (std::string_view(name) == "labels") {
      put(count.labels, out);
    } else {
      out->natural(value);
    }
  }
  out->end_object();
}

void put(const std::vector<ZoneCount>& counts, LineWriter* out) {
  out->begin_list();
  for (const ZoneCount& count : counts) put(count, out);
  out->end_list();
}

Json of(const EventFacts& event) {
  Json facts = {{"kind", event.kind}};
  set_text("area", event.area, &facts);
  set_text("line", event.line, &facts);
  set_text("label", event.label, &facts);
  set_text("direction", event.direction, &facts);
  if (event.track_id > 0) facts["track_id"] = event.track_id;
  set_number("duration", event.duration, &facts);
  set_number("inside", event.inside, &facts);
  return facts;
}

Json of(const TrackFacts& track) {
  Json facts = {{"state", track.ended ? "ended" : "started"},
                {"track_id", track.track_id},
                {"class_id", track.class_id},
                {"label", track.label},
                {"first", track.first},
                {"last", track.last}};
  set_text("network", track.network, &facts);
  if (track.confidence) facts["confidence"] = share(*track.confidence);
  if (track.box) facts["box"] = of(*track.box);
  set_number("detections", track.detections, &facts);
  for (const auto& [place, time] : track.path) {
    facts["path"].push_back({pixels(place[0]), pixels(place[1]), time});
  }
  if (track.best_view) {
    facts["best_view"] = {{"pts", track.best_view->pts},
                          {"confidence", share(track.best_view->confidence)},
                          {"box", of(track.best_view->box)}};
  }
  return facts;
}

void put_before_id(const FrameFacts& frame, LineWriter* out) {
  if (!frame.counts) return;
  out->name("counts").begin_object();
  put(frame.counts->areas, &out->name("areas"));
  put(frame.counts->lines, &out->name("lines"));
  out->end_object();
}

void put_after_id(const FrameFacts& frame, LineWriter* out) {
  out->name("objects").begin_list();
  for (const FrameObject& object : frame.objects) put(object, out);
  out->end_list();
  out->name("passes").begin_list();
  for (const PassFacts& pass : frame.passes) {
    out->begin_object();
    out->name("network").text(pass.network);
    out->name("state").text(pass.state);
    out->end_object();
  }
  out->end_list();
}

void put(const Times& time, LineWriter* out) {
  out->begin_object();
  if (time.ntp) out->name("ntp").natural(*time.ntp);
  if (time.pts) out->name("pts").natural(*time.pts);
  if (time.stream_time) out->name("stream_time").natural(*time.stream_time);
  out->name("utc").text(utc_text(time.utc_ns));
  out->name("utc_from").text(time.from_reference ? "reference" : "clock");
  out->end_object();
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
                    const Json& fields) {
  constexpr size_t kRoom = 512, kRoomOfObject = 256;
  const auto* frame = std::get_if<FrameFacts>(&document.facts);
  const auto* event = std::get_if<EventFacts>(&document.facts);
  const auto* track = std::get_if<TrackFacts>(&document.facts);
  LineWriter out(kRoom + (frame ? kRoomOfObject * frame->objects.size() : 0));
  out.begin_object();
  if (frame) put_before_id(*frame, &out);
  if (event) out.name("event").raw(line_of(of(*event)));
  if (fields.is_object() && !fields.empty()) out.name("fields").raw(line_of(fields));
  if (document.width > 0 && document.height > 0) {
    out.name("frame").begin_object();
    out.name("height").integer(document.height);
    out.name("width").integer(document.width);
    out.end_object();
  }
  out.name("id").text(identity.session + "-" + std::to_string(seq));
  if (frame) put_after_id(*frame, &out);
  if (document.picture) put(*document.picture, &out.name("picture"));
  out.name("seq").natural(seq);
  out.name("session").text(identity.session);
  out.name("stream").text(identity.stream);
  put(document.time, &out.name("time"));
  if (track) out.name("track").raw(line_of(of(*track)));
  out.name("type").text(frame ? "frame" : event ? "event" : "track");
  out.name("version").integer(kVersion);
  out.end_object();
  return out.take();
}

std::string status_document(const Identity& identity, bool online) {
  return line_of({{"version", kVersion},
                  {"type", "status"},
                  {"session", identity.session},
                  {"stream", identity.stream},
                  {"state", online ? "online" : "offline"}});
}

Result<Json> parse_fields(const std::string& text) {
  if (text.empty()) return Json();
  DVNN_ASSIGN(Json fields, parse_json(text, "fields"));
  if (!fields.is_object()) {
    return Error{ErrorCode::kMalformed,
                 "fields is " + shown(fields) + ", and must be an object: {\"site\":\"Kyoto\"}"};
  }
  return fields;
}

}  // namespace dvnn::publish
