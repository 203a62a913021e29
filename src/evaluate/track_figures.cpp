// SPDX-License-Identifier: Apache-2.0
#include "evaluate/track_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace dvnn::evaluate::tracks {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kLeastOverlap = 0.5;  // of CLEAR MOT, of identities, and of what is ignored

double shared_area(const Box& a, const Box& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  return width > 0 && height > 0 ? width * height : 0;
}

double alpha_of(int i) {
  return 0.05 * (i + 1);
}

// Ids as indices.
class Names {
 public:
  int operator()(long id) {
    return known_.emplace(id, static_cast<int>(known_.size())).first->second;
  }
  size_t size() const { return known_.size(); }

 private:
  std::unordered_map<long, int> known_;
};

// Two sequences of boxes with indices for ids, and the overlaps in each frame.
struct Compared {
  struct Frame {
    std::vector<int> truth, found;
    std::vector<double> overlaps;  // rows: truth
    double at(size_t row, size_t column) const { return overlaps[row * found.size() + column]; }
  };
  std::vector<Frame> frames;
  std::vector<long> truth_counts, found_counts;  // frames of each id

  Compared(const Frames& truth, const Frames& tracks) {
    Names truth_names, found_names;
    const std::vector<NamedBox> none;
    for (size_t i = 0; i < std::max(truth.size(), tracks.size()); ++i) {
      Frame frame;
      const auto& here = i < truth.size() ? truth[i] : none;
      const auto& there = i < tracks.size() ? tracks[i] : none;
      for (const NamedBox& box : here)
        frame.truth.push_back(count(truth_names(box.id), &truth_counts));
      for (const NamedBox& box : there)
        frame.found.push_back(count(found_names(box.id), &found_counts));
      for (const NamedBox& a : here) {
        for (const NamedBox& b : there) frame.overlaps.push_back(iou(a.box, b.box));
      }
      frames.push_back(std::move(frame));
    }
  }

 private:
  static int count(int name, std::vector<long>* counts) {
    if (static_cast<size_t>(name) >= counts->size()) counts->resize(static_cast<size_t>(name) + 1);
    ++(*counts)[static_cast<size_t>(name)];
    return name;
  }
};

using Pairs = std::map<std::pair<int, int>, double>;

void count_hota(const Compared& compared, Figures* figures) {
  // How much each pair of ids is one thing, over the whole sequence.
  Pairs alike;
  for (const Compared::Frame& frame : compared.frames) {
    const size_t columns = frame.found.size();
    std::vector<double> of_column(columns);
    for (size_t i = 0; i < frame.overlaps.size(); ++i) of_column[i % columns] += frame.overlaps[i];
    for (size_t row = 0; row < frame.truth.size(); ++row) {
      double of_row = 0;
      for (size_t column = 0; column < columns; ++column) of_row += frame.at(row, column);
      for (size_t column = 0; column < columns; ++column) {
        const double overlap = frame.at(row, column);
        if (overlap > 0)
          alike[{frame.truth[row], frame.found[column]}] +=
              overlap / (of_row + of_column[column] - overlap);
      }
    }
  }
  std::vector<std::map<std::pair<int, int>, long>> together(Figures::kAlphas);
  for (const Compared::Frame& frame : compared.frames) {
    std::vector<double> weights(frame.overlaps.size());
    for (size_t row = 0, i = 0; row < frame.truth.size(); ++row) {
      for (size_t column = 0; column < frame.found.size(); ++column, ++i) {
        if (frame.overlaps[i] <= 0) continue;
        const int a = frame.truth[row], b = frame.found[column];
        const double sum = alike.at({a, b});
        const auto both = static_cast<double>(compared.truth_counts[static_cast<size_t>(a)] +
                                              compared.found_counts[static_cast<size_t>(b)]);
        weights[i] = sum / (both - sum) * frame.overlaps[i];
      }
    }
    const std::vector<int> pairs = heaviest_pairs(frame.truth.size(), frame.found.size(), weights);
    for (size_t row = 0; row < pairs.size(); ++row) {
      if (pairs[row] < 0) continue;
      const auto column = static_cast<size_t>(pairs[row]);
      for (int i = 0; i < Figures::kAlphas; ++i) {
        if (frame.at(row, column) < alpha_of(i) - kEpsilon) continue;
        ++figures->hits[i];
        figures->located[i] += frame.at(row, column);
        ++together[static_cast<size_t>(i)][{frame.truth[row], frame.found[column]}];
      }
    }
  }
  for (int i = 0; i < Figures::kAlphas; ++i) {
    for (const auto& [pair, count] : together[static_cast<size_t>(i)]) {
      const long either = compared.truth_counts[static_cast<size_t>(pair.first)] +
                          compared.found_counts[static_cast<size_t>(pair.second)] - count;
      figures->associated[i] += static_cast<double>(count * count) / static_cast<double>(either);
    }
  }
}

