// SPDX-License-Identifier: Apache-2.0
#include "evaluate/thresholds.h"

#include <algorithm>
#include <cmath>

namespace dvnn::evaluate {
namespace {

constexpr int kHalf = 0;  // index of the overlap 0.5

bool counts(const Judged& found) {
  return !(found.ignored[kAll] & 1U << kHalf);
}

bool is_right(const Judged& found) {
  return found.right[kAll] & 1U << kHalf;
}

// Returns a number with few digits, easy to read and type, that is larger than `below` and at most
// `score`.
double between(double score, double below) {
  constexpr int kMostDigits = 7;
  const double middle = (score + below) / 2;
  double scale = 100;
  for (int digits = 2; digits <= kMostDigits; ++digits, scale *= 10) {
    const double rounded = std::round(middle * scale) / scale;
    if (rounded > below && rounded <= score) return rounded;
  }
  return score;
}

// Calls visit(operation) for each threshold that changes the result, from the highest one down.
template <typename Visit>
void for_each_operation(const ClassJudgement& of, Visit visit) {
  Operation now;
  now.missed = of.count(kAll);
  for (size_t i = 0; i < of.found.size(); ++i) {
    if (counts(of.found[i])) {
      const bool right = is_right(of.found[i]);
      now.right += right;
      now.missed -= right;
      now.wrong += !right;
    }
    const bool last = i + 1 == of.found.size();
    const double below = last ? 0 : of.found[i + 1].score;
    if (!last && below == of.found[i].score) continue;
    now.threshold = between(of.found[i].score, below);
    visit(now);
  }
}

}  // namespace

double Operation::precision() const {
  const uint64_t found = right + wrong;
  return found == 0 ? 0 : static_cast<double>(right) / static_cast<double>(found);
}

double Operation::recall() const {
  const uint64_t wanted = right + missed;
  return wanted == 0 ? 0 : static_cast<double>(right) / static_cast<double>(wanted);
}

double Operation::f1() const {
  const uint64_t all = 2 * right + wrong + missed;
  return all == 0 ? 0 : 2 * static_cast<double>(right) / static_cast<double>(all);
}

Operation operation_at(const ClassJudgement& of, double threshold) {
  Operation operation;
  operation.threshold = threshold;
  operation.missed = of.count(kAll);
  for (const Judged& found : of.found) {
    if (found.score < threshold || !counts(found)) continue;
    const bool right = is_right(found);
    operation.right += right;
    operation.missed -= right;
    operation.wrong += !right;
  }
  return operation;
}

Operation best_operation(const ClassJudgement& of) {
  Operation best;
  best.missed = of.count(kAll);
  for_each_operation(of, [&](const Operation& now) {
    if (now.f1() > best.f1()) best = now;
  });
  return best;
}

Chosen operation_of_precision(const ClassJudgement& of, double wanted) {
  Chosen chosen;
  chosen.operation.missed = of.count(kAll);
  double highest = 0;
  for_each_operation(of, [&](const Operation& now) {
    const double bound = lower_bound_of_share(static_cast<double>(now.right),
                                              static_cast<double>(now.right + now.wrong));
    const bool reached = bound >= wanted;
    if (reached || (!chosen.reached && bound > highest)) chosen = {now, reached};
    highest = std::max(highest, bound);
  });
  return chosen;
}

double lower_bound_of_share(double right, double all) {
  if (all <= 0) return 0;
  constexpr double kDeviations = 1.6448536269514722;  // standard normal quantile of 95 %
  const double share = right / all, square = kDeviations * kDeviations;
  const double middle = share + square / (2 * all);
  const double width =
      kDeviations * std::sqrt(share * (1 - share) / all + square / (4 * all * all));
  return std::max(0.0, (middle - width) / (1 + square / all));
}

}  // namespace dvnn::evaluate
