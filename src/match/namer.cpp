// SPDX-License-Identifier: Apache-2.0
#include "match/namer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agree/votes.h"
#include "match/gallery.h"

namespace dvnn::match {
namespace {

// Expected cosine of the mean to that of endlessly many looks from which on its looks agree.
constexpr double kSure = 0.9;
constexpr size_t kMostTracks = 10000;
// A track with a name is a stranger only that far below the threshold: names do not flicker.
constexpr double kHold = 0.1;

}  // namespace

// Takes a look. Returns whether it is a new one.
bool Namer::take(const Look& look, Track* track) const {
  const bool is_same =
      look.embedding.size() == track->last.size() &&
      std::equal(look.embedding.begin(), look.embedding.end(), track->last.begin());
  const bool is_agreed_now = look.looks > 0 && look.agreed && !track->sure;
  if (is_same && !is_agreed_now) return false;
  track->last.assign(look.embedding.begin(), look.embedding.end());
  std::vector<float> unit = track->last;
  if (!make_unit(&unit)) return false;
  const unsigned wanted = std::max(1u, rules_.looks);
  if (look.looks > 0) {
    track->unit = std::move(unit);
    track->looks = look.looks;
    track->sure = look.agreed || look.looks >= std::max(wanted, agree::kMostLooks);
    return true;
  }
  if (track->unit.size() != unit.size()) track->looks = 0;
  track->mean.add(unit);
  track->unit = track->mean.value();
  if (!make_unit(&track->unit)) return false;
  ++track->looks;
  track->sure = track->looks >= wanted &&
                (wanted == 1 || track->mean.cosine() >= kSure || track->looks >= agree::kMostLooks);
  return true;
}

void Namer::decide_stranger(double threshold, Track* track) {
  if (!track->sure || track->identity.stranger > 0) return;
  const auto sight = keeper_->see_stranger(track->unit, threshold);
  if (!sight) return;
  track->identity = {"", sight->number, static_cast<float>(sight->likeness), true};
  track->before = sight->before;
}

void Namer::decide(Track* track) {
  const uint64_t changes = keeper_->changes();
  const auto gallery = keeper_->gallery();
  objects::Identity& identity = track->identity;
  if (track->changes != changes) {
    track->changes = changes;
    // Who was forgotten is not told any more.
    const bool is_there = identity.name.empty() ? keeper_->has_stranger(identity.stranger)
                                                : gallery->find(identity.name) != nullptr;
    if (!is_there) identity = {};
  }
  if (!gallery->people.empty() && gallery->length != track->unit.size()) {
    mismatch_ = {track->unit.size(), gallery->length};
    return;
  }
  const double threshold =
      rules_.threshold >= 0 ? rules_.threshold : gallery->threshold.value_or(kUsualThreshold);
  const double margin = rules_.margin >= 0 ? rules_.margin : gallery->margin.value_or(kUsualMargin);
  const Best best = find_best(*gallery, track->unit);
  const bool is_held = identity.agreed && !identity.name.empty();
  if (!best.first || best.likeness < threshold) {
    if (best.first && is_held && best.likeness >= threshold - kHold) return;
    return decide_stranger(threshold, track);
  }
  const bool is_clear = !best.second || best.likeness - best.other >= margin;
  // Between two people nothing new is said.
  if (!is_clear) return;
  const bool is_same = identity.name == best.first->name;
  if (!track->sure && identity.agreed && !is_same) return;
  identity = {best.first->name, 0, static_cast<float>(best.likeness),
              track->sure || (identity.agreed && is_same)};
}

Told Namer::see(const Look& look, int64_t time) {
  if (look.embedding.size() == 0 && tracks_.count(look.track) == 0) return {};
  if (look.track == 0) {
    Track alone;
    if (!take(look, &alone)) return {};
    const bool sure = std::exchange(alone.sure, false);
    decide(&alone);
    alone.identity.agreed = sure && alone.identity.is_known();
    return {alone.identity, false, false};
  }
  if (tracks_.size() >= kMostTracks && tracks_.count(look.track) == 0) {
    const auto oldest = std::min_element(
        tracks_.begin(), tracks_.end(),
        [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
    tracks_.erase(oldest);
  }
  Track& track = tracks_[look.track];
  track.seen = time;
  const bool is_new = look.embedding.size() > 0 && take(look, &track);
  if (track.unit.empty()) return {};
  if (is_new || track.changes != keeper_->changes()) decide(&track);
  Told told{track.identity, false, track.before};
  const objects::Identity& now = track.identity;
  if (now.agreed && now.is_known() &&
      (now.name != track.told_name || now.stranger != track.told_stranger)) {
    track.told_name = now.name;
    track.told_stranger = now.stranger;
    told.is_news = true;
  }
  return told;
}

std::vector<float> Namer::mean_of(uint64_t track) const {
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? std::vector<float>() : found->second.unit;
}

uint64_t Namer::stranger_of(uint64_t track) const {
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? 0 : found->second.identity.stranger;
}

void Namer::forget_before(int64_t time) {
  for (auto track = tracks_.begin(); track != tracks_.end();) {
    track = track->second.seen < time ? tracks_.erase(track) : std::next(track);
  }
}

}  // namespace dvnn::match
