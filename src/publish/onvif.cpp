// SPDX-License-Identifier: Apache-2.0
#include "publish/onvif.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"

namespace dvnn::publish {
namespace {

constexpr const char* kHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    "<tt:MetadataStream xmlns:tt=\"http://www.onvif.org/ver10/schema\""
    " xmlns:wsnt=\"http://docs.oasis-open.org/wsn/b-2\""
    " xmlns:tns1=\"http://www.onvif.org/ver10/topics\" xmlns:dvnn=\"urn:gst-dvnn:topics\">";
constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Returns how many bytes the character of UTF-8 at `at` has that XML 1.0 allows; 0 if none stands
// there.
size_t character(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (at + size > text.size() || !is_utf8(text.substr(at, size))) return 0;
  // U+FFFE and U+FFFF are no characters.
  return first == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe ? 0 : size;
}

// Text of anybody's within an element or an attribute, on one line.
std::string escaped(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character(text, at);
    if (size == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    switch (const char c = text[at]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\t':
      case '\n':
      case '\r':
        // As a reference, it is neither normalised to a space nor the end of the line.
        out += format("&#%d;", c);
        break;
      default:
        out += text.substr(at, size);
    }
    at += size;
  }
  return out;
}

std::string number(double value) {
  return format("%.6g", std::isfinite(value) ? value : 0);
}

std::string likely(const std::string& type, double likelihood) {
  return " Likelihood=\"" + number(std::clamp(likelihood, 0.0, 1.0)) + "\">" + escaped(type);
}

std::string item(const char* name, const std::string& value) {
  return std::string("<tt:SimpleItem Name=\"") + name + "\" Value=\"" + escaped(value) + "\"/>";
}

// tt:ObjectType and tt:VehicleType of the labels that networks use for them.
struct Type {
  const char *label, *type, *vehicle;
};
constexpr Type kTypes[] = {
    {"person", "Human", ""},
    {"pedestrian", "Human", ""},
    {"human", "Human", ""},
    {"man", "Human", ""},
    {"woman", "Human", ""},
    {"face", "HumanFace", ""},
    {"bicycle", "Bicycle", ""},
    {"bike", "Bicycle", ""},
    {"car", "Vehicle", "Car"},
    {"bus", "Vehicle", "Bus"},
    {"truck", "Vehicle", "Truck"},
    {"motorcycle", "Vehicle", "Motorcycle"},
    {"motorbike", "Vehicle", "Motorcycle"},
    {"vehicle", "Vehicle", ""},
    {"van", "Vehicle", ""},
    {"plate", "LicensePlate", ""},
    {"license plate", "LicensePlate", ""},
    {"licence plate", "LicensePlate", ""},
    {"animal", "Animal", ""},
    {"bird", "Animal", ""},
    {"cat", "Animal", ""},
    {"dog", "Animal", ""},
    {"horse", "Animal", ""},
    {"sheep", "Animal", ""},
    {"cow", "Animal", ""},
    {"elephant", "Animal", ""},
    {"bear", "Animal", ""},
    {"zebra", "Animal", ""},
    {"giraffe", "Animal", ""},
};

// Returns the types of a label; another label is its own type.
Type type_of_label(const std::string& label) {
  std::string lower = label;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::replace(lower.begin(), lower.end(), '_', ' ');
  for (const Type& type : kTypes) {
    if (lower == type.label) return type;
  }
  return {label.c_str(), label.c_str(), ""};
}

// From pixels of the frame to ONVIF's coordinates.
struct Plane {
  double width = 1, height = 1;
  double x(double pixels) const { return 2 * pixels / width - 1; }
  double y(double pixels) const { return 1 - 2 * pixels / height; }
};

Plane plane_of(const Document& document) {
  return {static_cast<double>(std::max(1, document.width)),
          static_cast<double>(std::max(1, document.height))};
}

std::string point(const char* name, double x, double y) {
  return std::string("<tt:") + name + " x=\"" + number(x) + "\" y=\"" + number(y) + "\"/>";
}

std::string shape(const image::Corners& box, const std::vector<objects::Point>& outline,
                  const Plane& plane) {
  const double left = plane.x(box.x0), right = plane.x(box.x1);
  const double top = plane.y(box.y0), bottom = plane.y(box.y1);
  std::string out = "<tt:Shape><tt:BoundingBox bottom=\"" + number(bottom) + "\" top=\"" +
                    number(top) + "\" right=\"" + number(right) + "\" left=\"" + number(left) +
                    "\"/>" + point("CenterOfGravity", (left + right) / 2, (top + bottom) / 2);
  constexpr size_t kLeast = 3;  // of tt:Polygon
  if (outline.size() >= kLeast) {
    out += "<tt:Polygon>";
    for (const objects::Point& one : outline) {
      out += point("Point", plane.x(one.x), plane.y(one.y));
    }
    out += "</tt:Polygon>";
  }
  return out + "</tt:Shape>";
}

std::string classes(const std::string& label, double confidence, const std::string& text) {
  const Type type = type_of_label(label);
  std::string out = "<tt:Class><tt:Type" + likely(type.type, confidence) + "</tt:Type></tt:Class>";
  if (*type.vehicle) {
    out += "<tt:VehicleInfo><tt:Type" + likely(type.vehicle, confidence) +
           "</tt:Type></tt:VehicleInfo>";
  }
  if (type.type == std::string("LicensePlate") && !text.empty()) {
    out += "<tt:LicensePlateInfo><tt:PlateNumber" + likely(text, confidence) +
           "</tt:PlateNumber></tt:LicensePlateInfo>";
  }
  return out;
}

std::string image_of(const std::optional<Picture>& picture, const char* of) {
  if (!picture) return {};
  const std::string name = std::string("<tt:") + of;
  if (!picture->file.empty()) {
    return name + "Ref>" + escaped(picture->file) + "</tt:" + of + "Ref>";
  }
  return name + ">" + base64(picture->jpeg) + "</tt:" + of + ">";
}

std::string id_attribute(const char* name, uint64_t id) {
  return id == 0 ? "" : std::string(" ") + name + "=\"" + std::to_string(id) + "\"";
}

std::string object(const FrameObject& told, uint64_t parent, const Plane& plane) {
  const objects::Object& one = told.object;
  std::string out = "<tt:Object" + id_attribute("ObjectId", one.track_id) +
                    id_attribute("Parent", parent) + "><tt:Appearance>";
  out += shape(one.box, one.outline, plane);
  out += classes(one.label, static_cast<double>(one.confidence), one.text);
  out += image_of(told.picture, "Image") + "</tt:Appearance>";
  if (one.ground && one.ground->knows_speed()) {
    out += "<tt:Behaviour><tt:Speed>" + number(one.ground->speed) + "</tt:Speed></tt:Behaviour>";
  }
  return out + "</tt:Object>";
}

std::string frame_of(const Document& document, const Identity& identity,
                     const std::string& contents) {
  return "<tt:VideoAnalytics><tt:Frame UtcTime=\"" + utc_text(document.time.utc_ns) +
         "\" Source=\"" + escaped(identity.stream) + "\">" + contents +
         "</tt:Frame></tt:VideoAnalytics>";
}

// The coordinates are normalised already.
std::string transformation() {
  return "<tt:Transformation>" + point("Translate", 0, 0) + point("Scale", 1, 1) +
         "</tt:Transformation>";
}

std::string body(const FrameFacts& frame, const Document& document, const Identity& identity) {
  std::string out = transformation();
  const Plane plane = plane_of(document);
  for (const FrameObject& told : frame.objects) {
    if (told.object.kind != objects::Kind::kDetection || !objects::has_box(told.object)) continue;
    const auto parent =
        std::find_if(frame.objects.begin(), frame.objects.end(), [&told](const FrameObject& other) {
          return told.object.parent != 0 && other.object.id == told.object.parent;
        });
    out += object(told, parent == frame.objects.end() ? 0 : parent->object.track_id, plane);
  }
  return frame_of(document, identity, out + image_of(document.picture, "SceneImage"));
}

std::string body(const TrackFacts& track, const Document& document, const Identity& identity) {
  if (track.ended) {
    return frame_of(document, identity,
                    "<tt:ObjectTree><tt:Delete" + id_attribute("ObjectId", track.track_id) +
                        "/></tt:ObjectTree>");
  }
  std::string out = transformation() + "<tt:Object" + id_attribute("ObjectId", track.track_id) +
                    "><tt:Appearance>";
  if (track.box) out += shape(*track.box, {}, plane_of(document));
  out += classes(track.label, track.confidence.value_or(0), {});
  return frame_of(document, identity,
                  out + image_of(document.picture, "Image") + "</tt:Appearance></tt:Object>");
}

using Items = std::vector<std::pair<const char*, std::string>>;

std::string list(const char* name, const Items& items) {
  if (items.empty()) return {};
  std::string out = std::string("<tt:") + name + ">";
  for (const auto& [key, value] : items) out += item(key, value);
  return out + "</tt:" + name + ">";
}

struct Notification {
  std::string topic;
  bool is_property = false;
  Items source, data;
};

std::string event_of(const Notification& what, const Document& document) {
  return "<tt:Event><wsnt:NotificationMessage><wsnt:Topic "
         "Dialect=\"http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet\">" +
         what.topic + "</wsnt:Topic><wsnt:Message><tt:Message UtcTime=\"" +
         utc_text(document.time.utc_ns) + "\"" +
         (what.is_property ? " PropertyOperation=\"Changed\"" : "") + ">" +
         list("Source", what.source) + list("Data", what.data) +
         "</tt:Message></wsnt:Message></wsnt:NotificationMessage></tt:Event>";
}

Items source_of(const Identity& identity, const std::string& rule) {
  return {{"VideoSource", identity.stream}, {"AnalyticsConfiguration", "gst-dvnn"}, {"Rule", rule}};
}

// The name of a topic of our own: "crowd-end" is CrowdEnd.
std::string topic_name(const std::string& kind) {
  std::string name;
  bool begins = true;
  for (const char c : kind) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || !std::isalnum(byte)) {
      begins = true;
      continue;
    }
    name += begins ? static_cast<char>(std::toupper(byte)) : c;
    begins = false;
  }
  return name.empty() ? "Event" : name;
}

