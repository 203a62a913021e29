// SPDX-License-Identifier: Apache-2.0
#include "track/tracker.h"

#include <algorithm>
#include <cmath>

#include "track/frame_edge.h"
#include "track/track.h"

namespace dvnn::track {
namespace {

constexpr float kNewLooks = 0.1f;  // weight of a detection's embedding in that of its track
// Most steps in which a gap is replayed.
constexpr unsigned kMostReplayed = 8;
// Longest gap between two frames of a scene, in intervals between the frames before.
constexpr Time kLongestGap = 4;
// kMostLag: how far an edge of a smoothed box may be from the detected one, in standard deviations
// of the edges; a larger distance is motion that the filter has not learned yet. kUnseen: tremor
// that viewers do not see, in sizes of the box.
constexpr double kMostLag = 3;
constexpr double kUnseen = 0.004;
// Distance from the frame's edge, in standard deviations, within which the edge cuts a box.
constexpr double kCutDeviations = 2;
// kEntrySeconds: age at which the speed of entry is learned. kEntryReach: largest distance of a new
// track from the frame's edge to have entered there, in ways of entering objects between two looks;
// kMostEntryReach: the same in sizes.
constexpr double kEntrySeconds = 0.5;
constexpr double kEntryReach = 1.5;
constexpr double kMostEntryReach = 1;
// Interval of surprises that tell about an object's path; those from frame to frame tell about its
// pose.
constexpr Time kSurpriseTime = 199 * kMillisecond;
constexpr double kMostSurprise = 3;  // limit, in standard deviations
// Detections at shorter intervals count as less than one each: false detections persist, too.
constexpr double kEvidenceSeconds = 0.04;
constexpr double kMostSure = 0.98;
// Rate at which a detection's variance falls with its confidence (as in StrongSORT's filter). At
// kUsuallySure it is the learned variance.
constexpr double kDoubt = 4;
constexpr double kUsuallySure = 0.9;
constexpr double kLeastDoubt = 0.2;
constexpr unsigned kSurelyThere = 10;  // detections; a track with more is real
constexpr Time kStartLooks = 3;   // looks needed in twice the probation to learn from new tracks
constexpr double kMostVotes = 5;  // limit of a track's votes for its class
constexpr double kRecentSeconds = 0.4;  // time constant of Track::recent

double seconds_between(Time from, Time to) {
  return 1e-9 * static_cast<double>(to - from);
}

// Whether a box has an extent and finite coordinates.
bool has_place(const image::Corners& box) {
  return box.x1 > box.x0 && box.y1 > box.y0 && std::isfinite(area_of(box)) &&
         std::isfinite(box.x0 + box.y0);
}

// Blends the embedding of a detection into that of a track, which keeps length 1.
void learn_looks(Span<const float> seen, std::vector<float>* looks) {
  const float scale = unit_scale(seen);
  if (scale == 0) return;
  const float share = looks->size() == seen.size() ? kNewLooks : 1;
  looks->resize(seen.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    float& value = (*looks)[i];
    value = (share < 1 ? (1 - share) * value : 0) + share * scale * seen[i];
  }
  const float rescale = unit_scale(*looks);
  for (float& value : *looks) value *= rescale;
}

image::Corners between(const image::Corners& a, const image::Corners& b, double t) {
  return {a.x0 + t * (b.x0 - a.x0), a.y0 + t * (b.y0 - a.y0), a.x1 + t * (b.x1 - a.x1),
          a.y1 + t * (b.y1 - a.y1)};
}

}  // namespace

void Tracker::configure(const Settings& settings) {
  settings_ = settings;
  const double least = std::max(static_cast<double>(settings.start), 1 - kMostSure);
  neutral_ = std::min(0.0, std::log(least / (1 - least)));
}

Track* Tracker::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Track>());
    free_.push_back(all_.back().get());
    tracks_.reserve(all_.size());
    started_.reserve(all_.size());
    ended_.reserve(all_.size());
    free_.reserve(all_.size());
    predicted_.reserve(all_.size());
    seen_.reserve(all_.size());
  }
  Track* track = free_.back();
  free_.pop_back();
  track->id = 0;
  track->state = State::kTentative;
  track->hits = track->missed = 0;
  track->evidence = track->class_votes = 0;
  track->surprised = 0;
  track->recent = 0;
  track->is_real = false;
  track->embedding.clear();
  track->path.clear();
  track->tremor.clear();
  track->usual_height.clear();
  track->best_score = -1;
  return track;
}

void Tracker::forget_ended() {
  for (Track* track : ended_) free_.push_back(track);
  ended_.clear();
}