void count_clear(const Compared& compared, Figures* figures) {
  constexpr int kNobody = -1;
  const size_t things = compared.truth_counts.size();
  std::vector<int> before(things, kNobody), last(things, kNobody);
  for (const Compared::Frame& frame : compared.frames) {
    // Pairs of the frame before stay while they overlap enough.
    std::vector<double> weights(frame.overlaps.size());
    for (size_t row = 0, i = 0; row < frame.truth.size(); ++row) {
      for (size_t column = 0; column < frame.found.size(); ++column, ++i) {
        if (frame.overlaps[i] < kLeastOverlap - kEpsilon) continue;
        const bool kept = before[static_cast<size_t>(frame.truth[row])] == frame.found[column];
        weights[i] = frame.overlaps[i] + (kept ? 1000 : 0);
      }
    }
    std::vector<int> now(things, kNobody);
    const std::vector<int> pairs = heaviest_pairs(frame.truth.size(), frame.found.size(), weights);
    for (size_t row = 0; row < pairs.size(); ++row) {
      if (pairs[row] < 0) continue;
      const auto thing = static_cast<size_t>(frame.truth[row]);
      const int name = frame.found[static_cast<size_t>(pairs[row])];
      now[thing] = name;
      ++figures->matches;
      figures->switches += last[thing] != kNobody && last[thing] != name;
      figures->fragments += last[thing] != kNobody && before[thing] == kNobody;
      last[thing] = name;
    }
    before = now;
  }
}

// Each true thing is one track, so that together they share the most frames.
void count_identities(const Compared& compared, Figures* figures) {
  const size_t rows = compared.truth_counts.size(), columns = compared.found_counts.size();
  std::vector<double> weights(rows * columns);
  for (const Compared::Frame& frame : compared.frames) {
    for (size_t row = 0, i = 0; row < frame.truth.size(); ++row) {
      for (size_t column = 0; column < frame.found.size(); ++column, ++i) {
        if (frame.overlaps[i] >= kLeastOverlap)
          ++weights[static_cast<size_t>(frame.truth[row]) * columns +
                    static_cast<size_t>(frame.found[column])];
      }
    }
  }
  const std::vector<int> pairs = heaviest_pairs(rows, columns, weights);
  for (size_t row = 0; row < rows; ++row) {
    if (pairs[row] >= 0)
      figures->identity_matches +=
          std::lround(weights[row * columns + static_cast<size_t>(pairs[row])]);
  }
}

double ratio(double a, double b) {
  return a / std::max(b, 1.0);
}

}  // namespace

double area_of(const Box& box) {
  return std::max(0.0, box.x1 - box.x0) * std::max(0.0, box.y1 - box.y0);
}

double iou(const Box& a, const Box& b) {
  const double shared = shared_area(a, b);
  return shared > 0 ? shared / (area_of(a) + area_of(b) - shared) : 0;
}

