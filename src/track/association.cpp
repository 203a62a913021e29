// SPDX-License-Identifier: Apache-2.0
#include "track/association.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

image::Corners grown(const image::Corners& box, double x, double y) {
  return {box.x0 - x, box.y0 - y, box.x1 + x, box.y1 + y};
}

constexpr double kPi = 3.14159265358979323846;

double ratio(double a, double b) {
  return std::min(a, b) / std::max(a, b);
}

// Heights beside each other that may be of one thing, however alike it looks.
constexpr double kLeastHeights = 0.5;
// Of the difference between the direction in which something went and that in which a detection
// lies (OC-SORT's momentum): the gain of one that goes on, the loss of one that turns back.
constexpr double kMomentum = 0.1;

// What was seen all the time is rather seen again than what was hidden: of two that one detection
// may be, the one in front. It decides between pairs, and not whether they are any.
constexpr double kPresence = 0.25;

// How much of a thing the frame's edge shows changes as fast as it moves: what may be seen of it,
// where it may be off by the slack, is as good as what is expected.
double alike_in_length(double expected, double whole, double slack, bool cut, double found) {
  if (!cut) return ratio(expected, found);
  const double least = std::max(0.0, expected - 2 * slack);
  const double most = std::min(whole, expected + 2 * slack);
  return found < least ? found / least : found > most ? most / found : 1;
}

// Things far away are small: whoever is of another size is another. Heights say more, as widths
// change with every step.
double alike_in_size(const Candidate& track, const Candidate& detection) {
  const double widths = alike_in_length(track.width, track.whole_width, track.slack_x,
                                        track.cut_x != 0 || detection.cut_x != 0, detection.width);
  const double heights =
      alike_in_length(track.height, track.whole_height, track.slack_y,
                      track.cut_y != 0 || detection.cut_y != 0, detection.height);
  return heights * std::sqrt(heights * widths);
}

// The expected size follows what hides a thing for a moment, and then whoever hides it. So a height
// that is neither what it was a second ago nor like those of other things of the class tells
// against a pair, but softly, like Student's distribution, and only beyond two deviations: a thing
// is not to lose its own detections by it.
double alike_in_usual_height(const Candidate& track, const Candidate& detection) {
  if (!(track.usual_variance > 0) || track.cut_y != 0 || detection.cut_y != 0) return 1;
  constexpr double kUsual = 4, kSoftness = 10;
  const double off = detection.usual_height - track.usual_height;
  return 1 / (1 + std::max(0.0, off * off / track.usual_variance - kUsual) / kSoftness);
}

// Measures how far a detection is from an expected box along an axis. Of what the frame's edge
// cuts, the edge that is seen tells it.
double off(double track0, double track1, double detection0, double detection1, int cut) {
  if (cut < 0) return detection1 - track1;
  if (cut > 0) return detection0 - track0;
  return (detection0 + detection1 - track0 - track1) / 2;
}

// Boxes at the frame's edge share that edge, and overlap whoever they are: who leaves there would
// become who enters. So a detection must be as near there as the filter and the detector are
// accurate. Elsewhere the overlap is enough, and forgives what is half hidden.
double alike_at_edge(const Candidate& track, const Candidate& detection) {
  const bool cut = track.cut_x != 0 || track.cut_y != 0;
  if (!cut || !(track.variance_x > 0 && track.variance_y > 0)) return 1;
  const image::Corners &box = track.box, &other = detection.box;
  const double x = off(box.x0, box.x1, other.x0, other.x1, track.cut_x);
  const double y = off(box.y0, box.y1, other.y0, other.y1, track.cut_y);
  // A soft bound, like that of Student's distribution: detectors err widely now and then.
  constexpr double kSoftness = 10;
  return 1 / (1 + (x * x / track.variance_x + y * y / track.variance_y) / kSoftness);
}

double momentum(const Candidate& track, const Candidate& detection) {
  if (track.way_x == 0 && track.way_y == 0) return 0;
  const double x = (detection.box.x0 + detection.box.x1) / 2 - track.from_x;
  const double y = (detection.box.y0 + detection.box.y1) / 2 - track.from_y;
  const double length = std::hypot(x, y);
  if (length == 0) return 0;
  const double cosine = std::clamp((x * track.way_x + y * track.way_y) / length, -1.0, 1.0);
  return kMomentum * detection.confidence * (1 - 2 * std::acos(cosine) / kPi);
}

