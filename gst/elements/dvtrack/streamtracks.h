// SPDX-License-Identifier: Apache-2.0
// The tracks of a stream: a tracker for each network, because networks look at frames of their own.
// Streaming thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "elements/dvtrack/trackmessage.h"
#include "elements/dvtrack/tracksettings.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

class StreamTracks {
 public:
  enum class Change { kStarted, kEnded };
  using Told =
      std::function<void(Change change, const track::Track& track, const TrackNames& names)>;

  /// `told` is told of tracks that start and end.
  explicit StreamTracks(Told told) : told_(std::move(told)) {}

  /// Cheap where nothing has changed.
  void configure(const TrackSettings& settings);
  /// The camera has moved since the last frame.
  void move(const motion::Affine& camera);
  /// Names the objects of a writable frame by their tracks, and adds those that are expected where
  /// no network has looked. Returns whether it has changed anything.
  bool follow(GstBuffer* frame, GstClockTime time, const image::Size& size);
  /// Ends all tracks.
  void end();
  /// Forgets everything, numbers of tracks among it: another stream.
  void reset();

 private:
  // A network's objects.
  struct Group {
    explicit Group(track::TrackIds* ids) : tracker(ids) {}
    std::string network;
    track::Tracker tracker;
    std::vector<TrackNames> classes;  // a tracker's class is an index
    std::vector<track::Detection> detections;
    std::vector<GstDvObject*> objects;  // of the detections
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
  std::vector<GstDvObject*> changed_;  // objects of this frame
};

}  // namespace dvnn::gst