void Tracker::confirm(Track* track) {
  track->id = ++ids_->last;
  track->state = State::kConfirmed;
  started_.push_back(track);
}

// Ends a track. Tentative ones are not reported.
void Tracker::end(Track* track) {
  (track->state == State::kTentative ? free_ : ended_).push_back(track);
  track->state = State::kEnded;
}

void Tracker::reset() {
  forget_ended();
  started_.clear();
  predicted_.clear();
  for (Track* track : tracks_) end(track);
  tracks_.clear();
  common_.clear();
  begun_ = false;
}

// Sets the frame, and whether its edge cuts boxes: not if the detector's boxes reach beyond it.
void Tracker::set_frame(const image::Size& frame) {
  frame_ = frame;
  edges_ = is_known(frame) && !learned_.is_amodal() ? frame : image::Size{};
}

bool Tracker::jumps(Time time) const {
  if (!begun_) return false;
  const Time gap = time - last_;
  return gap < 0 || (gap > settings_.lost && (gap - 1) / kLongestGap >= interval_);
}

void Tracker::begin(Time time) {
  forget_ended();
  started_.clear();
  predicted_.clear();
  const bool jump = jumps(time);
  const Time gap = begun_ ? std::max<Time>(time - last_, 0) : 0;
  if (jump) reset();
  if (jump || !begun_) looked_ = time;
  // After a jump, the gap becomes the usual interval: a stream with a frame a minute jumps only
  // once.
  interval_ = gap;
  last_ = time;
  begun_ = true;
}

void Tracker::advance(double seconds, int class_id, BoxFilter* filter) const {
  if (!(seconds > 0)) return;
  if (seconds != step_.seconds) step_ = BoxStep(seconds);
  filter->predict(step_, learned_.push_of(class_id));
}

// Returns a track's filter at a time, not before the track was last seen.
BoxFilter Tracker::expected(const Track& track, Time time) const {
  BoxFilter filter = track.filter;
  advance(seconds_between(track.seen, time), track.class_id, &filter);
  return filter;
}

// Moves the filter to a detection, whose `box` includes the hidden part. Frames in between without
// a detection are replayed as a straight path, because otherwise the speed from before the gap
// would stay.
void Tracker::follow(const image::Corners& box, const Detection& detection, const Cuts& cuts,
                     Time time, Track* track) {
  const unsigned steps = std::min(track->missed + 1, kMostReplayed);
  const double seconds = seconds_between(track->seen, time) / steps;
  const double doubt = 1 + kDoubt * (kUsuallySure - static_cast<double>(detection.confidence));
  const double deviation = learned_.deviation() * std::sqrt(std::max(kLeastDoubt, doubt));
  for (unsigned i = 1; i <= steps; ++i) {
    advance(seconds, track->class_id, &track->filter);
    if (track->missed == 0) {
      if (track->hits > kSettled) learned_.see(track->filter, detection.box, cuts);
      learn_surprise(box, cuts, time, track);
    }
    track->filter.correct(between(track->whole, box, static_cast<double>(i) / steps), deviation);
  }
}

void Tracker::learn_surprise(const image::Corners& box, const Cuts& cuts, Time time, Track* track) {
  const bool known = track->surprised >= track->first && track->surprised != 0;
  if (known && time - track->surprised < kSurpriseTime) return;
  const double off = learned_.deviation() * track->filter.size();
  const double measured[] = {(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box.x1 - box.x0,
                             box.y1 - box.y0};
  Surprise surprise;
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0 ? cuts.width : cuts.height) continue;
    const Axis& axis = track->filter.axis(i);
    surprise.of[i] = std::clamp((measured[i] - axis.x) / std::sqrt(axis.xx + off * off),
                                -kMostSurprise, kMostSurprise);
  }
  if (known) learned_.see_surprises(track->class_id, track->surprise, surprise);
  track->surprise = surprise;
  track->surprised = time;
}

// Adds a detection's evidence that the track is real, and its vote for the class.
void Tracker::believe(const Detection& detection, Time time, Track* track) {
  const double sure =
      std::clamp(static_cast<double>(detection.confidence), 1 - kMostSure, kMostSure);
  const double share =
      track->hits == 0 ? 1 : std::min(1.0, seconds_between(track->seen, time) / kEvidenceSeconds);
  const double log_odds = std::log(sure / (1 - sure)) - neutral_;
  if (track->hits > kSurelyThere) {
    learned_.see_sure(log_odds);
    learned_.see_look(track->missed > 0);
  }
  track->evidence += share * (log_odds * learned_.modesty() - learned_.boast());
  const bool flips = detection.class_id != track->class_id;
  if (track->missed == 0 && track->hits > kSettled) learned_.see_label(flips);
  if (!flips) {
    track->class_votes = std::min(kMostVotes, track->class_votes + sure);
  } else if ((track->class_votes -= sure) < 0) {
    track->class_id = detection.class_id;
    track->class_votes = sure;
  }
}

