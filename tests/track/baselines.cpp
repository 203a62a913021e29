// SPDX-License-Identifier: Apache-2.0
#include "track/baselines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace dvnn::test {
namespace {

// A Kalman filter with matrices, of which four numbers of `n` are measured. Its speeds are per
// frame: number i + 4 is the speed of number i.
template <int n>
struct Filter {
  double x[n] = {}, p[n][n] = {};

  void predict(const double (&noise)[n]) {
    constexpr int kSpeeds = n - 4;
    for (int i = 0; i < kSpeeds; ++i) x[i] += x[i + 4];
    double moved[n][n];
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) moved[i][j] = p[i][j] + (i < kSpeeds ? p[i + 4][j] : 0);
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        p[i][j] = moved[i][j] + (j < kSpeeds ? moved[i][j + 4] : 0) + (i == j ? noise[i] : 0);
      }
    }
  }
  // The four measurements' noises are independent: one after the other is all of them.
  void correct(const double (&measured)[4], const double (&variance)[4]) {
    for (int k = 0; k < 4; ++k) {
      const double s = p[k][k] + variance[k], off = measured[k] - x[k];
      double gain[n], row[n];
      for (int i = 0; i < n; ++i) gain[i] = p[i][k] / s, row[i] = p[k][i];
      for (int i = 0; i < n; ++i) {
        x[i] += gain[i] * off;
        for (int j = 0; j < n; ++j) p[i][j] -= gain[i] * row[j];
      }
    }
  }
};

using Weight = std::function<double(size_t row, size_t column)>;

// Calls `found` with each pair of the best assignment whose overlap is enough, and returns what is
// left of both sides.
void assign(std::vector<size_t>* rows, std::vector<size_t>* columns, const Weight& weight,
            const std::function<bool(size_t, size_t)>& enough,
            const std::function<void(size_t, size_t)>& found) {
  std::vector<double> weights;
  for (size_t row : *rows) {
    for (size_t column : *columns) weights.push_back(weight(row, column));
  }
  const std::vector<int> pairs = heaviest_pairs(rows->size(), columns->size(), weights);
  std::vector<size_t> rows_left, columns_left;
  std::vector<char> taken(columns->size());
  for (size_t i = 0; i < rows->size(); ++i) {
    const bool paired =
        pairs[i] >= 0 && enough((*rows)[i], (*columns)[static_cast<size_t>(pairs[i])]);
    if (!paired) {
      rows_left.push_back((*rows)[i]);
      continue;
    }
    taken[static_cast<size_t>(pairs[i])] = 1;
    found((*rows)[i], (*columns)[static_cast<size_t>(pairs[i])]);
  }
  for (size_t i = 0; i < columns->size(); ++i) {
    if (!taken[i]) columns_left.push_back((*columns)[i]);
  }
  rows->swap(rows_left);
  columns->swap(columns_left);
}

std::vector<size_t> all_of(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

// --- SORT and OC-SORT --------------------------------------------------------------------------

constexpr int kMinHits = 3;

struct SortTrack {
  static constexpr double kNoise[7] = {1, 1, 1, 1, 0.01, 0.01, 0.0001};
  static constexpr double kMeasured[4] = {1, 1, 10, 10};

  long id = 0;
  int hits = 0, unseen = 0, age = 0;
  Filter<7> filter, kept;       // `kept` is that of the last observation
  Box last;                     // observation
  std::map<int, Box> observed;  // by age
  double way_x = 0, way_y = 0;

  SortTrack(long id, const Box& box) : id(id), last(box) {
    double z[4];
    measure(box, &z);
    std::copy(z, z + 4, filter.x);
    for (int i = 0; i < 7; ++i) filter.p[i][i] = i < 4 ? 10 : 10000;
  }
  static void measure(const Box& box, double (*z)[4]) {
    const double width = box.x1 - box.x0, height = box.y1 - box.y0;
    (*z)[0] = box.x0 + width / 2, (*z)[1] = box.y0 + height / 2;
    (*z)[2] = width * height, (*z)[3] = width / height;
  }
  Box box() const {
    const double width = std::sqrt(std::max(1e-6, filter.x[2] * filter.x[3]));
    const double height = filter.x[2] / width;
    return {filter.x[0] - width / 2, filter.x[1] - height / 2, filter.x[0] + width / 2,
            filter.x[1] + height / 2};
  }
  void predict() {
    ++age;
    if (filter.x[6] + filter.x[2] <= 0) filter.x[6] = 0;
    filter.predict(kNoise);
    if (unseen > 0) hits = 0;
    ++unseen;
  }
  void correct(const Box& seen) {
    double z[4];
    measure(seen, &z);
    filter.correct(z, kMeasured);
    unseen = 0;
    ++hits;
    last = seen;
  }
};

// The direction from one box to another, of length 1.
void way_between(const Box& from, const Box& to, double* x, double* y) {
  const double dx = (to.x0 + to.x1 - from.x0 - from.x1) / 2;
  const double dy = (to.y0 + to.y1 - from.y0 - from.y1) / 2;
  const double length = std::hypot(dx, dy) + 1e-6;
  *x = dx / length;
  *y = dy / length;
}

}  // namespace

