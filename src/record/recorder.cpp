// SPDX-License-Identifier: Apache-2.0
#include "record/recorder.h"

#include <algorithm>

namespace dvnn::record {
namespace {

using Lock = std::unique_lock<std::mutex>;

constexpr size_t kMostWaiting = 4096, kMostWaitingBytes = 4 << 20, kMostUnbegun = 1000;
constexpr Time kMostStep = kSecond / 2;
constexpr double kBetter = 1.1;  // a picture is worth its copy

}  // namespace

Recorder::Recorder(std::shared_ptr<Memory> memory, size_t tracks)
    : memory_(std::move(memory)), ring_(memory_, tracks), tracks_(tracks) {}

Recorder::~Recorder() {
  const Lock lock(memory_->mutex);
  for (const ClipPtr& clip : clips_) ring_.end(clip->reader_);
}

void Recorder::set_rules(const Rules& rules) {
  const Lock lock(memory_->mutex);
  rules_ = rules;
}

// --- streams -----------------------------------------------------------------------------------

void Recorder::expect(size_t track, bool expected) {
  const Lock lock(memory_->mutex);
  tracks_[track].expected = expected;
  tracks_[track].ended = false;
  tracks_[track].reached = video_at_;
  changed_.notify_all();
}

void Recorder::video(Unit unit, uint64_t flushes) {
  const Lock lock(memory_->mutex);
  if (flushes > 0) ring_.break_video();
  video_ended_ = false;
  const Place place = line_.lead(unit.decode, flushes);
  unit.time += place.time - unit.decode;
  unit.decode = std::max(place.time, video_at_);
  pass_time(unit.decode - video_at_);
  video_at_ = unit.decode;
  shown_at_ = unit.time;
  line_.reach(std::max(unit.time, unit.decode) + unit.duration);
  const bool key = unit.key;
  add(unit, Ring::kVideo);
  place_waiting();
  if (key) {
    retry_unbegun();
    ring_.trim(std::min(settled(), video_at_) - rules_.before - rules_.late);
  }
  advance();
}

// Moves the moment up to which followers may still come. A gap is no time for them: when a camera's
// clock is set, nothing has passed.
void Recorder::pass_time(Time step) {
  seen_ += std::min(step, kMostStep);
  recent_.emplace_back(seen_, video_at_ + step);
  while (recent_.front().first < seen_ - rules_.late) recent_.pop_front();
}

void Recorder::add(const Unit& unit, size_t track) {
  const bool decodable = track != Ring::kVideo || unit.key || !ring_.needs_key();
  if (ring_.add(track, unit)) return;
  ++(decodable ? losses_.refused : losses_.undecodable);
}

void Recorder::follow(size_t track, Unit unit, std::vector<Event> events) {
  const Lock lock(memory_->mutex);
  Waiting waiting;
  waiting.track = track;
  waiting.unit = std::move(unit);
  waiting.events = std::move(events);
  waiting.flushes = std::exchange(tracks_[track].flushes, 0);
  waiting.since = video_at_;
  waiting_bytes_ += waiting.unit.bytes;
  waiting_.push_back(std::move(waiting));
  place_waiting();
  advance();
}

void Recorder::flush(size_t track, uint64_t times) {
  const Lock lock(memory_->mutex);
  tracks_[track].flushes += times;
}

void Recorder::end_track(size_t track) {
  const Lock lock(memory_->mutex);
  if (track == Ring::kVideo) video_ended_ = true;
  tracks_[track].ended = true;
  advance();
}

// Places what waits, each track in its order, as far as the video has come.
void Recorder::place_waiting() {
  std::vector<bool> stuck(tracks_.size());
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const bool first = one == waiting_.begin();
    if (!stuck[one->track] && !place(&*one)) {
      const bool too_long = video_at_ - one->since > rules_.late + TimeLine::kGap;
      const bool too_much =
          first && (waiting_.size() > kMostWaiting || waiting_bytes_ > kMostWaitingBytes);
      if (too_long || too_much) {
        place_anyhow(&*one);
      } else {
        stuck[one->track] = true;
      }
    }
    if (stuck[one->track]) {
      ++one;
      continue;
    }
    waiting_bytes_ -= one->unit.bytes;
    one = waiting_.erase(one);
  }
}

bool Recorder::place(Waiting* waiting) {
  Follower& follower = tracks_[waiting->track].follower;
  follower.flush(std::exchange(waiting->flushes, 0));
  const auto place = follower.follow(line_, waiting->unit.time);
  if (place) take(*place, waiting);
  return place.has_value();
}

