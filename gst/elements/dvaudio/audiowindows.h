// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of samples into windows, which may overlap or leave samples out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dvnn::gst {

/// Lengths in samples.
struct WindowRule {
  size_t window = 0;  // of a window
  size_t hop = 0;     // from the beginning of a window to that of the next
  size_t lead = 0;    // zeros before the stream's first sample; less than `window`

  bool operator==(const WindowRule& o) const {
    return window == o.window && hop == o.hop && lead == o.lead;
  }
};

/// The samples of the stream that a window has: from `first` up to `end`, counted from the stream's
/// first one.
struct WindowPlace {
  int64_t first = 0, end = 0;
};

/// Used by one thread at a time. Throws std::bad_alloc.
class AudioWindows {
 public:
  /// Sets the lengths, `window` and `hop` of at least 1, and begins anew.
  void configure(const WindowRule& rule);
  const WindowRule& rule() const { return rule_; }
  /// Forgets all samples: the next one is the first of a stream.
  void begin();
  /// Adds samples; returns where to write them.
  float* extend(size_t count);
  /// Copies the next window to `to` once all its samples are there.
  std::optional<WindowPlace> next(float* to);
  /// At the end of the stream, copies the next window, or else the samples that no window has yet
  /// and zeros behind them. Nothing if there are none.
  std::optional<WindowPlace> rest(float* to);

 private:
  int64_t end() const { return first_ + static_cast<int64_t>(samples_.size()); }
  WindowPlace take(float* to, size_t count);

  WindowRule rule_;
  std::vector<float> samples_;
  int64_t first_ = 0;  // number of the first of `samples_`; below 0: a zero before the stream
  int64_t next_ = 0;   // where the next window begins
  int64_t seen_ = 0;   // where the last window ended
};

}  // namespace dvnn::gst
