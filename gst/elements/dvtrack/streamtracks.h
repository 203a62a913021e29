// SPDX-License-Identifier: Apache-2.0
// The tracks of a stream. Each network has a tracker of its own, because networks may infer
// different frames. Streaming thread only.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "elements/dvtrack/tracksettings.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "meta/movedmeta.h"
#include "track/track.h"

namespace dvnn::gst {

/// Names for a message about a track; the tracker itself knows only numbers.
struct TrackNames {
  gint class_id = 0;
  std::string label, network;
};

/// Times of the frame at which a change was found out; all unset if there was no frame.
struct TrackMoment {
  GstClockTime timestamp = GST_CLOCK_TIME_NONE, stream_time = GST_CLOCK_TIME_NONE,
               running_time = GST_CLOCK_TIME_NONE;
};

/// The element messages "dvnn-track-started" and "dvnn-track-ended". docs/tracking.md lists their
/// fields.
GstMessage* track_started_message(GstElement* element, const track::Track& track,
                                  const TrackNames& names, const TrackMoment& moment);
GstMessage* track_ended_message(GstElement* element, const track::Track& track,
                                const TrackNames& names, const TrackMoment& moment);

class StreamTracks {
 public:
  enum class Change { kStarted, kEnded };
  using Told =
      std::function<void(Change change, const track::Track& track, const TrackNames& names)>;

  /// `told` is called for each track that starts or ends.
  explicit StreamTracks(Told told) : told_(std::move(told)) {}

  /// Takes over the settings; cheap if none has changed.
  void configure(const TrackSettings& settings);
  /// Moves all tracks with the camera; `camera`: its motion since the last frame.
  void move(const motion::Affine& camera);
  /// Gives the objects of a writable frame their track ids, and adds predicted objects if no
  /// network has seen the frame. Returns whether anything has changed.
  bool follow(GstBuffer* frame, GstClockTime time, const image::Size& size);
  /// Ends all tracks.
  void end();
  /// Forgets everything, and numbers tracks from 1 again, because another stream begins.
  void reset();

 private:
  // The tracks of one network.
  struct Group {
    explicit Group(track::TrackIds* ids) : tracker(ids) {}
    std::string network;
    track::Tracker tracker;
    std::vector<TrackNames> classes;  // by the tracker's class index
    std::vector<track::Detection> detections;
    std::vector<GstDvObject*> objects;  // object of each detection
  };

  Group* group_of(const gchar* network);
  int class_of(const GstDvObject& object, Group* group) const;
  void collect(GstDvObjectsMeta* meta, gint pass, Group* group) const;
  bool follow_pass(GstDvObjectsMeta* meta, gint pass, GstClockTime time, const image::Size& size);
  bool name_objects(Group* group);
  bool add_predicted(GstDvObjectsMeta* meta, gint pass, const Group& group);
  void tell(const Group& group) const;
  void export_to(GstBuffer* frame);

  const Told told_;
  TrackSettings settings_;
  LabelList labels_;
  track::TrackIds ids_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<GstDvObject*> changed_;  // in this frame
  MovedAreas moved_;                   // of this frame
};

}  // namespace dvnn::gst