bool Tracker::is_believed(const Track& track) const {
  const auto least = static_cast<double>(settings_.evidence);
  return least <= 0 || track.evidence >= least + learned_.doubt_of_starts();
}

// Learns the speed of entry once the track is old enough to measure it.
void Tracker::learn_entry(const image::Corners& box, double size, Time time, Track* track) {
  const double seconds = seconds_between(track->first, time);
  if (seconds < kEntrySeconds) return;
  for (int axis = 0; axis < 2; ++axis) {
    if (track->entered[axis] == 0) continue;
    const image::Corners& first = track->path.points()[0].box;
    learned_.see_entry(axis, way_inward(first, box, axis, track->entered[axis]) / size / seconds);
    track->entered[axis] = 0;
  }
}

void Tracker::learn_usual_height(double height, Time time, Track* track) {
  const double logarithm = std::log(height);
  if (track->usual_height.is_known())
    learned_.see_usual_height(track->class_id, logarithm - track->usual_height.logarithm());
  track->usual_height.add(logarithm, seconds_between(track->seen, time));
}

void Tracker::hit(Track* track, size_t index, Time time) {
  const Detection& detection = detections_[index];
  const double size = std::sqrt(area_of(detection.box));
  const Cuts cuts(detection.box, edges_,
                  std::max(1.0, kCutDeviations * learned_.deviation() * size));
  if (track->hits == 0) {
    track->class_id = detection.class_id;
    track->whole_widths = track->whole_heights = 0;
    track->first = track->seen = time;
  }
  const image::Corners whole =
      with_hidden_part(detection.box, cuts, learned_.shape_of(track->class_id), *track);
  believe(detection, time, track);
  if (track->hits == 0) {
    track->filter = BoxFilter(whole, learned_.deviation());
    track->heading.start(time, detection.box);
  } else {
    set_unknown_extents(whole, track);
    follow(whole, detection, cuts, time, track);
    track->heading.add(time, detection.box);
  }
  if (!cuts.width && !cuts.height) learned_.see_whole(track->class_id, detection.box);
  track->whole_widths += !cuts.width;
  track->whole_heights += !cuts.height;
  if (track->missed > 0) {
    track->tremor.clear();
    track->surprised = 0;
    if (track->id != 0 && track->missed == 1) learned_.see_slip(track->hits, true);
  }
  learned_.see_tremor(track->tremor.add(time, detection.box, cuts), size);
  learn_entry(detection.box, size, time, track);
  if (!cuts.height) learn_usual_height(detection.box.y1 - detection.box.y0, time, track);
  track->cuts = cuts;
  track->seen = time;
  track->observed = detection.box;
  track->whole = whole;
  track->confidence = detection.confidence;
  ++track->hits;
  track->shown = true;
  track->missed = 0;
  learn_looks(detection.embedding, &track->embedding);
  track->path.add(time, detection.box);
  const double score = static_cast<double>(detection.confidence) *
                       std::sqrt(area_of(detection.box)) *
                       (touches_edge(detection.box, frame_) ? 0.5 : 1);
  if (score > track->best_score) {
    track->best = {time, detection.box};
    track->best_confidence = detection.confidence;
    track->best_score = score;
  }
  if (track->state == State::kTentative && is_believed(*track)) confirm(track);
  if (track->id != 0) {
    if (!track->is_real && track->hits > kSurelyThere) {
      track->is_real = true;
      if (tells_of_starts(time)) learned_.see_start(true);
    }
    track->state = State::kConfirmed;
    assigned_[index] = track;
  }
}

image::Corners Tracker::smoothed(size_t detection) const {
  const Track& track = *assigned_[detection];
  const image::Corners &found = track.observed, kept = track.filter.box();
  const double most =
      kMostLag * std::max(0.0, learned_.tremble() - kUnseen) * std::sqrt(area_of(found));
  const auto edge = [&](double seen, double expected, double size) {
    const double inside = size > 0 ? std::clamp(expected, 0.0, size) : expected;
    const double near = std::clamp(inside, seen - most, seen + most);
    return size > 0 ? std::clamp(near, 0.0, size) : near;
  };
  const image::Size size = edges_;
  return {edge(found.x0, kept.x0, size.width), edge(found.y0, kept.y0, size.height),
          edge(found.x1, kept.x1, size.width), edge(found.y1, kept.y1, size.height)};
}

