// SPDX-License-Identifier: Apache-2.0
// dvpublish's settings.
#pragma once

#include <string>

#include "objects/object.h"
#include "properties.h"
#include "publish/publisher.h"

namespace dvnn::gst {

enum Mode : guint {
  kFrames = 1 << 0,
  kEvents = 1 << 1,
  kTracks = 1 << 2,
  kClips = 1 << 3,
  kHeat = 1 << 4
};
enum class Snapshot { kNone, kObject, kFrame };
enum class Format { kJson, kOnvif };
enum class Discovery { kNone, kHomeAssistant, kRemove };

/// Which frames are collected for annotation (collector.h).
struct CollectSettings {
  std::string collect_folder;
  gdouble collect_from = 0.3, collect_to = 0.6;  // confidences
  guint collect_per_hour = 60, collect_pictures = 1000, collect_size_mib = 1024;
};

struct PublishSettings : CollectSettings {
  std::string url, location, topic, stream, options, options_file;
  guint mode = kFrames;
  Format format = Format::kJson;
  guint details = objects::kPoints | objects::kOutlines | objects::kTexts | objects::kNumbers;
  bool only_agreed = false;
  guint interval_ms = 0, heartbeat_ms = 1000;
  gdouble min_change = 0;  // of the frame's height
  std::string extra_fields;
  std::string fields_text;  // extra_fields as documents have them
  Snapshot snapshot = Snapshot::kNone;
  std::string snapshot_folder;
  guint snapshot_size = 320, snapshot_quality = 85;
  std::string spool_folder;
  guint spool_size_mib = 256;
  guint max_queued = 1000;  // messages
  guint flush_timeout_ms = 2000;
  Discovery discovery = Discovery::kNone;
  std::string discovery_prefix = "homeassistant";
  bool post_messages = true;

  /// Returns whether documents and collected frames go to the same place in the same way: what may
  /// change in READY only.
  bool has_place_of(const PublishSettings& other) const;
};

Properties<PublishSettings> publish_properties();
/// The type of `details`: objects::Detail as flags.
GType detail_type();

/// Returns the destination that `url`, or else `location`, names.
Result<publish::Address> chosen_address(const PublishSettings& settings);
/// Returns the options of the file, then those of the property.
Result<publish::Options> chosen_options(const PublishSettings& settings);
/// The stream's name as a part of a path: what could lead elsewhere is written as its number.
std::string path_name(const std::string& stream);
/// The folder of a stream's spool; empty: none.
std::string spool_path(const PublishSettings& settings, const std::string& stream);

}  // namespace dvnn::gst
