// SPDX-License-Identifier: Apache-2.0
// Decides which parts of a stream become clips. The video leads the line of time; audio, documents
// and the detection branch follow it, each at its own pace, and events are placed by their time,
// not by when they come. A clip begins at the key unit at or before `before` before its first event
// and ends `after` after its last; events whose clips would overlap share one. It stays open until
// no such event may come any more. Each clip is read by a thread of its own.
//
// All calls take the memory's mutex, and none waits but next().
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "record/ring.h"
#include "record/time_line.h"

namespace dvnn::record {

constexpr Time kForever = std::numeric_limits<Time>::max() / 4, kNoTime = -kForever;

struct Rules {
  Time before = 5 * kSecond, after = 5 * kSecond;
  /// How far the followers, and their events, may be behind the video.
  Time late = 3 * kSecond;
  /// After which a clip goes on in another file.
  Time longest = 600 * kSecond;
};

struct Event {
  Time time = 0;
  std::shared_ptr<const void> data;
};

/// What was not recorded.
struct Losses {
  uint64_t undecodable = 0;  // units of the video without a key unit before them
  uint64_t refused = 0;      // units for which there was no memory
  uint64_t unwritten = 0;    // units that went before a clip's thread has read them
  uint64_t missed = 0;       // events whose frame was no longer there, or never
};

class Recorder;

/// A clip in the making, shared by its recorder and the thread that writes it.
class Clip {
 public:
  uint64_t id = 0;

 private:
  friend class Recorder;
  Time start_ = 0, end_ = 0;    // on the line; the clip's last unit is at `end_` at the latest
  Time file_start_ = kForever;  // of the file, once its first unit was read
  bool cut_soon_ = false;
  bool closed_ = false;  // it gets no more events
  Reader* reader_ = nullptr;
  std::shared_ptr<const void> format_;
  std::vector<Event> events_;  // that are not in a file yet
  std::shared_ptr<void> picture_;
  double picture_score_ = -1;
};
using ClipPtr = std::shared_ptr<Clip>;

/// What a clip's thread is to do next.
enum class Step {
  kUnit,    // write a unit
  kCut,     // end the file, and begin another one for what follows
  kEnd,     // end the file and the clip
  kNothing  // there was nothing to do within the time
};

class Recorder {
 public:
  Recorder(std::shared_ptr<Memory> memory, size_t tracks);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void set_rules(const Rules& rules);
  /// Called with each clip that begins, under the mutex. Returns false if nobody can read it.
  std::function<bool(const ClipPtr&)> begun;

  // The streams. Times are running times.
  /// Whether a track is waited for, so that what is older in it comes into the file first.
  void expect(size_t track, bool expected);
  /// Adds a unit of the video. `flushes`: the number of flushes since the last one.
  void video(Unit unit, uint64_t flushes);
  /// Another track has come to the time of `unit`, which is added if it has data. The events were
  /// told before it; one without a time (kNoTime) is of the same time.
  void follow(size_t track, Unit unit, std::vector<Event> events = {});
  /// The track was flushed, so many times: what follows begins elsewhere.
  void flush(size_t track, uint64_t times);
  void end_track(size_t track);
  /// An event that is not of another track: of this moment, at the video's last unit (kNoTime), or
  /// of a running time.
  void add_event(Time time, std::shared_ptr<const void> data);
  /// Keeps a clip going, from this moment, until it is let go.
  void hold(bool held, std::shared_ptr<const void> data);
  /// Ends all clips with what is there: the stream ends.
  void finish();
  /// Ends all clips at once: what is not written yet is lost.
  void abandon();

  // The clips' threads.
  /// Waits for the clip's next unit, up to `wait`. Its times are those of the line. At a cut it is
  /// the unit that begins the next file, and comes again.
  Step next(Clip* clip, std::chrono::milliseconds wait, size_t* track, Unit* unit);
  /// Ends a file at the next key unit.
  void cut_soon(Clip* clip);
  /// Takes the clip's events before a time on the line, in their order.
  std::vector<Event> take_events(Clip* clip, Time until);
  uint64_t lost(const Clip& clip) const;
  std::shared_ptr<void> take_picture(Clip* clip);
  /// Gives the clip back: its thread ends.
  void give_back(const ClipPtr& clip);

  /// Offers a picture for the youngest clip. `make` is called, under no lock, if its score is
  /// better by a tenth than that of the clip's picture.
  void offer_picture(double score, const std::function<std::shared_ptr<void>()>& make);

  Losses losses() const;
  size_t clips() const;
  uint64_t bytes() const;

 private:
  // What a follower has brought before the video came there.
  struct Waiting {
    size_t track = 0;
    Unit unit;
    std::vector<Event> events;
    uint64_t flushes = 0;  // before it
    Time since = 0;        // where the video was
  };
  struct Track {
    Follower follower;
    bool expected = false, ended = false;
    uint64_t flushes = 0;  // since its last unit
    Time reached = 0;      // on the line
  };
  bool place(Waiting* waiting);
  void place_anyhow(Waiting* waiting);
  void take(const Place& place, Waiting* waiting);
  void place_waiting();
  void add(const Unit& unit, size_t track);
  void begin_or_extend(const Event& event, Time least);
  bool begin_clip(const Event& event, Time least);
  void retry_unbegun();
  void pass_time(Time step);
  Time settled() const;
  void advance();

  const std::shared_ptr<Memory> memory_;
  Ring ring_;
  mutable std::condition_variable changed_;
  Rules rules_;
  TimeLine line_;
  std::vector<Track> tracks_;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  std::vector<std::pair<Event, Time>> unbegun_;  // events before the first key unit
  std::list<ClipPtr> clips_;
  Losses losses_;
  bool video_ended_ = false, held_ = false, abandoned_ = false;
  Time video_at_ = 0;                         // decode time of the last unit, on the line
  Time shown_at_ = 0;                         // when the last unit is shown
  Time seen_ = 0;                             // of the video, without gaps
  std::deque<std::pair<Time, Time>> recent_;  // `seen_` and `video_at_` of its last units
  uint64_t next_id_ = 1;
};

}  // namespace dvnn::record
