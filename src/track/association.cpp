// SPDX-License-Identifier: Apache-2.0
#include "track/association.h"

#include <cmath>
#include <limits>

#include "base/grid.h"

namespace dvnn::track {

void Assignment::begin(size_t rows, size_t columns) {
  row_count_ = rows;
  pairs_.clear();
  columns_of_.assign(rows, kNone);
  parent_.resize(rows + columns);
  for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<int>(i);
  first_.assign(rows + columns, kNone);
  local_.assign(rows + columns, kNone);
}

int Assignment::root_of(int node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void Assignment::offer(size_t row, size_t column, double gain) {
  if (!(gain > 0)) return;
  const int from = static_cast<int>(row), to = static_cast<int>(row_count_ + column);
  pairs_.push_back({from, to, gain, kNone});
  parent_[root_of(from)] = root_of(to);
}

const std::vector<int>& Assignment::solve() {
  for (size_t i = pairs_.size(); i-- > 0;) {
    int& first = first_[root_of(pairs_[i].row)];
    pairs_[i].next = first;
    first = static_cast<int>(i);
  }
  for (int first : first_) {
    if (first == kNone) continue;
    const Pair& pair = pairs_[first];
    if (pair.next == kNone) {
      columns_of_[pair.row] = pair.column - static_cast<int>(row_count_);
    } else {
      solve_group(first);
    }
  }
  return columns_of_;
}

// Solves one connected group as a dense matrix. Pairs that were not offered cost 0 there and are
// dropped from the result, so a row may stay unassigned.
void Assignment::solve_group(int first) {
  rows_.clear();
  members_.clear();
  for (int i = first; i != kNone; i = pairs_[i].next) {
    const Pair& pair = pairs_[i];
    if (local_[pair.row] == kNone) {
      local_[pair.row] = static_cast<int>(rows_.size());
      rows_.push_back(pair.row);
    }
    if (local_[pair.column] == kNone) {
      local_[pair.column] = static_cast<int>(members_.size());
      members_.push_back(pair.column);
    }
  }
  const bool turned = rows_.size() > members_.size();
  if (turned) rows_.swap(members_);
  const int rows = static_cast<int>(rows_.size()), columns = static_cast<int>(members_.size());
  cost_.assign(rows_.size() * members_.size(), 0);
  for (int i = first; i != kNone; i = pairs_[i].next) {
    const Pair& pair = pairs_[i];
    const int row = local_[turned ? pair.column : pair.row];
    const int column = local_[turned ? pair.row : pair.column];
    double& cost = cost_[grid_index(column, row, columns)];
    if (-pair.gain < cost) cost = -pair.gain;
  }
  solve_dense(rows, columns);
  for (int column = 0; column < columns; ++column) {
    const int row = row_of_[column];
    if (row == kNone || nth(cost_, row * columns + column) >= 0) continue;
    const int a = rows_[row], b = members_[column];
    columns_of_[turned ? b : a] = (turned ? a : b) - static_cast<int>(row_count_);
  }
}

// Adds one row after the other along its shortest augmenting path. The prices keep all reduced
// costs at 0 or above, so Dijkstra's algorithm finds the path.
void Assignment::solve_dense(int rows, int columns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  row_price_.assign(rows, 0);
  column_price_.assign(columns, 0);
  row_of_.assign(columns, kNone);
  way_.resize(columns);
  for (int start = 0; start < rows; ++start) {
    distance_.assign(columns, kInfinity);
    done_.assign(columns, 0);
    int row = start, last = kNone;
    double reached = 0;
    while (true) {
      const double* cost = &cost_[grid_index(0, row, columns)];
      int nearest = kNone;
      for (int column = 0; column < columns; ++column) {
        if (done_[column]) continue;
        const double length = reached + cost[column] - row_price_[row] - column_price_[column];
        if (length < distance_[column]) {
          distance_[column] = length;
          way_[column] = last;
        }
        if (nearest == kNone || distance_[column] < distance_[nearest]) nearest = column;
      }
      reached = distance_[nearest];
      done_[nearest] = 1;
      last = nearest;
      if (row_of_[nearest] == kNone) break;
      row = row_of_[nearest];
    }
    row_price_[start] += reached;
    for (int column = 0; column < columns; ++column) {
      if (!done_[column] || column == last) continue;
      row_price_[row_of_[column]] += reached - distance_[column];
      column_price_[column] -= reached - distance_[column];
    }
    for (int column = last; column != kNone;) {
      const int before = way_[column];
      row_of_[column] = before == kNone ? start : row_of_[before];
      column = before;
    }
  }
}

namespace {

image::Corners grown(const image::Corners& box, double x, double y) {
  return {box.x0 - x, box.y0 - y, box.x1 + x, box.y1 + y};
}

constexpr double kPi = 3.14159265358979323846;

double ratio(double a, double b) {
  return std::min(a, b) / std::max(a, b);
}

// Least ratio of the heights of a track and a detection that appearance alone may pair.
constexpr double kLeastHeights = 0.5;
// Weight of the direction of motion (OC-SORT's momentum): added to the gain of a detection straight
// ahead of the track, subtracted from that of one straight behind.
constexpr double kMomentum = 0.1;

// Bonus for tracks that were seen continually: if all recent looks showed a track, its gain is
// multiplied by 1 + kPresence. So of two tracks for one detection the one in front gets it. The
// factor does not change which pairs are possible.
constexpr double kPresence = 0.25;

// Compares a length of a track's expected box with that of a detection, from 0 to 1. At the frame's
// edge, any visible length within twice the slack of the expected one counts as a perfect match,
// because it changes as fast as the object moves.
double alike_in_length(double expected, double whole, double slack, bool cut, double found) {
  if (!cut) return ratio(expected, found);
  const double least = std::max(0.0, expected - 2 * slack);
  const double most = std::min(whole, expected + 2 * slack);
  return found < least ? found / least : found > most ? most / found : 1;
}

// Compares sizes, from 0 to 1. Different size means different distance, hence a different object.
// Heights count more than widths, because a person's width changes with every step.
double alike_in_size(const Candidate& track, const Candidate& detection) {
  const double widths = alike_in_length(track.width, track.whole_width, track.slack_x,
                                        track.cut_x != 0 || detection.cut_x != 0, detection.width);
  const double heights =
      alike_in_length(track.height, track.whole_height, track.slack_y,
                      track.cut_y != 0 || detection.cut_y != 0, detection.height);
  return heights * std::sqrt(heights * widths);
}

// Compares a detection's height with the track's height of the last second. The expected size alone
// would adapt to an object that hides this one, and then to the hiding object itself. The penalty
// is soft, like Student's distribution, and begins beyond two deviations, so that a track does not
// lose its own detections by it.
double alike_in_usual_height(const Candidate& track, const Candidate& detection) {
  if (!(track.usual_variance > 0) || track.cut_y != 0 || detection.cut_y != 0) return 1;
  constexpr double kUsual = 4, kSoftness = 10;
  const double off = detection.usual_height - track.usual_height;
  return 1 / (1 + std::max(0.0, off * off / track.usual_variance - kUsual) / kSoftness);
}

// Measures how far a detection is from an expected box along an axis: by the centres, or by the
// visible edge if the frame cuts the other one (`cut`).
double off(double track0, double track1, double detection0, double detection1, int cut) {
  if (cut < 0) return detection1 - track1;
  if (cut > 0) return detection0 - track0;
  return (detection0 + detection1 - track0 - track1) / 2;
}

// Compares places at the frame's edge, from 0 to 1. All boxes there share that edge and overlap, so
// that a leaving object could pass its track to an entering one. A detection must therefore be as
// near as filter and detector are accurate. Elsewhere the overlap decides, which tolerates partial
// occlusion.
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
  // With embeddings any overlap will do, because similarity may make up for a small one.
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
  // An embedding with infinite or NaN values, or values that overflow, has no direction.
  return sum > 0 && std::isfinite(sum) ? 1 / std::sqrt(sum) : 0;
}

double likeness(Span<const float> a, Span<const float> b) {
  if (a.size() != b.size()) return 0;
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return static_cast<double>(sum);
}

// Sorts detections by their left edges, so that a track meets only those that may touch it.
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
    // Written without a branch, because which detections touch the track cannot be predicted.
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