Frames run_sort(const Sequence& sequence) {
  constexpr double kLeastOverlap = 0.3;
  constexpr int kMaxAge = 1;
  Frames result(sequence.detections.size());
  std::vector<SortTrack> tracks;
  long names = 0;
  for (size_t f = 0; f < sequence.detections.size(); ++f) {
    const std::vector<Seen>& seen = sequence.detections[f];
    for (SortTrack& track : tracks) track.predict();
    std::vector<size_t> rows = all_of(tracks.size()), columns = all_of(seen.size());
    std::vector<Box> expected;
    for (const SortTrack& track : tracks) expected.push_back(track.box());
    const auto overlap = [&](size_t row, size_t column) {
      return iou(expected[row], seen[column].box);
    };
    assign(
        &rows, &columns, overlap,
        [&](size_t row, size_t column) { return overlap(row, column) >= kLeastOverlap; },
        [&](size_t row, size_t column) { tracks[row].correct(seen[column].box); });
    for (size_t column : columns) tracks.emplace_back(++names, seen[column].box);
    for (const SortTrack& track : tracks) {
      if (track.unseen == 0 && (track.hits >= kMinHits || f < kMinHits))
        result[f].push_back({track.id, track.box()});
    }
    tracks.erase(std::remove_if(tracks.begin(), tracks.end(),
                                [](const SortTrack& track) { return track.unseen > kMaxAge; }),
                 tracks.end());
  }
  return result;
}

