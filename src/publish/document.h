// SPDX-License-Identifier: Apache-2.0
// Documents that are published, as values and as lines of JSON: docs/schema/document-1.json.
// Members come in its order; those that are empty, or none, are left out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "objects/object.h"
#include "publish/transports/transport.h"

namespace dvnn::publish {

/// Bytes of red, green and blue, in rows.
struct Pixels {
  std::vector<unsigned char> bytes;
  size_t stride = 0;
};

struct Picture {
  bool of_frame = false;
  int width = 0, height = 0;
  std::optional<uint64_t> pts;
  std::optional<image::Corners> box;
  std::shared_ptr<const Pixels> pixels;  // until encode_pictures()
  int quality = 0;                       // of the JPEG, which is in:
  std::string file;                      // or, where that has no name:
  std::string jpeg;
};

/// An object of a frame, in the frame's pixels, with the details that are to be published.
struct FrameObject {
  objects::Object object;
  std::optional<Picture> picture;
};

struct PassFacts {
  std::string network;
  const char* state = "inferred";
};

/// Counts of an area (inside, entered, left) or a line (forward, backward).
struct ZoneCount {
  std::string name;
  std::vector<std::pair<const char*, uint64_t>> numbers;
  std::vector<ZoneCount> labels;
  std::optional<bool> occupied;   // of an area that is a bay
  std::optional<uint64_t> since;  // when that began
};

/// Two tracks that are near each other, in metres.
struct Distance {
  uint64_t track_id = 0, other_id = 0;
  double metres = 0, deviation = 0;
};

struct ZoneCounts {
  std::vector<ZoneCount> areas, lines;
};

struct FrameFacts {
  std::vector<PassFacts> passes;
  std::vector<FrameObject> objects;
  std::optional<ZoneCounts> counts;
  std::vector<Distance> distances;
};

struct EventFacts {
  std::string kind, area, line, label, direction;
  uint64_t track_id = 0;
  std::optional<uint64_t> duration, inside;
  std::optional<double> speed;  // metres per second
  // Of dvmatch: who it is, the cosine to what is kept of it, and whether a stranger was known.
  std::string name;
  uint64_t stranger = 0;
  std::optional<double> likeness;
  std::optional<bool> before;
  std::optional<uint64_t> since;
  std::optional<Distance> distance;
};

/// Where tracks have spent their time: for each cell its column, its row and seconds.
struct HeatLabel {
  std::string label;
  double seconds = 0;
  std::vector<std::array<double, 3>> cells;
};
struct HeatFacts {
  uint64_t from = 0, to = 0;
  std::string unit;
  double cell = 0, left_out = 0;
  std::vector<HeatLabel> labels;
};

struct BestView {
  uint64_t pts = 0;
  double confidence = 0;
  image::Corners box;
};

struct TrackFacts {
  bool ended = false;
  uint64_t track_id = 0;
  std::string network, label;
  int class_id = 0;
  uint64_t first = 0, last = 0;
  std::optional<double> confidence;
  std::optional<image::Corners> box;
  std::optional<uint64_t> detections;
  std::vector<std::pair<std::array<double, 2>, uint64_t>> path;
  std::optional<BestView> best_view;
};

/// An event, and its place in a clip's file in nanoseconds.
struct ClipEvent {
  EventFacts event;
  uint64_t at = 0;
};

/// A file of dvrecord. Times are nanoseconds.
struct ClipFacts {
  std::string state = "ended", file, problem;
  uint64_t clip = 0;
  uint64_t duration = 0, before = 0, bytes = 0, lost = 0;
  bool complete = true;
  std::vector<ClipEvent> events;
};

/// Times of a document.
struct Times {
  std::optional<uint64_t> pts, stream_time, ntp;
  int64_t utc_ns = 0;  // since 1970
  bool from_reference = false;
};

struct Document {
  Times time;
  int width = 0, height = 0;  // of the frame; 0: not known
  std::optional<Picture> picture;
  std::variant<FrameFacts, EventFacts, TrackFacts, ClipFacts, HeatFacts> facts;
};

/// Returns sixteen random hexadecimal digits.
std::string new_session();

/// Returns the document as one line, without its end. `fields` is a JSON object as text, or empty.
std::string to_line(const Document& document, const Identity& identity, uint64_t seq,
                    const std::string& fields);

/// Returns the document that announces whether the publisher is online.
std::string status_document(const Identity& identity, bool online);

/// Parses the property `extra-fields`, an object or nothing. Returns it without spaces, as
/// documents contain it, or an empty text if the object is empty.
Result<std::string> parse_fields(const std::string& text);

/// Formats nanoseconds since 1970 as "2026-11-23T21:50:13.123456Z".
std::string utc_text(int64_t nanoseconds);

}  // namespace dvnn::publish
