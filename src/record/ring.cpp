// SPDX-License-Identifier: Apache-2.0
#include "record/ring.h"

#include <algorithm>
#include <utility>

namespace dvnn::record {

bool Memory::make_room(uint64_t bytes) {
  while (used_ + bytes > most_) {
    const auto largest =
        std::max_element(rings_.begin(), rings_.end(),
                         [](const Ring* a, const Ring* b) { return a->bytes() < b->bytes(); });
    if (largest == rings_.end() || !(*largest)->drop_oldest()) return false;
  }
  return true;
}

Ring::Ring(std::shared_ptr<Memory> memory, size_t tracks)
    : memory_(std::move(memory)), tracks_(tracks) {
  const std::lock_guard<std::mutex> lock(memory_->mutex);
  memory_->rings_.push_back(this);
}

Ring::~Ring() {
  const std::lock_guard<std::mutex> lock(memory_->mutex);
  memory_->used_ -= bytes_;
  auto& rings = memory_->rings_;
  rings.erase(std::find(rings.begin(), rings.end(), this));
}

bool Ring::add(size_t track, Unit unit) {
  const uint64_t cost = unit.bytes + kUnitBytes;
  if (track == kVideo && needs_key_ && !unit.key) return false;
  if (!memory_->make_room(cost)) {
    if (track == kVideo) needs_key_ = true;
    return false;
  }
  // Making room may have taken the group to which the unit belongs.
  if (track == kVideo && needs_key_ && !unit.key) return false;
  if (track == kVideo) needs_key_ = false;
  tracks_[track].units.push_back(std::move(unit));
  bytes_ += cost;
  memory_->used_ += cost;
  return true;
}

void Ring::pop(Track* track) {
  const uint64_t cost = track->units.front().bytes + kUnitBytes;
  track->units.pop_front();
  ++track->first;
  bytes_ -= cost;
  memory_->used_ -= cost;
}

// Returns the number of units in the video's first group.
size_t Ring::group_units() const {
  const auto& units = tracks_[kVideo].units;
  size_t count = 1;
  while (count < units.size() && !units[count].key) ++count;
  return std::min(count, units.size());
}

// Other tracks reach as far back as the video.
void Ring::trim_others() {
  const auto& video = tracks_[kVideo].units;
  if (video.empty()) return;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    Track& track = tracks_[i];
    while (i != kVideo && !track.units.empty() && track.units.front().time < video.front().decode) {
      pop(&track);
    }
  }
}

void Ring::trim(Time floor) {
  Track& video = tracks_[kVideo];
  while (true) {
    const size_t group = group_units();
    if (group >= video.units.size() || video.units[group].time > floor) break;
    const uint64_t next = video.first + group;
    if (std::any_of(readers_.begin(), readers_.end(),
                    [&](const auto& reader) { return reader->next[kVideo] < next; })) {
      break;
    }
    for (size_t i = 0; i < group; ++i) pop(&video);
  }
  trim_others();
}

bool Ring::drop_oldest() {
  Track& video = tracks_[kVideo];
  if (!video.units.empty()) {
    for (size_t left = group_units(); left > 0; --left) pop(&video);
    if (video.units.empty()) needs_key_ = true;
    trim_others();
    return true;
  }
  for (Track& track : tracks_) {
    if (track.units.empty()) continue;
    pop(&track);
    return true;
  }
  return false;
}

// Returns the index of the key unit at which a clip of an event begins; none without one.
std::optional<size_t> Ring::key_for(Time want, Time event, Time least) const {
  std::optional<size_t> best, first_within, last_before, first;
  const auto& units = tracks_[kVideo].units;
  for (size_t i = 0; i < units.size(); ++i) {
    if (!units[i].key) continue;
    const Time time = units[i].time;
    if (!first) first = i;
    if (time <= event) last_before = i;
    if (time < least) continue;
    if (time <= want) best = i;
    if (time <= event && !first_within) first_within = i;
  }
  if (best) return best;
  if (first_within) return first_within;
  return last_before ? last_before : first;
}

std::optional<Time> Ring::begin_time(Time want, Time event, Time least) const {
  const auto at = key_for(want, event, least);
  return at ? std::optional<Time>(tracks_[kVideo].units[*at].time) : std::nullopt;
}

std::optional<Time> Ring::key_before(Time time) const {
  const auto& units = tracks_[kVideo].units;
  const auto key = std::find_if(units.rbegin(), units.rend(),
                                [time](const Unit& unit) { return unit.key && unit.time <= time; });
  return key == units.rend() ? std::nullopt : std::optional<Time>(key->time);
}

Reader* Ring::begin(Time want, Time event, Time least) {
  const Track& video = tracks_[kVideo];
  const auto at = key_for(want, event, least);
  if (!at) return nullptr;
  auto reader = std::make_unique<Reader>();
  const Unit& key = video.units[*at];
  for (const Track& track : tracks_) {
    const auto begins = std::find_if(track.units.begin(), track.units.end(),
                                     [&](const Unit& unit) { return unit.time >= key.decode; });
    reader->next.push_back(track.first + static_cast<uint64_t>(begins - track.units.begin()));
  }
  reader->next[kVideo] = video.first + *at;
  readers_.push_back(std::move(reader));
  return readers_.back().get();
}

void Ring::end(Reader* reader) {
  readers_.erase(std::find_if(readers_.begin(), readers_.end(),
                              [&](const auto& one) { return one.get() == reader; }));
}

const Unit* Ring::peek(Reader* reader, Time limit, size_t* track) {
  const Unit* first = nullptr;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    const Track& one = tracks_[i];
    uint64_t& next = reader->next[i];
    if (next < one.first) {
      if (i == kVideo) reader->lost += one.first - next;
      next = one.first;
    }
    if (next >= one.end()) continue;
    const Unit& unit = one.units[next - one.first];
    if (unit.decode > limit || (first && first->decode <= unit.decode)) continue;
    first = &unit;
    *track = i;
  }
  return first;
}

uint64_t Ring::lost(const Reader& reader) const {
  const Track& video = tracks_[kVideo];
  return reader.lost + std::max(video.first, reader.next[kVideo]) - reader.next[kVideo];
}

}  // namespace dvnn::record