// The video has passed by without such a time: events count from now on, and data is lost.
void Recorder::place_anyhow(Waiting* waiting) {
  for (Event& event : waiting->events) {
    event.time = shown_at_;
    begin_or_extend(event, line_.empty() ? 0 : line_.begin(line_.last()));
  }
  if (waiting->unit.data) ++losses_.refused;
}

void Recorder::take(const Place& place, Waiting* waiting) {
  Track& track = tracks_[waiting->track];
  Unit& unit = waiting->unit;
  for (Event& event : waiting->events) {
    const Time time = event.time == kNoTime ? unit.time : event.time;
    const auto told = track.follower.place_told(line_, time, unit.time);
    event.time = told ? told->time : place.time;
    begin_or_extend(event, line_.begin(told ? told->stretch : place.stretch));
  }
  track.reached = place.time;
  unit.time = unit.decode = place.time;
  if (unit.data) add(unit, waiting->track);
}

// --- events ------------------------------------------------------------------------------------

void Recorder::add_event(Time time, std::shared_ptr<const void> data) {
  const Lock lock(memory_->mutex);
  Event event{shown_at_, std::move(data)};
  Time least = line_.empty() ? 0 : line_.begin(line_.last());
  for (uint64_t i = line_.size(); time != kNoTime && i-- > 0;) {
    const uint64_t stretch = line_.first() + i;
    if (!line_.holds(stretch, time)) continue;
    event.time = line_.line(stretch, time);
    least = line_.begin(stretch);
    break;
  }
  begin_or_extend(event, least);
  advance();
}

void Recorder::hold(bool held, std::shared_ptr<const void> data) {
  const Lock lock(memory_->mutex);
  if (held_ == held) return;
  held_ = held;
  if (held) {
    begin_or_extend({shown_at_, std::move(data)}, line_.empty() ? 0 : line_.begin(line_.last()));
  } else {
    for (const ClipPtr& clip : clips_) {
      if (clip->end_ >= kForever) clip->end_ = shown_at_ + rules_.after;
    }
  }
  advance();
}

// Adds an event to the clip that it overlaps, or begins one. `least`: where its stretch begins.
void Recorder::begin_or_extend(const Event& event, Time least) {
  const Time want = event.time - rules_.before;
  const Time begin = ring_.begin_time(want, event.time, least).value_or(want);
  for (const ClipPtr& clip : clips_) {
    if (clip->closed_ || event.time < clip->start_ || std::min(begin, want) > clip->end_) continue;
    clip->end_ = held_ ? kForever : std::max(clip->end_, event.time + rules_.after);
    clip->events_.push_back(event);
    return;
  }
  if (begin_clip(event, least)) return;
  if (unbegun_.size() < kMostUnbegun) {
    unbegun_.emplace_back(event, least);
  } else {
    ++losses_.missed;
  }
}

// Returns false if there is no unit at which a clip could begin.
bool Recorder::begin_clip(const Event& event, Time least) {
  Reader* reader = ring_.begin(event.time - rules_.before, event.time, least);
  size_t track = 0;
  const Unit* key = reader ? ring_.peek(reader, kForever, &track) : nullptr;
  if (!key) return false;
  if (key->time > event.time) ++losses_.missed;
  auto clip = std::make_shared<Clip>();
  clip->id = next_id_++;
  clip->start_ = key->time;
  clip->end_ = held_ ? kForever : event.time + rules_.after;
  clip->reader_ = reader;
  clip->events_.push_back(event);
  clips_.push_back(clip);
  if (begun && !begun(clip)) {
    ++losses_.missed;
    ring_.end(std::exchange(clip->reader_, nullptr));
    clips_.pop_back();
  }
  return true;
}

// Events that came before the first key unit.
void Recorder::retry_unbegun() {
  std::vector<std::pair<Event, Time>> events;
  events.swap(unbegun_);
  for (const auto& [event, least] : events) begin_or_extend(event, least);
}

// Returns until when all tracks have brought what they have, as far as they are waited for.
Time Recorder::settled() const {
  Time reached = video_ended_ ? kForever : video_at_;
  for (size_t i = 1; i < tracks_.size(); ++i) {
    if (tracks_[i].expected && !tracks_[i].ended) reached = std::min(reached, tracks_[i].reached);
  }
  // At the video's end its followers have all the time that they need to come there.
  const bool bounded = !video_ended_ && !recent_.empty();
  return bounded ? std::max(reached, recent_.front().second) : reached;
}