Frames run_oc_sort(const Sequence& sequence, double least) {
  constexpr double kLeastOverlap = 0.3, kInertia = 0.2, kPi = 3.14159265358979323846;
  constexpr int kMaxAge = 30, kDelta = 3;
  Frames result(sequence.detections.size());
  std::vector<SortTrack> tracks;
  long names = 0;
  for (size_t f = 0; f < sequence.detections.size(); ++f) {
    std::vector<Seen> seen;
    for (const Seen& one : sequence.detections[f]) {
      if (one.confidence > least) seen.push_back(one);
    }
    for (SortTrack& track : tracks) track.predict();
    std::vector<size_t> rows = all_of(tracks.size()), columns = all_of(seen.size());
    std::vector<Box> expected;
    for (const SortTrack& track : tracks) expected.push_back(track.box());
    // The observation of three frames ago, or the oldest of those after it.
    const auto before = [&](const SortTrack& track) -> const Box* {
      for (int k = kDelta; k > 0; --k) {
        const auto found = track.observed.find(track.age - k);
        if (found != track.observed.end()) return &found->second;
      }
      return track.observed.empty() ? nullptr : &track.observed.rbegin()->second;
    };
    const auto found = [&](size_t row, size_t column) {
      SortTrack& track = tracks[row];
      const Box& now = seen[column].box;
      if (const Box* old = before(track)) way_between(*old, now, &track.way_x, &track.way_y);
      // The filter of the last observation goes the straight way to this one.
      if (track.unseen > 1) {
        track.filter = track.kept;
        double from[4], to[4];
        SortTrack::measure(track.last, &from);
        SortTrack::measure(now, &to);
        const double width0 = std::sqrt(from[2] * from[3]), width1 = std::sqrt(to[2] * to[3]);
        const double height0 = from[2] / width0, height1 = to[2] / width1;
        for (int k = 1; k < track.unseen; ++k) {
          const double t = static_cast<double>(k) / track.unseen;
          const double width = width0 + t * (width1 - width0),
                       height = height0 + t * (height1 - height0);
          const double z[4] = {from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1]),
                               width * height, width / height};
          track.filter.predict(SortTrack::kNoise);
          track.filter.correct(z, SortTrack::kMeasured);
        }
        track.filter.predict(SortTrack::kNoise);
      }
      track.correct(now);
      track.observed[track.age] = now;
      track.kept = track.filter;
    };
    const auto overlap = [&](size_t row, size_t column) {
      return iou(expected[row], seen[column].box);
    };
    const auto with_direction = [&](size_t row, size_t column) {
      const SortTrack& track = tracks[row];
      double weight = overlap(row, column);
      const Box* old = before(track);
      if (old) {
        double x = 0, y = 0;
        way_between(*old, seen[column].box, &x, &y);
        const double angle = std::acos(std::clamp(x * track.way_x + y * track.way_y, -1.0, 1.0));
        weight += kInertia * (kPi / 2 - angle) / kPi * seen[column].confidence;
      }
      // Weights of 0 are no pairs, and those of the gate are taken back.
      return overlap(row, column) >= kLeastOverlap ? weight + 1 : std::max(1e-9, 1e-3 * weight);
    };
    const auto enough = [&](size_t row, size_t column) {
      return overlap(row, column) >= kLeastOverlap;
    };
    assign(&rows, &columns, with_direction, enough, found);
    const auto at_last = [&](size_t row, size_t column) {
      return iou(tracks[row].last, seen[column].box);
    };
    assign(
        &rows, &columns, at_last,
        [&](size_t row, size_t column) { return at_last(row, column) >= kLeastOverlap; }, found);
    for (size_t column : columns) {
      tracks.emplace_back(++names, seen[column].box);
      tracks.back().kept = tracks.back().filter;
    }
    for (const SortTrack& track : tracks) {
      if (track.unseen == 0 && (track.hits >= kMinHits || f < kMinHits))
        result[f].push_back({track.id, track.last});
    }
    tracks.erase(std::remove_if(tracks.begin(), tracks.end(),
                                [](const SortTrack& track) { return track.unseen > kMaxAge; }),
                 tracks.end());
  }
  return result;
}

// --- ByteTrack ---------------------------------------------------------------------------------

namespace {

struct ByteTrackOne {
  static constexpr double kPlace = 1.0 / 20, kSpeed = 1.0 / 160;
  enum class State { kNew, kTracked, kLost };

  long id = 0;
  State state = State::kNew;
  size_t seen = 0;
  Filter<8> filter;  // x, y, aspect, height

  ByteTrackOne(const Box& box, size_t frame) : seen(frame) {
    double z[4];
    measure(box, &z);
    std::copy(z, z + 4, filter.x);
    const double h = z[3],
                 deviations[8] = {2 * kPlace * h,  2 * kPlace * h,  1e-2, 2 * kPlace * h,
                                  10 * kSpeed * h, 10 * kSpeed * h, 1e-5, 10 * kSpeed * h};
    for (int i = 0; i < 8; ++i) filter.p[i][i] = deviations[i] * deviations[i];
  }
  static void measure(const Box& box, double (*z)[4]) {
    const double width = box.x1 - box.x0, height = box.y1 - box.y0;
    (*z)[0] = box.x0 + width / 2, (*z)[1] = box.y0 + height / 2;
    (*z)[2] = width / height, (*z)[3] = height;
  }
  Box box() const {
    const double height = filter.x[3], width = filter.x[2] * height;
    return {filter.x[0] - width / 2, filter.x[1] - height / 2, filter.x[0] + width / 2,
            filter.x[1] + height / 2};
  }
  void predict() {
    if (state != State::kTracked) filter.x[7] = 0;
    const double h = filter.x[3], place = kPlace * h, speed = kSpeed * h;
    filter.predict({place * place, place * place, 1e-4, place * place, speed * speed, speed * speed,
                    1e-10, speed * speed});
  }
  void correct(const Box& now, size_t frame) {
    double z[4];
    measure(now, &z);
    const double place = kPlace * filter.x[3];
    filter.correct(z, {place * place, place * place, 1e-2, place * place});
    seen = frame;
  }
};

}  // namespace

