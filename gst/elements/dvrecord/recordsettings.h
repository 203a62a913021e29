// SPDX-License-Identifier: Apache-2.0
// dvrecord's settings.
#pragma once

#include <gst/gst.h>

#include <set>
#include <string>

#include "objects/object.h"
#include "properties.h"
#include "record/clip_folder.h"
#include "record/recorder.h"

namespace dvnn::gst {

enum class Container { kMatroska, kMp4 };

struct RecordSettings {
  std::string location, stream;
  Container container = Container::kMatroska;
  std::string trigger = "enter,cross", labels, zone;
  guint before_ms = 5000, after_ms = 5000, late_ms = 3000, max_clip_ms = 600000;
  guint memory_mib = 64;
  guint quota_mib = 8192;
  gdouble keep_days = 0;
  bool documents = true;
  // All that dvoverlay draws.
  guint details =
      objects::kPoints | objects::kOutlines | objects::kMasks | objects::kTexts | objects::kNumbers;
  guint picture_size = 640;
  bool recording = false;
  guint flush_timeout_ms = 5000;
  bool post_messages = true;

  record::Rules rules() const;
  record::Quota quota() const;
};

struct RecordProperties {
  Properties<RecordSettings> rows;
  guint recording = 0;  // its row
};
RecordProperties record_properties();

/// What begins a clip, and keeps it going.
class Triggers {
 public:
  /// Reads the settings if they have changed.
  void set(const RecordSettings& settings);
  /// Whether what dvzones, dvtrack or dvmotion tells is an event of a clip.
  bool is_event(const GstStructure* told) const;
  /// Whether an object of this label, in a frame in which a network has looked, is one.
  bool is_object(const char* label) const;
  /// Whether motion is one, as long as it lasts.
  bool has_motion() const { return kinds_.count("motion") > 0; }
  bool wants(const char* label) const;

 private:
  std::string trigger_, labels_text_, zones_text_;
  std::set<std::string, std::less<>> kinds_, labels_, zones_;
};

/// The structures that elements tell and that may be events: those of dvzones, dvtrack and
/// dvmotion.
bool may_be_event(const GstStructure* told);
/// Returns the kind of such an event, as triggers name it; empty if it is none.
std::string kind_of(const GstStructure* told);

}  // namespace dvnn::gst
