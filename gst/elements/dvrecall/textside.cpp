// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecall/textside.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "times.h"

namespace dvnn::gst {
namespace {

size_t bytes_of(const Cue& cue) {
  constexpr size_t kOverhead = sizeof(Cue) + 64;  // of the map's node, and of the shared pointer
  return cue.text.capacity() + kOverhead;
}

void append_utf8(unsigned long code, std::string* to) {
  const auto put = [to](unsigned long byte) { *to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

// Appends the character that an entity stands for ("quot", "#x27"). Returns false if it is none.
bool append_entity(std::string_view name, std::string* to) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"quot", '"'}, {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name == known) return *to += character, true;
  }
  if (name.size() < 2 || name[0] != '#') return false;
  const bool hex = name[1] == 'x';
  const std::string digits(name.substr(hex ? 2 : 1));
  char* end = nullptr;
  const unsigned long code = std::strtoul(digits.c_str(), &end, hex ? 16 : 10);
  if (digits.empty() || *end || code == 0 || code > 0x10ffff) return false;
  append_utf8(code, to);
  return true;
}

}  // namespace

bool CueList::add(Cue cue) {
  const auto same = cues_.find(cue.start);
  if (same != cues_.end()) forget(same);
  const size_t bytes = bytes_of(cue);
  if (bytes_ + bytes > most_) return false;
  bytes_ += bytes;
  const int64_t start = cue.start;
  cues_[start] = std::make_shared<const Cue>(std::move(cue));
  return true;
}

void CueList::forget(std::map<int64_t, CuePtr>::iterator cue) {
  bytes_ -= bytes_of(*cue->second);
  cues_.erase(cue);
}

CuePtr CueList::at(int64_t time) {
  CuePtr found;
  while (!cues_.empty() && cues_.begin()->first <= time) {
    const auto first = cues_.begin();
    const auto next = std::next(first);
    if (next == cues_.end() || next->first > time) {
      if (first->second->end > time) found = first->second;
      if (!found) forget(first);
      break;
    }
    forget(first);
  }
  return found;
}

bool CueList::starts_within(int64_t from, int64_t to) const {
  const auto first = cues_.lower_bound(from);
  return first != cues_.end() && first->first <= to;
}

void CueList::clear() {
  cues_.clear();
  bytes_ = 0;
}

std::string without_markup(std::string text) {
  constexpr size_t kLongestEntity = 10;
  constexpr std::string_view kEscaped = "{&quot;";
  if (text.compare(0, kEscaped.size(), kEscaped) != 0) return text;
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    // The text may be long, and have no end of an entity.
    const std::string_view rest = std::string_view(text).substr(i, kLongestEntity);
    const size_t end = rest[0] == '&' ? rest.find(';') : std::string_view::npos;
    if (end != std::string_view::npos && append_entity(rest.substr(1, end - 1), &plain)) {
      i += end + 1;
    } else {
      plain += text[i++];
    }
  }
  return plain;
}

namespace {

// How long a cue without a duration is shown.
constexpr GstClockTime kUsualDuration = GST_SECOND;

}  // namespace

void TextSide::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  cues_.clear();
  reached_ = INT64_MIN;
  ended_ = flushing_ = false;
  runs_ = waits_ = true;
}

void TextSide::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  runs_ = false;
  changed_.notify_all();
}

void TextSide::begin_stream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  ended_ = false;
}

// A segment goes on where the one before it ends, so what it begins with is reached.
void TextSide::set_segment(const GstSegment& segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  segment_ = segment;
}

void TextSide::reach(int64_t time) {
  reached_ = std::max(reached_, time);
  changed_.notify_all();
}

bool TextSide::add(GstBuffer* buffer, std::string text) {
  const GstClockTime start = GST_BUFFER_PTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(start)) return true;
  const GstClockTime duration =
      GST_BUFFER_DURATION_IS_VALID(buffer) ? GST_BUFFER_DURATION(buffer) : kUsualDuration;
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  int64_t first = 0, last = 0;
  if (start > GST_CLOCK_TIME_NONE - 1 - duration) return true;
  if (!signed_running_time(segment_, start, &first) ||
      !signed_running_time(segment_, start + duration, &last)) {
    return true;
  }
  // Of a stream that plays backwards, what begins later ends earlier.
  if (last < first) std::swap(first, last);
  const bool room = cues_.add({first, last, std::move(text)});
  reach(first);
  return room;
}

void TextSide::gap(GstClockTime time, GstClockTime duration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  if (GST_CLOCK_TIME_IS_VALID(duration) && time < GST_CLOCK_TIME_NONE - 1 - duration) {
    time += duration;
  }
  int64_t reached = 0;
  if (signed_running_time(segment_, time, &reached)) reach(reached);
}

void TextSide::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void TextSide::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  cues_.clear();
  reached_ = INT64_MIN;
  ended_ = false;
  waits_ = true;
  changed_.notify_all();
}

void TextSide::set_flushing(bool flushing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  flushing_ = flushing;
  changed_.notify_all();
}

bool TextSide::frames_come() {
  const std::lock_guard<std::mutex> lock(mutex_);
  frames_thread_ = std::this_thread::get_id();
  return thread_ == frames_thread_;
}

bool TextSide::frames_are_here() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return frames_thread_ == std::this_thread::get_id();
}

// A cue that starts no more than half a frame before the frame is its own.
bool TextSide::knows(int64_t start, int64_t half) {
  const bool there = reached_ > start + half || cues_.starts_within(start - half, start + half);
  if (there) waits_ = true;
  return there || !waits_ || ended_ || flushing_ || !runs_;
}

void TextSide::wait_for(int64_t start, int64_t half, std::chrono::milliseconds wait) {
  const Clock& clock = Clock::steady();
  std::unique_lock<std::mutex> lock(mutex_);
  waits_ = clock.wait_until(&changed_, &lock, clock.now() + wait, [&] {
    return knows(start, half);
  }) && waits_;
}

bool TextSide::is_known(int64_t start, int64_t half) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return knows(start, half);
}

void TextSide::give_up() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waits_ = false;
}

CuePtr TextSide::take(int64_t start, int64_t half) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cues_.at(start + half);
}

}  // namespace dvnn::gst