void add_object(const EventFacts& event, Items* data) {
  if (event.track_id == 0) return;
  data->emplace_back("ObjectId", std::to_string(event.track_id));
  if (!event.label.empty()) data->emplace_back("ClassTypes", type_of_label(event.label).type);
}

// Crossings, stays and loitering have topics of ONVIF (Analytics Service Specification, Line
// Detector, Field Detector, Loitering Detector), other events topics of our own. Items that those
// do not have begin with our prefix.
std::string body(const EventFacts& event, const Document& document, const Identity& identity) {
  Notification what;
  what.source = source_of(identity, event.line.empty() ? event.area : event.line);
  if (event.kind == "cross") {
    what.topic = "tns1:RuleEngine/LineDetector/Crossed";
    add_object(event, &what.data);
    what.data.emplace_back("dvnn:Direction", event.direction);
  } else if (event.kind == "enter" || event.kind == "leave") {
    // The state is that of the area, and its objects are inside.
    const bool enters = event.kind == "enter";
    what.topic = "tns1:RuleEngine/FieldDetector/ObjectsInside";
    what.is_property = true;
    what.data = {{"IsInside", enters || event.inside.value_or(0) > 0 ? "true" : "false"}};
    if (enters) add_object(event, &what.data);
    if (!enters) what.data.emplace_back("dvnn:Left", std::to_string(event.track_id));
  } else if (event.kind == "dwell") {
    what.topic = "tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering";
    what.is_property = true;
    add_object(event, &what.data);
    const auto stay = static_cast<int64_t>(event.duration.value_or(0));
    what.data.emplace_back("Since", utc_text(document.time.utc_ns - stay));
  } else {
    what.topic = "dvnn:Zones/" + topic_name(event.kind);
    add_object(event, &what.data);
  }
  if (event.inside) what.data.emplace_back("dvnn:Inside", std::to_string(*event.inside));
  if (event.speed) what.data.emplace_back("dvnn:Speed", number(*event.speed));
  return event_of(what, document);
}

