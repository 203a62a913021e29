// SPDX-License-Identifier: Apache-2.0
// Where the two streams of dvrecall meet: cues come on one thread, frames ask for them on another,
// or both on the same.
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dvnn::gst {

struct Cue {
  int64_t start = 0, end = 0;  // shown in [start, end), nanoseconds
  std::string text;
};
using CuePtr = std::shared_ptr<const Cue>;

/// Cues of a text track, by time: lines of documents, each for a part of the stream. Frames ask for
/// them in ascending order of time. Times are running times, and may be negative. Not thread-safe.
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

// A frame waits for the text stream to pass its time, or to have its own cue. Each wait ends: the
// text does so by a cue, a gap or its end; either stream is flushed or stopped; or the time is
// over. After that no frame waits until the text has caught up. Where one thread brings both
// streams, such as that of a demuxer without a queue behind it, frames are not waited for but held
// (dvrecall.cpp).
class TextSide {
 public:
  /// Begins, and ends: frames do not wait any more.
  void start();
  void stop();

  // The text's thread.
  void begin_stream();
  void set_segment(const GstSegment& segment);
  /// Takes a cue. Returns false if there is no room for it.
  bool add(GstBuffer* buffer, std::string text);
  void gap(GstClockTime time, GstClockTime duration);
  void end();
  void flush();

  // The frames' thread.
  /// Tells on which thread frames come. Returns whether the text comes on it, too.
  bool frames_come();
  /// Whether frames have come on this thread.
  bool frames_are_here();
  /// Waits for the cue of a frame that lasts from `start` for twice `half`, for at most `wait`.
  void wait_for(int64_t start, int64_t half, std::chrono::milliseconds wait);
  /// Whether the frame need not wait.
  bool is_known(int64_t start, int64_t half);
  /// A frame has not waited as long as it should: the text does not keep up.
  void give_up();
  /// Returns the cue of a frame's middle; null if there is none. Cues before it are forgotten.
  CuePtr take(int64_t start, int64_t half);
  void set_flushing(bool flushing);

 private:
  void reach(int64_t time);
  bool knows(int64_t start, int64_t half);

  std::mutex mutex_;
  std::condition_variable changed_;  // of what follows
  CueList cues_{size_t{64} << 20};
  GstSegment segment_{};
  int64_t reached_ = INT64_MIN;  // cues that start earlier do not come any more
  bool ended_ = false, flushing_ = false, runs_ = false;
  bool waits_ = true;  // false: the text does not keep up
  std::thread::id thread_, frames_thread_;
};

}  // namespace dvnn::gst
