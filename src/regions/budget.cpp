// SPDX-License-Identifier: Apache-2.0
#include "regions/budget.h"

#include <algorithm>

namespace dvnn::regions {
namespace {

constexpr double kGrown = 1.2;
constexpr double kSecond = 1e9;
constexpr Time kForgotten = Time{10} * 1000000000;  // time unseen after which a track is forgotten

enum Rank { kNew, kChanged, kDue };

}  // namespace

void Budget::reset() {
  looks_.clear();
  undo_.clear();
  allowance_ = -1;
  spent_ = 0;
  any_settled_ = false;
}

void Budget::settle(uint64_t track, bool settled) {
  if (track == 0) return;
  const auto known = looks_.find(track);
  if (known != looks_.end()) {
    known->second.settled = settled;
  } else if (settled) {
    // Its size is that in the next frame: without limits, looks are not noted before.
    Look look;
    look.seen = last_;
    look.settled = true;
    looks_[track] = look;
  }
  any_settled_ = any_settled_ || settled;
}

// Adds the looks that max_rate allows since the last frame: at most those of a second, or one.
void Budget::refill(double max_rate, Time now) {
  const double most = std::max(1.0, max_rate);
  const double since = static_cast<double>(now - last_) / kSecond;
  allowance_ = allowance_ < 0 ? most : std::min(most, allowance_ + since * max_rate);
}

void Budget::forget_old(Time now) {
  for (auto look = looks_.begin(); look != looks_.end();) {
    look = now - look->second.seen > kForgotten ? looks_.erase(look) : std::next(look);
  }
}

void Budget::note(const Candidate& candidate, Time now) {
  if (candidate.track == 0) return;
  const auto known = looks_.find(candidate.track);
  undo_.push_back(
      {candidate.track, known != looks_.end(), known != looks_.end() ? known->second : Look()});
  looks_[candidate.track] = {
      now, ++turns_, candidate.box.x1 - candidate.box.x0, candidate.box.y1 - candidate.box.y0,
      now, false};
}

std::vector<size_t> Budget::choose(const BudgetRules& rules, Time now,
                                   Span<const Candidate> candidates) {
  if (now < last_) reset();
  undo_.clear();
  refill(rules.max_rate, now);
  last_ = now;
  std::vector<Ranked> ranked;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const auto known = candidate.track == 0 ? looks_.end() : looks_.find(candidate.track);
    if (known == looks_.end()) {
      ranked.push_back({i, kNew, 0});
      continue;
    }
    Look& look = known->second;
    look.seen = now;
    const double width = candidate.box.x1 - candidate.box.x0,
                 height = candidate.box.y1 - candidate.box.y0;
    if (look.settled && look.turn == 0 && look.width == 0) {
      look.width = width;
      look.height = height;
    }
    const double factor = look.settled ? kGrownAgain : kGrown;
    const bool grown = width >= factor * look.width || height >= factor * look.height;
    if (!grown && (look.settled || now - look.at < rules.refresh)) continue;
    ranked.push_back({i, grown ? kChanged : kDue, look.turn});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.turn < b.turn;
  });
  size_t most = ranked.size();
  if (rules.max_per_frame > 0) most = std::min(most, rules.max_per_frame);
  if (rules.max_rate > 0) most = std::min(most, static_cast<size_t>(allowance_));
  std::vector<size_t> chosen;
  for (size_t i = 0; i < most; ++i) {
    chosen.push_back(ranked[i].index);
    note(candidates[ranked[i].index], now);
  }
  spent_ = static_cast<double>(most);
  allowance_ -= spent_;
  forget_old(now);
  return chosen;
}

void Budget::withdraw() {
  // In reverse order, as a track may be there twice.
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
    if (undo->known) {
      looks_[undo->track] = undo->look;
    } else {
      looks_.erase(undo->track);
    }
  }
  undo_.clear();
  allowance_ += spent_;
  spent_ = 0;
}

}  // namespace dvnn::regions
