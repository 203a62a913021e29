// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/tracksettings.h"

namespace dvnn::gst {
namespace {

constexpr guint kLongestTime = 3600 * 1000;  // milliseconds

void add_confidence_properties(Properties<TrackSettings>* table) {
  table->number(&TrackSettings::min_confidence_start, When::kPlaying, 0.0f, 1.0f,
                {"min-confidence-start", "Least confidence to start",
                 "Least confidence of objects that begin tracks"});
  table->number(&TrackSettings::min_confidence_find, When::kPlaying, 0.0f, 1.0f,
                {"min-confidence-find", "Least confidence to find",
                 "Least confidence of objects in which lost tracks are found again"});
  table->number(&TrackSettings::min_confidence_keep, When::kPlaying, 0.0f, 1.0f,
                {"min-confidence-keep", "Least confidence to keep",
                 "Least confidence of objects that keep a track which was just seen, if dvdecode's "
                 "threshold lets them through"});
  table->number(&TrackSettings::min_evidence, When::kPlaying, 0.0f, 1000.0f,
                {"min-evidence", "Least evidence",
                 "Sum of the log-odds ln(c / (1 - c)) of detections' confidences that confirms a "
                 "track; 0 for at once"});
}

void add_time_properties(Properties<TrackSettings>* table) {
  table->number(&TrackSettings::max_lost_ms, When::kPlaying, 0, kLongestTime,
                {"max-lost-ms", "Longest time lost",
                 "Milliseconds that a track may go unseen before it ends"});
  table->number(&TrackSettings::max_coast_ms, When::kPlaying, 0, kLongestTime,
                {"max-coast-ms", "Longest time to coast",
                 "Milliseconds for which a lost track's box is predicted; one look that misses it "
                 "is forgiven where the network mostly blinks"});
}

const GEnumValue kCameras[] = {
    {static_cast<gint>(motion::Camera::kStatic), "It never moves; frames are not looked at",
     "static"},
    {static_cast<gint>(motion::Camera::kMoving), "It may move at any time; each frame is looked at",
     "moving"},
    {static_cast<gint>(motion::Camera::kAuto),
     "Frames are looked at now and then, and each one while it moves", "auto"},
    {0, nullptr, nullptr}};

}  // namespace

track::Settings TrackSettings::tracker() const {
  const auto time = [](guint ms) { return static_cast<track::Time>(ms) * track::kMillisecond; };
  track::Settings settings;
  settings.start = min_confidence_start;
  settings.sure = min_confidence_find;
  settings.weak = min_confidence_keep;
  settings.evidence = min_evidence;
  settings.lost = time(max_lost_ms);
  settings.coast = time(max_coast_ms);
  settings.common_motion = camera != motion::Camera::kStatic;
  settings.appearance = appearance;
  return settings;
}

Properties<TrackSettings> track_properties() {
  Properties<TrackSettings> table;
  table.text(&TrackSettings::labels, When::kPlaying,
             {"labels", "Labels", "Labels of the objects to track, between commas (empty = all)"});
  add_confidence_properties(&table);
  add_time_properties(&table);
  table.choice(&TrackSettings::camera, When::kPlaying, register_enum("GstDvTrackCamera", kCameras),
               {"camera", "Camera", "Whether the camera moves, so that tracks follow it"});
  table.number(&TrackSettings::appearance, When::kPlaying, 0.0f, 1.0f,
               {"appearance", "Appearance",
                "Weight of objects' embeddings, where they have any, beside their places"});
  table.boolean(&TrackSettings::predict, When::kPlaying,
                {"predict", "Predict",
                 "Attach tracked objects where they are expected to frames without inference"});
  table.boolean(&TrackSettings::smooth, When::kPlaying,
                {"smooth", "Smooth",
                 "Give tracked objects the boxes of the track's filter instead of the detected "
                 "ones"});
  table.boolean(&TrackSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post element messages 'dvnn-track-started' and 'dvnn-track-ended'"});
  table.flags_of(&TrackSettings::exports, When::kPlaying, exports_type(),
                 {"exports", "Exports",
                  "GStreamer's own metas that tracks and predicted objects are written to"});
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
