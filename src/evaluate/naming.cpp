// SPDX-License-Identifier: Apache-2.0
#include "evaluate/naming.h"

#include <algorithm>
#include <map>
#include <utility>

#include "evaluate/thresholds.h"
#include "match/gallery.h"

namespace dvnn::evaluate {
namespace {

constexpr double kMargins[] = {0, 0.02, 0.05, 0.1};
// Thresholds are whole hundredths, which people can read.
constexpr int kSteps = 100;

bool is_accepted(double best, double next, double threshold, double margin) {
  return best > -2 && best >= threshold && (next <= -2 || best - next >= margin);
}

uint64_t mistakes_of(const NamingFigures& of) {
  return of.accepts.count + of.wrong.count;
}

// A bound of what as many other pictures would show, by half of what these tell: the variances of
// both add up. What is proposed was chosen on these, too.
double bound_of(const NamingFigures& of) {
  const auto to_come = [](CountedShare share) {
    share.effect *= 2;
    return share.most();
  };
  return std::max(to_come(of.accepts), to_come(of.wrong));
}

// Counts a share by people.
class PeopleCount {
 public:
  void add(int person, bool counted) {
    CountedShare& of_person = people_[person];
    ++of_person.of;
    if (counted) ++of_person.count;
  }
  // The variance of the share as a ratio of sums over people, by that of independent pictures.
  CountedShare share() const {
    CountedShare all;
    for (const auto& [person, one] : people_) all.count += one.count, all.of += one.of;
    if (people_.size() < 2 || all.count == 0 || all.count == all.of) return all;
    const double share = all.share();
    double squares = 0;
    for (const auto& [person, one] : people_) {
      const double off = static_cast<double>(one.count) - share * static_cast<double>(one.of);
      squares += off * off;
    }
    const auto people = static_cast<double>(people_.size());
    const double independent = static_cast<double>(all.of) * share * (1 - share);
    all.effect = std::max(1.0, people / (people - 1) * squares / independent);
    return all;
  }

 private:
  std::map<int, CountedShare> people_;
};

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
  if (of == 0) return 0;
  return lower_bound_of_share(static_cast<double>(count) / effect,
                              static_cast<double>(of) / effect);
}

double CountedShare::most() const {
  if (of == 0) return 1;
  return 1 - lower_bound_of_share(static_cast<double>(of - count) / effect,
                                  static_cast<double>(of) / effect);
}

std::vector<NamingTrial> try_names(const std::vector<std::vector<float>>& embeddings,
                                   const std::vector<int>& people) {
  std::vector<std::vector<float>> units = embeddings;
  for (auto& unit : units) match::make_unit(&unit);
  std::vector<NamingTrial> trials(units.size());
  std::map<int, double> best;  // by person
  for (size_t i = 0; i < units.size(); ++i) {
    best.clear();
    for (size_t j = 0; j < units.size(); ++j) {
      if (i == j) continue;
      const double likeness = match::cosine(units[i].data(), units[j].data(), units[i].size());
      const auto [place, is_new] = best.try_emplace(people[j], likeness);
      if (!is_new) place->second = std::max(place->second, likeness);
    }
    NamingTrial& trial = trials[i];
    trial.person = people[i];
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
  PeopleCount rejects, wrongs, accepts;
  for (const NamingTrial& trial : trials) {
    if (trial.own > -2) {
      const bool right = is_accepted(trial.own, trial.other, threshold, margin);
      const bool wrong =
          trial.other > trial.own &&
          is_accepted(trial.other, std::max(trial.own, trial.next), threshold, margin);
      rejects.add(trial.person, !right && !wrong);
      wrongs.add(trial.person, wrong);
    }
    if (trial.other > -2) {
      accepts.add(trial.person, is_accepted(trial.other, trial.next, threshold, margin));
    }
  }
  return {threshold, margin, rejects.share(), wrongs.share(), accepts.share()};
}

NamingProposal propose_naming(const std::vector<NamingTrial>& trials, double most_accepts) {
  Candidate best;
  bool has_any = false;
  for (const double margin : kMargins) {
    const Candidate one = best_of_margin(trials, margin, most_accepts);
    if (!has_any || one.is_better(best, most_accepts)) best = one;
    has_any = true;
  }
  const double bound = bound_of(best.figures);
  return {best.figures, bound, bound <= most_accepts};
}

}  // namespace dvnn::evaluate