std::string body(const ClipFacts& clip, const Document& document, const Identity& identity) {
  Notification what;
  what.topic = "dvnn:Recording/Clip";
  what.source = source_of(identity, "record");
  what.data = {{"State", clip.state}, {"Clip", std::to_string(clip.clip)}};
  if (!clip.file.empty()) what.data.emplace_back("File", clip.file);
  if (!clip.problem.empty()) what.data.emplace_back("Problem", clip.problem);
  return event_of(what, document);
}

// ONVIF has no form for cells: the sums of labels.
std::string body(const HeatFacts& heat, const Document& document, const Identity& identity) {
  Notification what;
  what.topic = "dvnn:Zones/Heat";
  what.source = source_of(identity, "heat");
  for (const HeatLabel& label : heat.labels) {
    what.data.emplace_back("dvnn:Label", label.label);
    what.data.emplace_back("dvnn:Seconds", number(label.seconds));
  }
  return event_of(what, document);
}

}  // namespace

std::string to_onvif(const Document& document, const Identity& identity, uint64_t /*seq*/,
                     const std::string& /*fields*/) {
  return kHead +
         std::visit([&](const auto& facts) { return body(facts, document, identity); },
                    document.facts) +
         "</tt:MetadataStream>";
}

}  // namespace dvnn::publish