void Recorder::advance() {
  const Time now = settled() - rules_.before;
  for (const ClipPtr& clip : clips_) {
    if (clip->closed_ || clip->end_ >= kForever || now <= clip->end_) continue;
    // A clip of the next event would begin at this key unit.
    const auto key = ring_.key_before(now);
    clip->closed_ = !key || *key > clip->end_;
  }
  changed_.notify_all();
}

void Recorder::finish() {
  const Lock lock(memory_->mutex);
  video_ended_ = true;
  held_ = false;
  for (Track& track : tracks_) track.ended = true;
  while (!waiting_.empty()) {
    if (!place(&waiting_.front())) place_anyhow(&waiting_.front());
    waiting_.pop_front();
  }
  waiting_bytes_ = 0;
  losses_.missed += unbegun_.size();
  unbegun_.clear();
  for (const ClipPtr& clip : clips_) {
    clip->end_ = std::min(clip->end_, kForever - 1);
    clip->closed_ = true;
  }
  changed_.notify_all();
}

void Recorder::abandon() {
  const Lock lock(memory_->mutex);
  abandoned_ = true;
  changed_.notify_all();
}

// --- clips -------------------------------------------------------------------------------------

Step Recorder::next(Clip* clip, std::chrono::milliseconds wait, size_t* track, Unit* unit) {
  Lock lock(memory_->mutex);
  for (bool waited = false;; waited = true) {
    if (abandoned_) return Step::kEnd;
    const Time limit = std::min(settled(), clip->end_);
    const Unit* next = ring_.peek(clip->reader_, limit, track);
    if (next) {
      const bool key = *track == Ring::kVideo && next->key;
      const bool begins = clip->file_start_ == kForever;
      if (key && !begins &&
          (clip->cut_soon_ || next->format != clip->format_ ||
           next->time >= clip->file_start_ + rules_.longest)) {
        clip->cut_soon_ = false;
        clip->file_start_ = kForever;
        *unit = *next;
        return Step::kCut;
      }
      if (key && begins) {
        clip->file_start_ = next->time;
        clip->format_ = next->format;
      }
      *unit = *next;
      ring_.pass(clip->reader_, *track);
      return Step::kUnit;
    }
    if (clip->closed_ && limit == clip->end_) return Step::kEnd;
    if (waited) return Step::kNothing;
    if (wait.count() > 0) changed_.wait_for(lock, wait);
  }
}

void Recorder::cut_soon(Clip* clip) {
  const Lock lock(memory_->mutex);
  clip->cut_soon_ = true;
}

std::vector<Event> Recorder::take_events(Clip* clip, Time until) {
  const Lock lock(memory_->mutex);
  auto& events = clip->events_;
  const auto later = std::stable_partition(events.begin(), events.end(),
                                           [&](const Event& event) { return event.time < until; });
  std::vector<Event> taken(std::make_move_iterator(events.begin()), std::make_move_iterator(later));
  events.erase(events.begin(), later);
  std::stable_sort(taken.begin(), taken.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return taken;
}

uint64_t Recorder::lost(const Clip& clip) const {
  const Lock lock(memory_->mutex);
  return clip.reader_ ? ring_.lost(*clip.reader_) : 0;
}

std::shared_ptr<void> Recorder::take_picture(Clip* clip) {
  const Lock lock(memory_->mutex);
  clip->picture_score_ = -1;
  return std::exchange(clip->picture_, nullptr);
}

void Recorder::give_back(const ClipPtr& clip) {
  const Lock lock(memory_->mutex);
  if (!clip->reader_) return;
  losses_.unwritten += ring_.lost(*clip->reader_);
  ring_.end(std::exchange(clip->reader_, nullptr));
  clips_.remove(clip);
  changed_.notify_all();
}

void Recorder::offer_picture(double score, const std::function<std::shared_ptr<void>()>& make) {
  ClipPtr clip;
  {
    const Lock lock(memory_->mutex);
    for (const ClipPtr& one : clips_) {
      if (!one->closed_) clip = one;
    }
    if (!clip || (clip->picture_ && !(score > clip->picture_score_ * kBetter))) return;
  }
  std::shared_ptr<void> picture = make();
  if (!picture) return;
  const Lock lock(memory_->mutex);
  clip->picture_.swap(picture);
  clip->picture_score_ = score;
}

Losses Recorder::losses() const {
  const Lock lock(memory_->mutex);
  Losses all = losses_;
  for (const ClipPtr& clip : clips_) all.unwritten += ring_.lost(*clip->reader_);
  return all;
}

size_t Recorder::clips() const {
  const Lock lock(memory_->mutex);
  return clips_.size();
}

uint64_t Recorder::bytes() const {
  const Lock lock(memory_->mutex);
  return ring_.bytes();
}

}  // namespace dvnn::record
