// SPDX-License-Identifier: Apache-2.0
#include "elements/dvaudio/audiowindows.h"

#include <algorithm>

namespace dvnn::gst {

void AudioWindows::configure(const WindowRule& rule) {
  rule_ = rule;
  begin();
}

void AudioWindows::begin() {
  first_ = next_ = -static_cast<int64_t>(rule_.lead);
  seen_ = 0;
  samples_.assign(rule_.lead, 0.0f);
}

// Samples before the next window are no longer needed; they go when new ones come, so that many
// short windows do not move the rest each time.
float* AudioWindows::extend(size_t count) {
  const int64_t unneeded = std::min(next_ - first_, static_cast<int64_t>(samples_.size()));
  samples_.erase(samples_.begin(), samples_.begin() + unneeded);
  first_ += unneeded;
  samples_.resize(samples_.size() + count);
  return samples_.data() + samples_.size() - count;
}

WindowPlace AudioWindows::take(float* to, size_t count) {
  const auto from = samples_.begin() + (next_ - first_);
  std::copy(from, from + static_cast<ptrdiff_t>(count), to);
  std::fill(to + count, to + rule_.window, 0.0f);
  const WindowPlace place = {std::max<int64_t>(0, next_), next_ + static_cast<int64_t>(count)};
  seen_ = place.end;
  next_ += static_cast<int64_t>(rule_.hop);
  return place;
}

std::optional<WindowPlace> AudioWindows::next(float* to) {
  if (end() - next_ < static_cast<int64_t>(rule_.window)) return std::nullopt;
  return take(to, rule_.window);
}

std::optional<WindowPlace> AudioWindows::rest(float* to) {
  if (auto whole = next(to)) return whole;
  if (end() <= std::max(seen_, next_) || end() <= 0) return std::nullopt;
  return take(to, static_cast<size_t>(end() - next_));
}

}  // namespace dvnn::gst
