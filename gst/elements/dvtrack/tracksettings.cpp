// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/tracksettings.h"

namespace dvnn::gst {
namespace {

constexpr guint kLongestTime = 3600 * 1000;  // milliseconds

void add_time_properties(Properties<TrackSettings>* table) {
  table->number(&TrackSettings::confirm, When::kPlaying, 0, kLongestTime,
                {"confirm", "Confirm",
                 "Milliseconds for which something must have been seen before it is a track "
                 "(0 = at once)"});
  table->number(&TrackSettings::probation, When::kPlaying, 0, kLongestTime,
                {"probation", "Probation",
                 "Milliseconds after which something that was not confirmed and is not seen is "
                 "forgotten"});
  table->number(&TrackSettings::lost, When::kPlaying, 0, kLongestTime,
                {"lost", "Lost",
                 "Milliseconds for which a track that nothing shows is waited for before it ends"});
  table->number(&TrackSettings::coast, When::kPlaying, 0, kLongestTime,
                {"coast", "Coast",
                 "Milliseconds for which the box of a lost track is predicted all the same; for "
                 "one frame that was inferred it always is"});
}

}  // namespace

track::Settings TrackSettings::tracker() const {
  const auto time = [](guint ms) { return static_cast<track::Time>(ms) * track::kMillisecond; };
  track::Settings settings;
  settings.sure = sure;
  settings.start = start;
  settings.weak = weak;
  settings.confirm = time(confirm);
  settings.probation = time(probation);
  settings.lost = time(lost);
  settings.coast = time(coast);
  settings.appearance = appearance;
  return settings;
}

Properties<TrackSettings> track_properties() {
  Properties<TrackSettings> table;
  table.text(&TrackSettings::labels, When::kPlaying,
             {"labels", "Labels", "Labels of the objects to track, between commas (empty = all)"});
  table.number(
      &TrackSettings::sure, When::kPlaying, 0.0f, 1.0f,
      {"sure", "Sure", "Least confidence of objects that confirm tracks and find lost ones again"});
  table.number(&TrackSettings::start, When::kPlaying, 0.0f, 1.0f,
               {"start", "Start", "Least confidence of objects that begin tracks"});
  table.number(&TrackSettings::weak, When::kPlaying, 0.0f, 1.0f,
               {"weak", "Weak",
                "Least confidence of objects that keep a track which was just seen; dvdecode's "
                "threshold must let them through"});
  add_time_properties(&table);
  table.number(&TrackSettings::appearance, When::kPlaying, 0.0f, 1.0f,
               {"appearance", "Appearance",
                "Weight of objects' embeddings, where they have any, beside their places"});
  table.boolean(&TrackSettings::predict, When::kPlaying,
                {"predict", "Predict",
                 "Attach tracked objects where they are expected to frames without inference"});
  table.boolean(&TrackSettings::smooth, When::kPlaying,
                {"smooth", "Smooth",
                 "Give tracked objects the boxes that the track's filter has, "
                 "instead of those that were detected"});
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