// The Hungarian method, with prices of rows and columns, on the fewer side's rows.
std::vector<int> heaviest_pairs(size_t rows, size_t columns, const std::vector<double>& weights) {
  std::vector<int> result(rows, -1);
  const bool turned = rows > columns;
  const size_t n = turned ? columns : rows, m = turned ? rows : columns;
  const auto cost = [&](size_t i, size_t j) {
    return -std::max(0.0, turned ? weights[j * columns + i] : weights[i * columns + j]);
  };
  std::vector<double> u(n + 1), v(m + 1);
  std::vector<size_t> owner(m + 1), way(m + 1);
  for (size_t i = 1; i <= n; ++i) {
    owner[0] = i;
    size_t at = 0;
    std::vector<double> least(m + 1, std::numeric_limits<double>::infinity());
    std::vector<char> done(m + 1);
    do {
      done[at] = 1;
      const size_t row = owner[at];
      double delta = std::numeric_limits<double>::infinity();
      size_t next = 0;
      for (size_t j = 1; j <= m; ++j) {
        if (done[j]) continue;
        const double now = cost(row - 1, j - 1) - u[row] - v[j];
        if (now < least[j]) {
          least[j] = now;
          way[j] = at;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (size_t j = 0; j <= m; ++j) {
        if (done[j]) {
          u[owner[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      at = next;
    } while (owner[at] != 0);
    while (at != 0) {
      owner[at] = owner[way[at]];
      at = way[at];
    }
  }
  for (size_t j = 1; j <= m; ++j) {
    if (owner[j] == 0 || cost(owner[j] - 1, j - 1) == 0) continue;
    const size_t row = turned ? j - 1 : owner[j] - 1;
    result[row] = static_cast<int>(turned ? owner[j] - 1 : j - 1);
  }
  return result;
}

Frames counted(const Frames& truth, const Frames& tracks, const Ignored& ignored) {
  Frames result(tracks.size());
  for (size_t i = 0; i < tracks.size(); ++i) {
    std::vector<NamedBox> all = i < truth.size() ? truth[i] : std::vector<NamedBox>();
    const size_t things = all.size();
    if (i < ignored.things.size())
      all.insert(all.end(), ignored.things[i].begin(), ignored.things[i].end());
    const std::vector<NamedBox>& found = tracks[i];
    std::vector<double> weights;
    for (const NamedBox& a : all) {
      for (const NamedBox& b : found) {
        const double overlap = iou(a.box, b.box);
        weights.push_back(overlap < kLeastOverlap - kEpsilon ? 0 : overlap);
      }
    }
    const std::vector<int> pairs = heaviest_pairs(all.size(), found.size(), weights);
    std::vector<char> matched(found.size()), dropped(found.size());
    for (size_t row = 0; row < pairs.size(); ++row) {
      if (pairs[row] < 0) continue;
      matched[static_cast<size_t>(pairs[row])] = 1;
      if (row >= things) dropped[static_cast<size_t>(pairs[row])] = 1;
    }
    for (size_t k = 0; k < found.size(); ++k) {
      const Box& box = found[k].box;
      if (!matched[k] && box.y1 - box.y0 <= ignored.height + kEpsilon) dropped[k] = 1;
      if (!matched[k] && i < ignored.areas.size()) {
        for (const NamedBox& other : ignored.areas[i]) {
          if (shared_area(box, other.box) > (0.5 - kEpsilon) * area_of(box)) dropped[k] = 1;
        }
      }
      if (!dropped[k]) result[i].push_back(found[k]);
    }
  }
  return result;
}

void Figures::add(const Figures& other) {
  truths += other.truths;
  found += other.found;
  matches += other.matches;
  switches += other.switches;
  fragments += other.fragments;
  identity_matches += other.identity_matches;
  for (int i = 0; i < kAlphas; ++i) {
    located[i] += other.located[i];
    associated[i] += other.associated[i];
    hits[i] += other.hits[i];
  }
}

double Figures::mota() const {
  return ratio(static_cast<double>(matches - (found - matches) - switches),
               static_cast<double>(truths));
}

double Figures::idf1() const {
  return ratio(2.0 * static_cast<double>(identity_matches), static_cast<double>(truths + found));
}

double Figures::det_a() const {
  double sum = 0;
  for (long hit : hits)
    sum += ratio(static_cast<double>(hit), static_cast<double>(truths + found - hit));
  return sum / kAlphas;
}

double Figures::ass_a() const {
  double sum = 0;
  for (int i = 0; i < kAlphas; ++i) sum += ratio(associated[i], static_cast<double>(hits[i]));
  return sum / kAlphas;
}

double Figures::loc_a() const {
  double sum = 0;
  for (int i = 0; i < kAlphas; ++i)
    sum += hits[i] > 0 ? located[i] / static_cast<double>(hits[i]) : 1;
  return sum / kAlphas;
}

double Figures::hota() const {
  double sum = 0;
  for (int i = 0; i < kAlphas; ++i) {
    const auto hit = static_cast<double>(hits[i]);
    sum += std::sqrt(ratio(hit, static_cast<double>(truths + found) - hit) *
                     ratio(associated[i], hit));
  }
  return sum / kAlphas;
}

Figures figures_of(const Frames& truth, const Frames& tracks) {
  Figures figures;
  for (const auto& frame : truth) figures.truths += static_cast<long>(frame.size());
  for (const auto& frame : tracks) figures.found += static_cast<long>(frame.size());
  const Compared compared(truth, tracks);
  count_hota(compared, &figures);
  count_clear(compared, &figures);
  count_identities(compared, &figures);
  return figures;
}

}  // namespace dvnn::evaluate::tracks

namespace dvnn::evaluate {
namespace {

tracks::Box corners_of(const Box& box) {
  return {box.x, box.y, box.x + box.width, box.y + box.height};
}

tracks::Figures judge_one(const DataSet& data, const FollowedByPicture& followed,
                          const Sequence& sequence, int class_id) {
  tracks::Frames truth(sequence.count), found(sequence.count), all;
  tracks::Ignored ignored;
  ignored.things.resize(sequence.count);
  for (size_t i = 0; i < sequence.count; ++i) {
    for (const Truth& one : data.pictures[sequence.first + i].truths) {
      if (one.class_id != class_id) continue;
      (one.ignored ? ignored.things[i] : truth[i])
          .push_back({static_cast<long>(one.track), corners_of(one.box)});
    }
    for (const Followed& one : followed[sequence.first + i]) {
      if (one.class_id == class_id)
        found[i].push_back({static_cast<long>(one.track), corners_of(one.box)});
    }
  }
  // A track that fits another thing better than an ignored one counts.
  all = truth;
  for (size_t i = 0; i < sequence.others.size(); ++i) {
    for (const Box& box : sequence.others[i]) all[i].push_back({0, corners_of(box)});
  }
  return figures_of(truth, counted(all, found, ignored));
}

}  // namespace

std::vector<SequenceFigures> judge_tracks(const DataSet& data, const FollowedByPicture& followed,
                                          const std::vector<bool>& known) {
  std::vector<SequenceFigures> judged;
  for (size_t s = 0; s < data.sequences.size(); ++s) {
    for (size_t c = 0; c < data.classes.size(); ++c) {
      if (!known[c]) continue;
      const int class_id = static_cast<int>(c);
      judged.push_back({s, class_id, judge_one(data, followed, data.sequences[s], class_id)});
    }
  }
  return judged;
}

}  // namespace dvnn::evaluate
