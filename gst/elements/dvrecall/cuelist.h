// SPDX-License-Identifier: Apache-2.0
// Cues of a text track, by time: lines of documents, each for a part of the stream. Frames ask for
// them in ascending order of time. Times are running times, and may be negative. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace dvnn::gst {

struct Cue {
  int64_t start = 0, end = 0;  // shown in [start, end), nanoseconds
  std::string text;
};
using CuePtr = std::shared_ptr<const Cue>;

class CueList {
 public:
  /// `most`: bytes of memory that cues may take.
  explicit CueList(size_t most) : most_(most) {}

  /// Adds a cue, instead of one that starts at the same time. Returns false if there is no room.
  bool add(Cue cue);
  /// Returns the latest cue that starts at or before `time` and ends after it; null if there is
  /// none. Forgets cues that end before it.
  CuePtr at(int64_t time);
  /// Whether a cue starts in [from, to].
  bool starts_within(int64_t from, int64_t to) const;
  void clear();

 private:
  void forget(std::map<int64_t, CuePtr>::iterator cue);

  const size_t most_;
  size_t bytes_ = 0;
  std::map<int64_t, CuePtr> cues_;  // by their start
};

/// Returns a cue's text without Pango's markup: matroskademux and subparse escape what plain text
/// they find. A text that is a document already stays as it is.
std::string without_markup(std::string text);

}  // namespace dvnn::gst