void Tracker::start(size_t detection, Time time) {
  Track* track = take();
  tracks_.push_back(track);
  hit(track, detection, time);
  enter(time, track);
}

// Gives a new track the usual speed of entry if it is near the frame's edge. Farther inside, an
// object may have been hidden and move in any direction.
void Tracker::enter(Time time, Track* track) {
  const double size = track->filter.size(), seconds = seconds_between(looked_, time);
  for (int axis = 0; axis < 2; ++axis) {
    const Spread speed = learned_.entry_speed(axis);
    const double reach = std::clamp(kEntryReach * speed.mean * seconds,
                                    kCutDeviations * learned_.deviation(), kMostEntryReach);
    const int edge = edge_within(track->observed, edges_, axis, reach * size);
    track->entered[axis] = edge;
    if (edge == 0) continue;
    track->filter.set_speed(axis, -edge * speed.mean * size, speed.variance * size * size);
  }
}

bool Tracker::leaves(const Track& track, Time time) const {
  const image::Corners box = expected(track, time).box();
  return has_left(box, edges_) || is_outside(box, frame_);
}

// Whether the end of a tentative track tells that it was false. If looks are rare, a track ends
// after missing one or two, as objects move far in between.
bool Tracker::tells_of_starts(Time time) const {
  return time - looked_ <= 2 * settings_.probation / kStartLooks;
}

// Marks tracks that the frame does not show as lost, or ends them.
void Tracker::expire(Time time) {
  const double seconds = seconds_between(looked_, time);
  const double share = seconds / (seconds + kRecentSeconds);
  size_t kept = 0;
  for (Track* track : tracks_) {
    bool over = false;
    if (!track->shown && track->id != 0 && rests(*track)) {
      track->seen = time;
      tracks_[kept++] = track;
      continue;
    }
    track->recent += share * ((track->shown ? 1 : 0) - track->recent);
    if (!track->shown) {
      const bool tentative = track->state == State::kTentative;
      if (++track->missed == 2 && !tentative) learned_.see_slip(track->hits, false);
      if (tentative) {
        track->evidence -= learned_.absence() * std::min(1.0, seconds / kEvidenceSeconds);
      } else {
        track->state = State::kLost;
      }
      over = time - track->seen > (tentative ? settings_.probation : settings_.lost) ||
             leaves(*track, time);
    }
    if (over) {
      if (track->id == 0 && tells_of_starts(time)) learned_.see_start(false);
      end(track);
    } else {
      tracks_[kept++] = track;
    }
  }
  tracks_.resize(kept);
}

void Tracker::move(const motion::Affine& camera) {
  if (camera.is_identity()) return;
  for (Track* track : tracks_) {
    track->filter.move(camera);
    track->heading.move(camera);
    track->usual_height.scale(camera.scale());
    track->observed = camera.apply(track->observed);
    track->whole = camera.apply(track->whole);
  }
}

void Tracker::update(Time time, const image::Size& frame, Span<const Detection> detections) {
  const Time before = last_;
  begin(time);
  stand(before);
  detections_ = detections;
  assigned_.assign(detections.size(), nullptr);
  sure_.clear();
  weak_.clear();
  for (const Detection& detection : detections) {
    if (has_place(detection.box) && detection.confidence >= settings_.sure)
      learned_.see_edge(detection.box, frame);
  }
  set_frame(frame);
  for (size_t i = 0; i < detections.size(); ++i) {
    const Detection& detection = detections[i];
    if (!has_place(detection.box) || !(detection.confidence >= settings_.weak)) continue;
    Candidate candidate;
    candidate.index = static_cast<int>(i);
    candidate.class_id = detection.class_id;
    candidate.box = detection.box;
    candidate.confidence = static_cast<double>(detection.confidence);
    candidate.width = detection.box.x1 - detection.box.x0;
    candidate.height = detection.box.y1 - detection.box.y0;
    candidate.usual_height = std::log(candidate.height);
    candidate.embedding = detection.embedding;
    candidate.scale = unit_scale(detection.embedding);
    const Cuts cuts(detection.box, edges_, 1);
    candidate.cut_x = cuts.x;
    candidate.cut_y = cuts.y;
    (detection.confidence >= settings_.sure ? sure_ : weak_).push_back(candidate);
  }
  for (Track* track : tracks_) track->shown = false;
  associate(time);
  for (const Candidate& candidate : sure_) {
    const auto index = static_cast<size_t>(candidate.index);
    if (detections[index].confidence >= settings_.start) start(index, time);
  }
  expire(time);
  looked_ = time;
  show_absent(time);
  resting_ = false;
}

}  // namespace dvnn::track
