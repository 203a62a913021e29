// SPDX-License-Identifier: Apache-2.0
// The rounds in which tracks get their detections.
#include <algorithm>
#include <cmath>

#include "base/nth.h"
#include "track/frame_edge.h"
#include "track/tracker.h"

namespace dvnn::track {
namespace {

// Least gains of a pair: mostly the overlap of a track's expected box with a detection, both grown
// by the uncertainty of the prediction, times the similarity of their sizes.
constexpr double kLeastOverlap = 0.2;
// Weak detections are less certain, so they must be where the track is.
constexpr double kLeastWeakOverlap = 0.4;
constexpr double kLeastLastOverlap = 0.5;
constexpr double kMostSlack = 0.4;  // sizes by which boxes grow
// Least way in a quarter of a second or more, in sizes, that defines a direction.
constexpr double kLeastWay = 0.3;
// Distance within which appearance alone may find a track: at once, per second since it was seen,
// and at most, in sizes. kLooksKnown: detections that it must have had.
constexpr double kReach = 0.5, kReachSpeed = 5, kMostReach = 4;
constexpr unsigned kLooksKnown = 5;
constexpr size_t kLooksLearned = 8;  // pairs of a frame to learn similarities from
// Factor on the filter's variance of a height, which extrapolation underestimates.
constexpr double kFilterDoubt = 2;

Candidate candidate_of(const Track& track, const image::Corners& box, int index) {
  Candidate candidate;
  candidate.index = index;
  candidate.class_id = track.class_id;
  candidate.box = box;
  candidate.width = candidate.whole_width = box.x1 - box.x0;
  candidate.height = candidate.whole_height = box.y1 - box.y0;
  candidate.embedding = track.embedding;
  return candidate;
}

void set_way(const Track& track, Candidate* candidate) {
  candidate->from_x = (track.observed.x0 + track.observed.x1) / 2;
  candidate->from_y = (track.observed.y0 + track.observed.y1) / 2;
  double x = 0, y = 0;
  track.heading.way(&x, &y);
  const double length = std::hypot(x, y);
  if (!(length > kLeastWay * track.filter.size())) return;
  candidate->way_x = x / length;
  candidate->way_y = y / length;
}

// Sets the usual height. Its variance is that of the class plus the filter's, which grows in a gap.
void set_usual_height(const Track& track, const BoxFilter& filter, double variance,
                      Candidate* candidate) {
  if (!track.usual_height.is_known()) return;
  candidate->usual_height = track.usual_height.logarithm();
  const Axis& height = filter.axis(3);
  candidate->usual_variance = variance + kFilterDoubt * height.xx / (height.x * height.x);
}

// Cuts an expected box to the part that a detection can show.
void cut_at_edge(const image::Size& frame, Candidate* candidate) {
  if (!is_known(frame)) return;
  const image::Corners whole = candidate->box, part = visible_part(whole, frame);
  if (!(part.x1 > part.x0 && part.y1 > part.y0)) return;
  candidate->box = part;
  candidate->cut_x = (part.x1 < whole.x1) - (part.x0 > whole.x0);
  candidate->cut_y = (part.y1 < whole.y1) - (part.y0 > whole.y0);
  candidate->width *= (part.x1 - part.x0) / (whole.x1 - whole.x0);
  candidate->height *= (part.y1 - part.y0) / (whole.y1 - whole.y0);
}

}  // namespace

void Tracker::collect_tracks(Time time, bool tentative, std::vector<Candidate>* out) const {
  out->clear();
  for (size_t i = 0; i < tracks_.size(); ++i) {
    const Track& track = *tracks_[i];
    if (track.shown || (track.state == State::kTentative) != tentative) continue;
    // A track that was absent for too long takes no detections, unless no frame in between was
    // inferred.
    if (track.missed > 0 && time - track.seen > settings_.lost) continue;
    const BoxFilter filter = expected(track, time);
    // A track that is expected outside the frame is not among the objects in it.
    if (is_outside(filter.box(), edges_)) continue;
    const double most = kMostSlack * filter.size();
    const double off = learned_.deviation() * filter.size();
    Candidate candidate = candidate_of(track, filter.box(), static_cast<int>(i));
    candidate.slack_x = std::min(most, filter.spread_x());
    candidate.slack_y = std::min(most, filter.spread_y());
    candidate.variance_x = filter.axis(0).xx + off * off;
    candidate.variance_y = filter.axis(1).xx + off * off;
    candidate.recent = track.recent;
    set_way(track, &candidate);
    set_usual_height(track, filter, learned_.usual_variance(track.class_id), &candidate);
    cut_at_edge(edges_, &candidate);
    out->push_back(candidate);
  }
}

// Derives the camera's motion from the pairs and applies it to all tracks. Returns whether it
// moved.
bool Tracker::follow_camera(Time time) {
  common_.begin();
  for (const Pair& pair : pairs_) {
    const Track& track = *nth(tracks_, pair.track);
    if (track.missed > 0 || track.hits < kSettled) continue;
    const BoxFilter filter = expected(track, time);
    const image::Corners& box = nth(detections_, pair.detection).box;
    const double off = learned_.deviation() * filter.size();
    const Axis &x = filter.axis(0), &y = filter.axis(1);
    common_.add(x.x, y.x, (box.x0 + box.x1) / 2 - x.x, (box.y0 + box.y1) / 2 - y.x,
                x.xx + off * off, y.xx + off * off);
  }
  const motion::Affine camera = common_.solve();
  move(camera);
  return !camera.is_identity();
}

// Pairs sure detections with tracks widened by the usual camera motion, and derives the camera's
// motion from these pairs. If it moved, pairs anew; if not, these pairs hold.
void Tracker::associate_sure(Time time, const Round& round) {
  const auto found = [&](int track, int detection) { pairs_.push_back({track, detection}); };
  pairs_.clear();
  if (settings_.common_motion) {
    all_sure_ = sure_;
    common_.widen(&known_);
    association_.run(round, &known_, &sure_, found);
    if (follow_camera(time)) {
      pairs_.clear();
      sure_.swap(all_sure_);
      collect_tracks(time, false, &known_);
    }
  }
  if (pairs_.empty()) association_.run(round, &known_, &sure_, found);
  learn_likenesses();
  for (const Pair& pair : pairs_)
    hit(nth(tracks_, pair.track), static_cast<size_t>(pair.detection), time);
}

// Learns from pairs of the frame, a few per frame in turn. Neighbours in the list are two objects.
void Tracker::learn_likenesses() {
  for (size_t i = 0; i < std::min(kLooksLearned, pairs_.size()); ++i) {
    const size_t at = next_look_++ % pairs_.size();
    const Track& track = *nth(tracks_, pairs_[at].track);
    const Track& other = *nth(tracks_, pairs_[(at + 1) % pairs_.size()].track);
    const Span<const float> look = nth(detections_, pairs_[at].detection).embedding;
    if (look.empty() || track.missed > 0) continue;
    const auto scale = static_cast<double>(unit_scale(look));
    if (!track.embedding.empty()) learned_.see_own_look(scale * likeness(track.embedding, look));
    if (!other.embedding.empty() && &other != &track)
      learned_.see_other_look(scale * likeness(other.embedding, look));
  }
}

// Pairs the remaining tracks by appearance alone, as far as objects get from where they were
// expected.
void Tracker::associate_looks(Time time, Round round) {
  last_seen_.clear();
  for (const Candidate& candidate : known_) {
    const Track& track = *nth(tracks_, candidate.index);
    if (track.shown || track.embedding.empty() || track.hits < kLooksKnown) continue;
    const double seconds = 1e-9 * static_cast<double>(time - track.seen);
    Candidate there = candidate;
    there.slack_x = there.slack_y =
        track.filter.size() * std::min(kMostReach, kReach + kReachSpeed * seconds) / 2;
    last_seen_.push_back(there);
  }
  round.least_likeness = learned_.least_likeness();
  association_.run(round, &last_seen_, &sure_, [&](int track, int detection) {
    hit(nth(tracks_, track), static_cast<size_t>(detection), time);
  });
}

void Tracker::associate(Time time) {
  const auto found = [&](int track, int detection) {
    hit(nth(tracks_, track), static_cast<size_t>(detection), time);
  };
  const double looks = static_cast<double>(settings_.appearance) * learned_.trust_in_looks();
  const double other_class = learned_.other_class();
  const Round sure{kLeastOverlap, looks, learned_.usual_likeness(), other_class};
  collect_tracks(time, false, &known_);
  associate_sure(time, sure);
  // A weak detection does not bring back a track that the look before has missed.
  last_seen_.clear();
  for (const Candidate& candidate : known_) {
    const Track& track = *nth(tracks_, candidate.index);
    if (track.missed > 0) continue;
    Candidate there = candidate;
    there.slack_x = there.slack_y = 0;
    there.embedding = {};
    last_seen_.push_back(there);
  }
  association_.run({kLeastWeakOverlap, 0, 0, other_class}, &last_seen_, &weak_, found);
  last_seen_.clear();
  for (const Candidate& candidate : known_) {
    const Track& track = *nth(tracks_, candidate.index);
    if (track.shown) continue;
    Candidate there = candidate_of(track, track.whole, candidate.index);
    const double off = learned_.deviation() * track.filter.size();
    there.variance_x = there.variance_y = 2 * off * off;
    cut_at_edge(edges_, &there);
    last_seen_.push_back(there);
  }
  Round last = sure;
  last.least_overlap = kLeastLastOverlap;
  association_.run(last, &last_seen_, &sure_, found);
  if (looks > 0) associate_looks(time, sure);
  collect_tracks(time, true, &tentative_);
  association_.run(sure, &tentative_, &sure_, found);
}

}  // namespace dvnn::track
