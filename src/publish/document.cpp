// SPDX-License-Identifier: Apache-2.0
#include "publish/document.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "publish/base64.h"

namespace dvnn::publish {
namespace {

using nlohmann::json;

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

json of(const Box& box) {
  return {pixels(box[0]), pixels(box[1]), pixels(box[2]), pixels(box[3])};
}

void set_text(const char* name, const std::string& text, json* out) {
  if (!text.empty()) (*out)[name] = text;
}

template <typename T>
void set_number(const char* name, const std::optional<T>& value, json* out) {
  if (value) (*out)[name] = *value;
}

json of(const Picture& picture) {
  json out = {{"type", "image/jpeg"},
              {"of", picture.of_frame ? "frame" : "object"},
              {"width", picture.width},
              {"height", picture.height}};
  set_number("pts", picture.pts, &out);
  if (picture.box) out["box"] = of(*picture.box);
  if (picture.file.empty()) {
    out["base64"] = base64(picture.jpeg);
  } else {
    out["file"] = picture.file;
  }
  return out;
}

json of(const ObjectFacts& object) {
  json out = {{"id", object.id},
              {"kind", object.kind},
              {"class_id", object.class_id},
              {"label", object.label},
              {"confidence", share(object.confidence)}};
  if (object.parent > 0) out["parent"] = object.parent;
  if (object.track_id > 0) out["track_id"] = object.track_id;
  if (object.predicted) out["predicted"] = true;
  set_text("network", object.network, &out);
  set_text("region", object.region, &out);
  if (object.box) out["box"] = of(*object.box);
  for (const auto& [x, y, confidence] : object.points) {
    out["points"].push_back({pixels(x), pixels(y), share(confidence)});
  }
  set_text("skeleton", object.skeleton, &out);
  for (const auto& [x, y] : object.outline) out["outline"].push_back({pixels(x), pixels(y)});
  if (object.mask) {
    out["mask"] = {{"box", of(object.mask->box)},
                   {"width", object.mask->width},
                   {"height", object.mask->height},
                   {"cells", base64(object.mask->cells)}};
  }
  set_text("text", object.text, &out);
  set_text("text_format", object.text_format, &out);
  for (const float value : object.embedding) {
    out["embedding"].push_back(std::isfinite(value) ? value : 0.0f);
  }
  for (const auto& [name, value] : object.numbers) out["numbers"][name] = finite(value);
  if (object.picture) out["picture"] = of(*object.picture);
  return out;
}

json of(const std::vector<ZoneCount>& counts) {
  json out = json::array();
  for (const ZoneCount& count : counts) {
    json one = {{"name", count.name}};
    for (const auto& [name, value] : count.numbers) one[name] = value;
    if (!count.labels.empty()) one["labels"] = of(count.labels);
    out.push_back(std::move(one));
  }
  return out;
}

void add(const FrameFacts& frame, json* out) {
  (*out)["type"] = "frame";
  json& passes = (*out)["passes"] = json::array();
  for (const PassFacts& pass : frame.passes) {
    passes.push_back({{"network", pass.network}, {"state", pass.state}});
  }
  json& objects = (*out)["objects"] = json::array();
  for (const ObjectFacts& object : frame.objects) objects.push_back(of(object));
  if (frame.counts) {
    (*out)["counts"] = {{"areas", of(frame.counts->areas)}, {"lines", of(frame.counts->lines)}};
  }
}

void add(const EventFacts& event, json* out) {
  (*out)["type"] = "event";
  json& facts = (*out)["event"] = {{"kind", event.kind}};
  set_text("area", event.area, &facts);
  set_text("line", event.line, &facts);
  set_text("label", event.label, &facts);
  set_text("direction", event.direction, &facts);
  if (event.track_id > 0) facts["track_id"] = event.track_id;
  set_number("duration", event.duration, &facts);
  set_number("inside", event.inside, &facts);
}

void add(const TrackFacts& track, json* out) {
  (*out)["type"] = "track";
  json& facts = (*out)["track"] = {{"state", track.ended ? "ended" : "started"},
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
}

// Labels and texts come from files and networks: what is no UTF-8 is replaced.
std::string line_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
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
                    const JsonValue& fields) {
  json out = {{"version", kVersion},
              {"id", identity.session + "-" + std::to_string(seq)},
              {"session", identity.session},
              {"seq", seq},
              {"stream", identity.stream}};
  json& time = out["time"] = {{"utc", utc_text(document.time.utc_ns)},
                              {"utc_from", document.time.from_reference ? "reference" : "clock"}};
  set_number("pts", document.time.pts, &time);
  set_number("stream_time", document.time.stream_time, &time);
  set_number("ntp", document.time.ntp, &time);
  if (document.width > 0 && document.height > 0) {
    out["frame"] = {{"width", document.width}, {"height", document.height}};
  }
  std::visit([&out](const auto& facts) { add(facts, &out); }, document.facts);
  if (document.picture) out["picture"] = of(*document.picture);
  if (fields->is_object() && !fields->empty()) out["fields"] = *fields;
  return line_of(out);
}

std::string status_document(const Identity& identity, bool online) {
  return line_of({{"version", kVersion},
                  {"type", "status"},
                  {"session", identity.session},
                  {"stream", identity.stream},
                  {"state", online ? "online" : "offline"}});
}

Result<JsonValue> parse_fields(const std::string& text) {
  if (text.empty()) return JsonValue();
  DVNN_ASSIGN(json fields, parse_json(text, "fields"));
  if (!fields.is_object()) {
    return Error{ErrorCode::kMalformed,
                 "fields is " + shown(fields) + ", and must be an object: {\"site\":\"Kyoto\"}"};
  }
  return JsonValue(std::move(fields));
}

}  // namespace dvnn::publish
