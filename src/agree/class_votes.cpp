// SPDX-License-Identifier: Apache-2.0
#include "agree/class_votes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace dvnn::agree {
namespace {

// Three or four sure looks turn a class over, however long it was another one.
constexpr double kMostLogOdds = 7;
// Confidences are rounded, so a sum may be a little above 1.
constexpr double kWhole = 1.001;
constexpr double kUnnamed = 0.25;
// Libraries of users may name any number of classes.
constexpr size_t kMostClasses = 1024;

double bounded(double log_odds) {
  return std::clamp(log_odds, -kMostLogOdds, kMostLogOdds);
}

}  // namespace

void ClassVotes::add(const std::vector<Named>& named) {
  if (named.empty()) return;
  double sum = 0;
  for (const Named& one : named) sum += std::max(0.0, one.confidence);
  if (!(sum <= kWhole)) exclusive_ = false;
  const double rest = log_odds(exclusive_ ? std::min(probability_of(1 - sum), 0.5) : kUnnamed);
  for (Vote& vote : votes_) {
    const auto is_it = [&](const Named& one) { return one.class_id == vote.named.class_id; };
    const auto one = std::find_if(named.begin(), named.end(), is_it);
    const double step = one != named.end() ? log_odds(probability_of(one->confidence)) : rest;
    vote.log_odds = bounded(vote.log_odds + step);
    if (one != named.end()) vote.named.label = one->label;
  }
  for (const Named& one : named) {
    const auto is_it = [&](const Vote& vote) { return vote.named.class_id == one.class_id; };
    if (std::any_of(votes_.begin(), votes_.end(), is_it)) continue;
    if (votes_.size() == kMostClasses) break;
    const double all = missed_ + log_odds(probability_of(one.confidence));
    votes_.push_back({{one.class_id, one.label, 0}, bounded(all)});
  }
  missed_ = bounded(missed_ + rest);
}

void ClassVotes::fade() {
  const double most = log_odds(kMostConfidence);
  for (Vote& vote : votes_) vote.log_odds = std::clamp(vote.log_odds, -most, most);
  missed_ = std::max(missed_, -most);
}

std::vector<ClassVotes::Vote> ClassVotes::ranked() const {
  std::vector<Vote> votes = votes_;
  std::stable_sort(votes.begin(), votes.end(),
                   [](const Vote& a, const Vote& b) { return a.log_odds > b.log_odds; });
  return votes;
}

std::vector<ClassVotes::Named> ClassVotes::result() const {
  std::vector<Named> classes;
  for (const Vote& vote : ranked()) {
    const bool wanted = exclusive_ ? classes.empty() : vote.log_odds > 0;
    if (!wanted) break;
    classes.push_back(vote.named);
    classes.back().confidence = probability_at(vote.log_odds);
  }
  return classes;
}

double ClassVotes::probability() const {
  if (votes_.empty()) return 0;
  if (exclusive_) return probability_at(ranked().front().log_odds);
  double least = std::numeric_limits<double>::infinity();
  for (const Vote& vote : votes_) least = std::min(least, std::abs(vote.log_odds));
  return probability_at(least);
}

}  // namespace dvnn::agree
