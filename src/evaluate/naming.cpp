// SPDX-License-Identifier: Apache-2.0
#include "evaluate/naming.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "evaluate/thresholds.h"

namespace dvnn::evaluate {
namespace {

constexpr double kMargins[] = {0, 0.02, 0.05, 0.1};
// Thresholds are whole hundredths, which people can read.
constexpr int kSteps = 100;

std::vector<float> unit_of(const std::vector<float>& embedding) {
  double sum = 0;
  for (const float value : embedding) sum += double{value} * double{value};
  std::vector<float> unit = embedding;
  for (float& value : unit) value = static_cast<float>(double{value} / std::sqrt(sum));
  return unit;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr size_t kLanes = 8;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double all = 0;
  for (; i < a.size(); ++i) all += double{a[i]} * double{b[i]};
  for (const float sum : sums) all += double{sum};
  return all;
}

bool is_accepted(double best, double next, double threshold, double margin) {
  return best > -2 && best >= threshold && (next <= -2 || best - next >= margin);
}

uint64_t mistakes_of(const NamingFigures& of) {
  return of.accepts.count + of.wrong.count;
}

double bound_of(const NamingFigures& of) {
  return std::max(of.accepts.most(), of.wrong.most());
}

// Compares by what is asked for first: that mistakes are rare, then that few are rejected.
struct Candidate {
  NamingFigures figures;
  int step = 0;

  bool is_better(const Candidate& other, double most_accepts) const {
    const auto rank = [&](const Candidate& of) {
      const bool reached = bound_of(of.figures) <= most_accepts;
      return std::pair(reached ? 0 : 1, reached ? 0 : mistakes_of(of.figures));
    };
    if (rank(*this) != rank(other)) return rank(*this) < rank(other);
    return figures.rejects.count < other.figures.rejects.count;
  }
};

// Returns the best threshold for a margin.
Candidate best_of_margin(const std::vector<NamingTrial>& trials, double margin,
                         double most_accepts) {
  std::vector<Candidate> all;
  for (int step = 0; step <= kSteps; ++step) {
    all.push_back({naming_at(trials, static_cast<double>(step) / kSteps, margin), step});
  }
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].is_better(all[best], most_accepts)) best = i;
  }
  size_t last = best;
  while (last + 1 < all.size() && !all[last + 1].is_better(all[best], most_accepts) &&
         !all[best].is_better(all[last + 1], most_accepts)) {
    ++last;
  }
  // Rounded towards the stricter side.
  return all[(best + last + 1) / 2];
}

}  // namespace

double CountedShare::least() const {
  return of > 0 ? lower_bound_of_share(static_cast<double>(count), static_cast<double>(of)) : 0;
}

double CountedShare::most() const {
  if (of == 0) return 1;
  return 1 - lower_bound_of_share(static_cast<double>(of - count), static_cast<double>(of));
}

std::vector<NamingTrial> try_names(const std::vector<std::vector<float>>& embeddings,
                                   const std::vector<int>& people) {
  std::vector<std::vector<float>> units;
  for (const auto& embedding : embeddings) units.push_back(unit_of(embedding));
  std::vector<NamingTrial> trials(units.size());
  std::map<int, double> best;  // by person
  for (size_t i = 0; i < units.size(); ++i) {
    best.clear();
    for (size_t j = 0; j < units.size(); ++j) {
      if (i == j) continue;
      const double likeness = dot(units[i], units[j]);
      const auto [place, is_new] = best.try_emplace(people[j], likeness);
      if (!is_new) place->second = std::max(place->second, likeness);
    }
    NamingTrial& trial = trials[i];
    for (const auto& [person, likeness] : best) {
      if (person == people[i]) {
        trial.own = likeness;
      } else if (likeness > trial.other) {
        trial.next = std::exchange(trial.other, likeness);
      } else {
        trial.next = std::max(trial.next, likeness);
      }
    }
  }
  return trials;
}

NamingFigures naming_at(const std::vector<NamingTrial>& trials, double threshold, double margin) {
  NamingFigures figures;
  figures.threshold = threshold;
  figures.margin = margin;
  for (const NamingTrial& trial : trials) {
    if (trial.own > -2) {
      const bool right = is_accepted(trial.own, trial.other, threshold, margin);
      const bool wrong =
          trial.other > trial.own &&
          is_accepted(trial.other, std::max(trial.own, trial.next), threshold, margin);
      ++figures.rejects.of;
      ++figures.wrong.of;
      if (wrong) {
        ++figures.wrong.count;
      } else if (!right) {
        ++figures.rejects.count;
      }
    }
    if (trial.other > -2) {
      ++figures.accepts.of;
      if (is_accepted(trial.other, trial.next, threshold, margin)) ++figures.accepts.count;
    }
  }
  return figures;
}

NamingProposal propose_naming(const std::vector<NamingTrial>& trials, double most_accepts) {
  Candidate best;
  bool has_any = false;
  for (const double margin : kMargins) {
    const Candidate one = best_of_margin(trials, margin, most_accepts);
    if (!has_any || one.is_better(best, most_accepts)) best = one;
    has_any = true;
  }
  return {best.figures, bound_of(best.figures) <= most_accepts};
}

}  // namespace dvnn::evaluate
