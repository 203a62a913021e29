// SPDX-License-Identifier: Apache-2.0
// Follows objects from frame to frame: turns detections into identities. All times are in
// nanoseconds of the stream, so that frame rates and frames without inference do not change the
// behaviour.
//
// A track begins tentative, is confirmed (and gets its id) when its detections are enough evidence,
// is lost while no look shows it, and ends. Each frame is associated in rounds:
//  - Sure detections are paired with known tracks by overlap with the expected box, sizes,
//    confidence, direction of motion, how continually a track was seen, and appearance if there are
//    embeddings. The uncertainty of the filter widens the boxes. An object that the frame's edge
//    cuts keeps its size, so that its visible edge tells its place.
//  - A shift that all these pairs share is the camera's. Then they are paired again, with tracks
//    that have moved with it.
//  - Known tracks that the last look showed get weak detections by overlap: objects that are half
//    hidden (the idea of ByteTrack).
//  - Sure detections are paired with tracks by the place where these were last seen: objects that
//    stopped while hidden (the idea of OC-SORT). When a lost object is found, the time in between
//    is replayed along a straight path, so that its speed is right at once.
//  - Lost tracks and sure detections are paired by appearance alone, as far away as objects get.
//  - Tentative tracks get detections, and the remaining sure ones begin tracks.
//
// A tracker is used by one thread. After the most crowded frame it allocates nothing more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "motion/affine.h"
#include "track/association.h"
#include "track/common_motion.h"
#include "track/learned.h"
#include "track/track.h"

namespace dvnn::track {

struct Settings {
  float sure = 0.5f;   // least confidence of detections that confirm tracks and find lost ones
  float start = 0.6f;  // least confidence of detections that begin a track
  float weak = 0.1f;   // least confidence of detections that continue a track
  float evidence = 4;  // sum of its detections' log-odds at which a track is confirmed
  Time probation = 200 * kMillisecond;  // time unseen that ends a tentative track
  Time lost = 2000 * kMillisecond;      // the same of a confirmed track
  Time coast = 0;                       // time for which a lost track's box is still predicted
  float appearance = 0.5f;              // weight of embeddings relative to overlaps
  bool common_motion = true;            // whether to derive the camera's motion from common motion
};

/// The last id given to a track. The trackers of a stream share it.
struct TrackIds {
  uint64_t last = 0;
};

class Tracker {
 public:
  explicit Tracker(TrackIds* ids) : ids_(ids) {}
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  void configure(const Settings& settings);
  /// Applies a motion of the camera since the last frame to all tracks.
  void move(const motion::Affine& camera);
  /// Says that in the next frame nothing but what is in `areas`, in pixels, has changed since the
  /// frame before. Tracks elsewhere stand still, and no look misses them.
  void rest_outside(Span<const image::Corners> areas);
  /// Takes the detections of an inferred frame. If its size is 0, it is unknown, and objects leave
  /// nowhere.
  void update(Time time, const image::Size& frame, Span<const Detection> detections);
  /// Takes a frame that was not inferred; predicted() then has the boxes expected in it.
  void predict(Time time, const image::Size& frame);
  /// Ends all tracks, because another scene begins; ended() has them.
  void reset();
  /// Clears ended(), if no frame follows that would do it.
  void forget_ended();

  /// Returns the track of a detection of the last update(), or null if it has none or a tentative
  /// one.
  const Track* track_of(size_t detection) const { return assigned_[detection]; }
  /// Returns the smoothed box of a detection of the last update() that has a track. Each edge is
  /// the filter's, kept within the usual error of the detected one and within the frame.
  image::Corners smoothed(size_t detection) const;
  /// Tracks that the last call has confirmed, and confirmed tracks that it has ended; valid until
  /// the next call.
  const std::vector<Track*>& started() const { return started_; }
  const std::vector<Track*>& ended() const { return ended_; }
  /// Confirmed tracks without a detection in the last frame, as it was not inferred, or as they are
  /// lost for no longer than `coast`: their expected boxes, cut at the frame's edge. Excludes
  /// objects that have left the frame or are covered by others.
  struct Predicted {
    const Track* track;
    image::Corners box;
  };
  const std::vector<Predicted>& predicted() const { return predicted_; }
  /// All tracks that have not ended.
  const std::vector<Track*>& tracks() const { return tracks_; }

 private:
  void begin(Time time);
  bool rests(const Track& track) const;
  void stand(Time time);
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
  // Log-odds at which a detection is neutral evidence. Below 0 if the least confidence to begin a
  // track is below 0.5, because then the detector is sure of such objects.
  double neutral_ = 0;
  TrackIds* const ids_;
  Span<const Detection> detections_;
  image::Size frame_;
  image::Size edges_;  // size of the frame if its edge cuts boxes, else unknown
  Time last_ = 0, interval_ = 0;
  Time looked_ = 0;  // time of the last inferred frame
  Learned learned_;
  CommonMotion common_;
  mutable BoxStep step_{1};  // for the last span of time, which most tracks share
  bool begun_ = false;
  bool resting_ = false;  // whether tracks outside `moving_` rest in this frame
  std::vector<image::Corners> moving_;

  std::vector<Track*> tracks_, started_, ended_, free_;
  std::vector<std::unique_ptr<Track>> all_;
  std::vector<const Track*> assigned_;
  std::vector<Predicted> predicted_;
  std::vector<Predicted> seen_;  // confirmed tracks with a detection in the last look
  std::vector<Candidate> known_, tentative_, sure_, weak_, last_seen_, all_sure_;
  struct Pair {
    int track, detection;
  };
  std::vector<Pair> pairs_;  // pairs of the first round
  size_t next_look_ = 0;     // index of the pair to learn similarities from next
  Association association_;
};

/// Sets the setting that dvtrack's property of that name sets, to a value in the property's unit.
/// Error: kInvalidArgument if there is none, which lists all, or if the value is out of range.
Status set_parameter(const std::string& property, double value, Settings* settings);

}  // namespace dvnn::track
