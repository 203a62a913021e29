// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/recordsettings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "elements/dvpublish/publishsettings.h"
#include "elements/labellist.h"

namespace dvnn::gst {
namespace {

// What is told, and its name as a trigger. Events of dvzones and dvmatch have the name of their
// kind.
constexpr const char* kZoneEvent = "dvnn-zone-event";
constexpr const char* kIdentity = "dvnn-identity";
constexpr std::pair<const char*, const char*> kTold[] = {
    {"dvnn-track-started", "track"},
    {"dvnn-track-ended", "track-end"},
    {"dvnn-motion-started", "motion"},
    {"dvnn-motion-ended", "motion"},
};
constexpr const char* kKinds[] = {"enter",     "leave",         "dwell",    "idle",      "cross",
                                  "crowd",     "crowd-end",     "speeding", "occupied",  "free",
                                  "too-close", "too-close-end", "track",    "track-end", "motion",
                                  "object",    "recognised",    "stranger"};

GType container_type() {
  static const GEnumValue values[] = {
      {static_cast<gint>(Container::kMatroska), "Matroska, with documents as a text track",
       "matroska"},
      {static_cast<gint>(Container::kMp4), "Fragmented MP4, with documents beside it", "mp4"},
      {0, nullptr, nullptr}};
  return register_enum("GstDvRecordContainer", values);
}

Status check_trigger(const std::string& text, RecordSettings*) {
  for (const std::string& kind : split_list(text)) {
    const auto same = [&](const char* known) { return kind == known; };
    if (std::any_of(std::begin(kKinds), std::end(kKinds), same)) continue;
    std::string known;
    for (const char* one : kKinds) known += (known.empty() ? "" : ", ") + std::string(one);
    return invalid_argument("there is no event '" + kind + "', but " + known);
  }
  return {};
}

Status check_location(const std::string& path, RecordSettings*) {
  if (!path.empty()) DVNN_TRY(check_folder(path));
  return {};
}

void add_files(Properties<RecordSettings>* table) {
  constexpr guint kMostMiB = 1 << 24;
  constexpr double kMostDays = 36500;
  table->text(&RecordSettings::location, When::kReady,
              {"location", "Location", "Folder for the clips"}, check_location);
  table->text(&RecordSettings::stream, When::kReady,
              {"stream", "Stream",
               "The stream's name in files' names and documents; empty for the element's name"});
  table->choice(&RecordSettings::container, When::kReady, container_type(),
                {"container", "Container", "Format of the files"});
  table->number(&RecordSettings::quota_mib, When::kPlaying, 0, kMostMiB,
                {"quota-mib", "Quota",
                 "MiB of clips in the folder, beyond which the oldest are removed; 0: no bound"});
  table->number(&RecordSettings::keep_days, When::kPlaying, 0, kMostDays,
                {"keep-days", "Keep", "Days after which clips are removed; 0: never"});
}

void add_clips(Properties<RecordSettings>* table) {
  constexpr guint kHour = 3600 * 1000, kLeastClip = 1000, kMostMiB = 1 << 20;
  table->text(&RecordSettings::trigger, When::kPlaying,
              {"trigger", "Trigger",
               "Events that begin a clip, with commas: kinds of dvzones and dvmatch, track, "
               "track-end, motion, object; empty: none"},
              check_trigger);
  add_label_list(&RecordSettings::labels, "labels", "labels-array", "Labels",
                 "Labels of objects whose events count, with commas; empty: all", table);
  table->text(
      &RecordSettings::zone, When::kPlaying,
      {"zone", "Zone", "Names of areas and lines whose events count, with commas; empty: all"});
  table->number(&RecordSettings::before_ms, When::kPlaying, 0, kHour,
                {"before-ms", "Before",
                 "Milliseconds before the first event at which a clip begins, at least"});
  table->number(&RecordSettings::after_ms, When::kPlaying, 0, kHour,
                {"after-ms", "After", "Milliseconds after the last event at which a clip ends"});
  table->number(&RecordSettings::late_ms, When::kPlaying, 0, kHour,
                {"late-ms", "Late",
                 "Milliseconds that detections, and the events that they tell of, may come after "
                 "the video, at most"});
  table->number(
      &RecordSettings::max_clip_ms, When::kPlaying, kLeastClip, kMostMilliseconds,
      {"max-clip-ms", "Longest clip", "Milliseconds after which a clip goes on in another file"});
  table->number(&RecordSettings::memory_mib, When::kReady, 1, kMostMiB,
                {"memory-mib", "Memory",
                 "MiB of encoded streams that all dvrecord of the process keep together; the "
                 "largest value counts"});
}

}  // namespace

record::Rules RecordSettings::rules() const {
  record::Rules rules;
  rules.before = before_ms * record::kMillisecond;
  rules.after = after_ms * record::kMillisecond;
  rules.late = late_ms * record::kMillisecond;
  rules.longest = max_clip_ms * record::kMillisecond;
  return rules;
}

record::Quota RecordSettings::quota() const {
  constexpr double kDay = 24.0 * 3600 * record::kSecond;
  return {guint64{quota_mib} << 20, static_cast<int64_t>(keep_days * kDay)};
}

RecordProperties record_properties() {
  constexpr guint kMostPixels = 2048, kLongestFlush = 600000;
  RecordProperties all;
  add_files(&all.rows);
  add_clips(&all.rows);
  all.rows.boolean(&RecordSettings::documents, When::kReady,
                   {"documents", "Documents",
                    "Clips have dvpublish's documents of the detections: as a text track; MP4 in a "
                    "file beside it"});
  all.rows.flags_of(&RecordSettings::details, When::kPlaying, detail_type(),
                    {"details", "Details",
                     "Details that documents' objects have beside label, confidence and box"});
  all.rows.number(&RecordSettings::picture_size, When::kPlaying, 0, kMostPixels,
                  {"picture-size", "Picture size",
                   "Longest side of a clip's picture, in pixels; 0: no picture"});
  all.recording =
      all.rows.boolean(&RecordSettings::recording, When::kPlaying,
                       {"recording", "Recording",
                        "Whether a clip is kept going: set it to begin one, unset it to end it"});
  all.rows.number(&RecordSettings::flush_timeout_ms, When::kReady, 0, kLongestFlush,
                  {"flush-timeout-ms", "Flush timeout",
                   "Milliseconds for which the end of the stream waits for clips to be written"});
  all.rows.boolean(&RecordSettings::post_messages, When::kPlaying,
                   {"post-messages", "Post messages",
                    "Post an element message 'dvnn-clip' when a clip begins and when it ends"});
  return all;
}

// --- triggers ----------------------------------------------------------------------------------

bool may_be_event(const GstStructure* told) {
  return gst_structure_has_name(told, kZoneEvent) || gst_structure_has_name(told, kIdentity) ||
         std::any_of(std::begin(kTold), std::end(kTold),
                     [told](const auto& row) { return gst_structure_has_name(told, row.first); });
}

void Triggers::set(const RecordSettings& settings) {
  const auto read = [](const std::string& text, std::string* known, auto* to) {
    if (text == *known) return;
    *known = text;
    to->clear();
    for (std::string& entry : split_list(text)) to->insert(std::move(entry));
  };
  read(settings.trigger, &trigger_, &kinds_);
  read(settings.labels, &labels_text_, &labels_);
  read(settings.zone, &zones_text_, &zones_);
}

bool Triggers::wants(const char* label) const {
  return labels_.empty() || !label || !*label || labels_.count(label) > 0;
}

bool Triggers::is_object(const char* label) const {
  return kinds_.count("object") > 0 && wants(label);
}

std::string kind_of(const GstStructure* told) {
  for (const auto& [name, as] : kTold) {
    if (gst_structure_has_name(told, name)) return as;
  }
  const gchar* kind = gst_structure_get_string(told, "event");
  return kind ? kind : "";
}

bool Triggers::is_event(const GstStructure* told) const {
  if (!may_be_event(told) || kinds_.count(kind_of(told)) == 0) return false;
  const gchar* area = gst_structure_get_string(told, "area");
  const gchar* zone = area ? area : gst_structure_get_string(told, "line");
  const bool elsewhere = zone && !zones_.empty() && zones_.count(zone) == 0;
  return !elsewhere && wants(gst_structure_get_string(told, "label"));
}

}  // namespace dvnn::gst