double cosine_of(const Candidate& track, const Candidate& detection) {
  return static_cast<double>(detection.scale) * likeness(track.embedding, detection.embedding);
}

double gain_of_looks(const Round& round, const Candidate& track, const Candidate& detection) {
  if (track.cut_y == 0 && detection.cut_y == 0 &&
      ratio(track.height, detection.height) < kLeastHeights)
    return 0;
  const double gain = cosine_of(track, detection) - round.least_likeness;
  return track.class_id == detection.class_id ? gain : gain * round.other_class;
}

double gain_of(const Round& round, const Candidate& track, const Candidate& detection) {
  if (round.least_likeness > 0) return gain_of_looks(round, track, detection);
  const double shared = overlap(grown(track.box, track.slack_x, track.slack_y),
                                grown(detection.box, track.slack_x, track.slack_y));
  const bool looks =
      round.appearance > 0 && !track.embedding.empty() && !detection.embedding.empty();
  // Likenesses take away from what is shared: most neighbours share too little as it is.
  if (shared <= (looks ? 0 : round.least_overlap)) return 0;
  double gain = shared * alike_in_size(track, detection) * alike_in_usual_height(track, detection) *
                alike_at_edge(track, detection) * (1 + detection.confidence) / 2;
  if (track.class_id != detection.class_id) gain *= round.other_class;
  gain += momentum(track, detection) - round.least_overlap;
  if (looks) {
    gain += round.appearance * (cosine_of(track, detection) - round.alike);
  }
  return gain > 0 ? gain * (1 + kPresence * track.recent) : gain;
}

}  // namespace

float unit_scale(Span<const float> embedding) {
  float sum = 0;
  for (float value : embedding) sum += value * value;
  // Embeddings that hold no numbers, or too large ones, say nothing.
  return sum > 0 && std::isfinite(sum) ? 1 / std::sqrt(sum) : 0;
}

double likeness(Span<const float> a, Span<const float> b) {
  if (a.size() != b.size()) return 0;
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return static_cast<double>(sum);
}

// Places lie in the order of their left edges, so that a track meets only those that may touch it.
const std::vector<int>& Association::solve(const Round& round, const std::vector<Candidate>& tracks,
                                           const std::vector<Candidate>& detections) {
  places_.clear();
  double widest = 0;
  for (size_t i = 0; i < detections.size(); ++i) {
    const image::Corners& box = detections[i].box;
    places_.push_back({box.x0, box.x1, box.y0, box.y1, i});
    widest = std::max(widest, box.x1 - box.x0);
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return a.x0 < b.x0 || (a.x0 == b.x0 && a.index < b.index);
  });
  assignment_.begin(tracks.size(), detections.size());
  met_.resize(detections.size());
  for (size_t row = 0; row < tracks.size(); ++row) {
    const Candidate& track = tracks[row];
    const double reach_x = 2 * track.slack_x, reach_y = 2 * track.slack_y;
    const double left = track.box.x0 - reach_x, right = track.box.x1 + reach_x;
    const double top = track.box.y0 - reach_y, bottom = track.box.y1 + reach_y;
    auto at = std::lower_bound(places_.begin(), places_.end(), left - widest,
                               [](const Place& place, double x) { return place.x0 < x; });
    // Which of them touch it cannot be foreseen: so this takes no branch.
    size_t met = 0;
    for (; at != places_.end() && at->x0 < right; ++at) {
      met_[met] = at->index;
      met += (at->x1 > left) & (at->y0 < bottom) & (at->y1 > top);
    }
    for (size_t k = 0; k < met; ++k)
      assignment_.offer(row, met_[k], gain_of(round, track, detections[met_[k]]));
  }
  return assignment_.solve();
}

void Association::drop_taken(std::vector<Candidate>* list) {
  list->erase(std::remove_if(list->begin(), list->end(),
                             [](const Candidate& c) { return c.index == kTaken; }),
              list->end());
}

}  // namespace dvnn::track