Frames run_byte_track(const Sequence& sequence, double least) {
  constexpr double kWeak = 0.1, kSure = 0.2, kNearby = 0.5, kUnconfirmed = 0.3;
  constexpr double kDuplicate = 0.85, kStartMore = 0.1;
  const auto patience = static_cast<size_t>(30);
  using State = ByteTrackOne::State;
  Frames result(sequence.detections.size());
  std::vector<ByteTrackOne> tracks;
  long names = 0;
  for (size_t f = 0; f < sequence.detections.size(); ++f) {
    const std::vector<Seen>& seen = sequence.detections[f];
    std::vector<size_t> sure, weak, known, fresh;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].confidence > least)
        sure.push_back(i);
      else if (seen[i].confidence > kWeak && seen[i].confidence < least)
        weak.push_back(i);
    }
    for (size_t i = 0; i < tracks.size(); ++i) {
      (tracks[i].state == State::kNew ? fresh : known).push_back(i);
      if (tracks[i].state != State::kNew) tracks[i].predict();
    }
    std::vector<char> shown(tracks.size());
    const auto overlap = [&](size_t row, size_t column) {
      return iou(tracks[row].box(), seen[column].box);
    };
    const auto scored = [&](size_t row, size_t column) {
      return overlap(row, column) * seen[column].confidence;
    };
    const auto found = [&](size_t row, size_t column) {
      tracks[row].correct(seen[column].box, f);
      if (tracks[row].state == State::kNew) tracks[row].id = ++names;
      tracks[row].state = State::kTracked;
      shown[row] = 1;
    };
    assign(
        &known, &sure, scored,
        [&](size_t row, size_t column) { return scored(row, column) >= kSure; }, found);
    std::vector<size_t> tracked;
    for (size_t row : known) {
      if (tracks[row].state == State::kTracked) tracked.push_back(row);
    }
    assign(
        &tracked, &weak, overlap,
        [&](size_t row, size_t column) { return overlap(row, column) >= kNearby; }, found);
    for (size_t row : tracked) tracks[row].state = State::kLost;
    assign(
        &fresh, &sure, scored,
        [&](size_t row, size_t column) { return scored(row, column) >= kUnconfirmed; }, found);
    std::vector<char> gone(tracks.size());
    for (size_t row : fresh) gone[row] = 1;
    for (size_t i = 0; i < tracks.size(); ++i)
      gone[i] = gone[i] || (tracks[i].state == State::kLost && f - tracks[i].seen > patience);
    // Of a tracked and a lost one at the same place, the older one stays.
    for (size_t a = 0; a < tracks.size(); ++a) {
      for (size_t b = 0; b < tracks.size(); ++b) {
        if (tracks[a].state != State::kTracked || tracks[b].state != State::kLost || gone[a] ||
            gone[b] || iou(tracks[a].box(), tracks[b].box()) <= kDuplicate)
          continue;
        gone[tracks[a].id < tracks[b].id ? b : a] = 1;
      }
    }
    size_t kept = 0;
    for (size_t i = 0; i < tracks.size(); ++i) {
      if (gone[i]) continue;
      if (tracks[i].state == State::kTracked) result[f].push_back({tracks[i].id, tracks[i].box()});
      tracks[kept++] = tracks[i];
    }
    tracks.erase(tracks.begin() + static_cast<std::ptrdiff_t>(kept), tracks.end());
    for (size_t column : sure) {
      if (seen[column].confidence < least + kStartMore) continue;
      tracks.emplace_back(seen[column].box, f);
      if (f > 0) continue;
      tracks.back().state = State::kTracked;
      tracks.back().id = ++names;
      result[f].push_back({names, tracks.back().box()});
    }
  }
  return result;
}

}  // namespace dvnn::test
