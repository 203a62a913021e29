// SPDX-License-Identifier: Apache-2.0
// Follows things from frame to frame: detections in, identities out. All times are in nanoseconds
// of the stream, so that frame rates and frames without inference do not change what it does.
//
// A track begins tentative, becomes confirmed (and gets its id) when its detections are evidence
// enough, is lost while nothing shows it, and ends. Ways:
//  - sure detections go to known tracks by where these are expected and how large, as far off as
//    the filter says that this may be, by confidence, by the direction in which they went, by how
//    constantly they were seen, and by their looks where these are known. What the frame's edge
//    cuts is as large as it was before, so that its other edge tells where it is;
//  - what all of them are off alike, the camera has moved: then they are assigned again, to tracks
//    that have moved with it;
//  - what is left of known tracks that were just seen gets weak detections by overlap alone: things
//    that are half hidden (the idea of ByteTrack);
//  - what is left gets sure detections by where it was seen last: things that stopped while hidden
//    (the idea of OC-SORT). Where a lost thing is found again, the time in between is replayed
//    along the straight way, so that its speed is right at once;
//  - what is left of lost tracks and sure detections is paired by looks alone, where these are
//    known: as far from where a track was expected as things get;
//  - then tentative tracks get theirs, and sure detections that nobody wants begin tracks.
// A tracker is of one thread. Once it has seen the most objects, it allocates nothing.
#pragma once

#include <memory>
#include <vector>

#include "motion/affine.h"
#include "track/association.h"
#include "track/common_motion.h"
#include "track/learned.h"
#include "track/track.h"

namespace dvnn::track {

struct Settings {
  float sure = 0.5f;   // least confidence of detections that confirm tracks and find lost ones
  float start = 0.6f;  // of those that begin a track
  float weak = 0.1f;   // of those that keep one
  float evidence = 4;  // sum of its detections' log-odds at which a track is confirmed
  Time probation = 200 * kMillisecond;  // a tentative track that is not seen for so long ends
  Time lost = 2000 * kMillisecond;      // a confirmed one
  Time coast = 0;                       // so long a lost one's box is predicted all the same
  float appearance = 0.5f;              // weight of embeddings, beside overlaps
  bool common_motion = true;            // whether what all tracks do alike is the camera's motion
};

/// Numbers tracks. Trackers of one stream share it.
struct TrackIds {
  uint64_t last = 0;
};

class Tracker {
 public:
  explicit Tracker(TrackIds* ids) : ids_(ids) {}
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  void configure(const Settings& settings);
  /// The camera has moved since the last frame: what was known is at other places in the next one.
  void move(const motion::Affine& camera);
  /// A frame that was inferred. Its size is 0 where it is not known; things then leave nowhere.
  void update(Time time, const image::Size& frame, Span<const Detection> detections);
  /// A frame that was not. Afterwards predicted() has what is expected there.
  void predict(Time time, const image::Size& frame);
  /// Ends all tracks: what comes is another scene. ended() has them.
  void reset();
  /// Lets go of ended(), where no frame does.
  void forget_ended();

  /// The track of a detection of the last update(): null where it has none, or a tentative one.
  const Track* track_of(size_t detection) const { return assigned_[detection]; }
  /// The box of a detection of the last update() that has a track, with less of its tremble: each
  /// edge is the filter's, but nowhere farther from the detected one than detections are off.
  /// Where the frame's edge cuts it, it ends there.
  image::Corners smoothed(size_t detection) const;
  /// Tracks that the last call has confirmed, and confirmed ones that it has ended: until the next.
  const std::vector<Track*>& started() const { return started_; }
  const std::vector<Track*>& ended() const { return ended_; }
  /// Confirmed tracks that the last frame does not show because nobody looked, or because they are
  /// lost for no longer than `coast`: where they are expected, cut at the frame's edge. What has
  /// left the frame or walks behind others is not among them.
  struct Predicted {
    const Track* track;
    image::Corners box;
  };
  const std::vector<Predicted>& predicted() const { return predicted_; }
  /// All that are not ended.
  const std::vector<Track*>& tracks() const { return tracks_; }

 private:
  void begin(Time time);
  void set_frame(const image::Size& frame);
  bool jumps(Time time) const;
  void advance(double seconds, int class_id, BoxFilter* filter) const;
  BoxFilter expected(const Track& track, Time time) const;
  void follow(const image::Corners& box, const Detection& detection, const Cuts& cuts, Time time,
              Track* track);
  void learn_surprise(const image::Corners& box, const Cuts& cuts, Time time, Track* track);
  void believe(const Detection& detection, Time time, Track* track);
  bool is_believed(const Track& track) const;
  void associate_sure(Time time, const Round& round);
  void learn_likenesses();
  void associate_looks(Time time, Round round);
  bool follow_camera(Time time);
  void expire(Time time);
  bool tells_of_starts(Time time) const;
  bool leaves(const Track& track, Time time) const;
  void associate(Time time);
  void collect_tracks(Time time, bool tentative, std::vector<Candidate>* out) const;
  bool is_awaited(const Track& track, Time time) const;
  bool is_covered(const Track& track, const image::Corners& box) const;
  void collect_seen(Time time);
  void show_absent(Time time);
  void add_prediction(Time time, const Track& track);
  void hit(Track* track, size_t detection, Time time);
  void start(size_t detection, Time time);
  void enter(Time time, Track* track);
  void learn_entry(const image::Corners& box, double size, Time time, Track* track);
  void learn_usual_height(double height, Time time, Track* track);
  void confirm(Track* track);
  void end(Track* track);
  Track* take();

  Settings settings_;
  // Log-odds from which on a detection is evidence: where less than 0.5 begins a track, the
  // detector is sure of what it gives less than 0.5.
  double neutral_ = 0;
  TrackIds* const ids_;
  Span<const Detection> detections_;
  image::Size frame_;
  image::Size edges_;  // those of the frame, if they cut boxes; else none
  Time last_ = 0, interval_ = 0;
  Time looked_ = 0;  // the last frame that was inferred
  Learned learned_;
  CommonMotion common_;
  mutable BoxStep step_{1};  // the last one that was needed: most tracks need the same
  bool begun_ = false;

  std::vector<Track*> tracks_, started_, ended_, free_;
  std::vector<std::unique_ptr<Track>> all_;
  std::vector<const Track*> assigned_;
  std::vector<Predicted> predicted_;
  std::vector<Predicted> seen_;  // confirmed tracks that the last look has shown
  std::vector<Candidate> known_, tentative_, sure_, weak_, last_seen_, all_sure_;
  struct Pair {
    int track, detection;
  };
  std::vector<Pair> pairs_;  // of the first round
  size_t next_look_ = 0;     // of them, from which likenesses are learned
  Association association_;
};

}  // namespace dvnn::track
