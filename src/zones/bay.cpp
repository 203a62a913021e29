// SPDX-License-Identifier: Apache-2.0
#include "zones/bay.h"

#include <algorithm>
#include <limits>

namespace dvnn::zones {
namespace {

// Stays that a bay remembers of tracks that have left. Older ones, which held nothing, are
// forgotten.
constexpr size_t kMostStays = 256;

}  // namespace

void Bay::configure(Time occupied_after, Time free_after) {
  occupied_after_ = occupied_after;
  free_after_ = free_after;
}

// Returns the track's last stay.
Bay::Stay* Bay::find(uint64_t track) {
  const auto found = std::find_if(stays_.rbegin(), stays_.rend(),
                                  [&](const Stay& stay) { return stay.track == track; });
  return found == stays_.rend() ? nullptr : &*found;
}

void Bay::add(uint64_t track, const std::string& label, Time time, bool appears) {
  if (stays_.size() >= kMostStays) {
    const auto idle = std::find_if(stays_.begin(), stays_.end(), [&](const Stay& stay) {
      return !stay.inside && !has_stayed(stay);
    });
    if (idle != stays_.end()) stays_.erase(idle);
  }
  stays_.push_back({track, label, time, time, true, appears, false});
}

void Bay::enter(uint64_t track, const std::string& label, Time time, bool appears) {
  Stay* stay = find(track);
  if (!stay || time - stay->seen >= free_after_) return add(track, label, time, appears);
  stay->seen = std::max(stay->seen, time);
  stay->inside = true;
  stay->lost = false;
}

void Bay::see(uint64_t track, const std::string& label, Time time) {
  if (Stay* stay = find(track)) {
    stay->seen = std::max(stay->seen, time);
    return;
  }
  // Another track has taken over its stay, but it was not gone.
  add(track, label, time, false);
}

void Bay::leave(uint64_t track, Time time, bool lost) {
  Stay* stay = find(track);
  if (!stay) return;
  stay->seen = std::max(stay->seen, time);
  stay->inside = false;
  stay->lost = lost;
}

// Lets tracks that appeared in the bay go on with the stays of tracks that were lost there: they
// are the same object under another number.
void Bay::take_over(Time now) {
  for (size_t i = 0; i < stays_.size(); ++i) {
    if (!stays_[i].appeared) continue;
    stays_[i].appeared = false;
    size_t oldest = i;
    for (size_t k = 0; k < stays_.size(); ++k) {
      const bool lost = stays_[k].lost || (stays_[k].inside && stays_[k].seen < now);
      if (lost && stays_[i].since - stays_[k].seen < free_after_ &&
          stays_[k].since < stays_[oldest].since) {
        oldest = k;
      }
    }
    if (oldest == i) continue;
    stays_[i].since = stays_[oldest].since;
    stays_.erase(stays_.begin() + static_cast<ptrdiff_t>(oldest));
    if (oldest < i) --i;
  }
}

bool Bay::become_occupied(std::vector<BayChange>* changes) {
  const Stay* first = nullptr;
  for (const Stay& stay : stays_) {
    if (has_stayed(stay) && (!first || stay.since < first->since)) first = &stay;
  }
  if (!first) return false;
  occupied_ = true;
  since_ = first->since;
  changes->push_back({true, first->since + occupied_after_, first->since, occupied_after_,
                      first->track, first->label});
  return true;
}

// Follows who holds the bay one after the other, up to the end of the last stay.
bool Bay::become_free(Time now, std::vector<BayChange>* changes) {
  std::vector<const Stay*> holders;
  for (const Stay& stay : stays_) {
    if (has_stayed(stay)) holders.push_back(&stay);
  }
  std::sort(holders.begin(), holders.end(),
            [](const Stay* a, const Stay* b) { return a->since < b->since; });
  Time left = std::numeric_limits<Time>::min();
  for (const Stay* stay : holders) {
    const bool in_time = left == std::numeric_limits<Time>::min() ||
                         stay->since + occupied_after_ <= left + free_after_;
    if (!in_time) break;
    if (stay->inside) return false;
    left = std::max(left, stay->seen);
  }
  if (holders.empty()) left = now - free_after_;  // cannot be, but a bay must not stay occupied
  if (now - left < free_after_) return false;
  occupied_ = false;
  changes->push_back({false, left + free_after_, left, std::max<Time>(0, left - *since_), 0, ""});
  since_ = left;
  // Those that held it have gone; later ones may occupy it anew.
  stays_.erase(std::remove_if(stays_.begin(), stays_.end(),
                              [&](const Stay& stay) { return !stay.inside && stay.seen <= left; }),
               stays_.end());
  return true;
}

void Bay::watch(Time now, std::vector<BayChange>* changes) {
  if (jumped_ && occupied_) {
    stays_.push_back({0, "", now - occupied_after_, now, false, false, true});
    since_ = now - occupied_after_;
  }
  jumped_ = false;
  take_over(now);
  while (occupied_ ? become_free(now, changes) : become_occupied(changes)) {
  }
  stays_.erase(std::remove_if(stays_.begin(), stays_.end(),
                              [&](const Stay& stay) {
                                return !stay.inside && now - stay.seen >= free_after_;
                              }),
               stays_.end());
}

void Bay::jump() {
  stays_.clear();
  jumped_ = true;
}

}  // namespace dvnn::zones
