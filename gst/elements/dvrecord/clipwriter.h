// SPDX-License-Identifier: Apache-2.0
// Writes clips: a thread for each, which reads from the recorder and feeds a pipeline. What the
// threads need is shared and outlives the element, because a disk that is dead may hold a thread
// for ever: the element waits for a bounded time, and then leaves it.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "elements/dvrecord/clippipeline.h"
#include "elements/dvrecord/clipreport.h"
#include "elements/dvrecord/packet.h"
#include "elements/dvrecord/recordsettings.h"
#include "record/clip_folder.h"
#include "record/recorder.h"

namespace dvnn::gst {

/// Counts of the files, of all clips.
struct ClipCounts {
  std::atomic<guint64> clips{0}, files{0}, failed{0}, bytes{0};
};

/// A track as the stream has it now.
struct TrackFormat {
  TrackKind kind = TrackKind::kVideo;
  SharedCaps caps;  // null: there is none
};

class ClipWriters : public std::enable_shared_from_this<ClipWriters> {
 public:
  /// The element is told by messages as long as it is there.
  ClipWriters(GstElement* element, std::shared_ptr<record::Recorder> recorder,
              std::shared_ptr<record::ClipFolder> folder, const RecordSettings& settings,
              std::string stream);
  ~ClipWriters();
  ClipWriters(const ClipWriters&) = delete;
  ClipWriters& operator=(const ClipWriters&) = delete;

  /// Starts a thread for a clip; false if the system has none.
  bool begin(const record::ClipPtr& clip);
  /// Waits until all threads have ended, for a bounded time or, if it may be, until it is
  /// cancelled. Returns whether they have.
  bool wait(guint timeout_ms, bool may_be_cancelled);
  void cancel_wait();

  void set_quota(const record::Quota& quota);
  void set_posting(bool post);
  void set_track(size_t track, const TrackFormat& format);
  /// The pad from which events go upstream.
  void set_upstream(GstPad* pad);
  void tell(const ClipReport& report);

  const ClipCounts& counts() const { return counts_; }

 private:
  friend class ClipThread;
  // The threads that run. It is no part of what they hold.
  struct Threads {
    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;
    bool cancelled = false;
    void add(int number);
  };
  void warn_once(const Error& error);
  std::vector<TrackFormat> tracks() const;
  record::Quota quota() const;

  const std::shared_ptr<record::Recorder> recorder_;
  const std::shared_ptr<record::ClipFolder> folder_;
  const Container container_;
  const std::string stream_;
  GWeakRef element_, upstream_;
  ClipCounts counts_;
  std::atomic<bool> warned_{false}, posts_{true};

  const std::shared_ptr<Threads> threads_ = std::make_shared<Threads>();

  mutable std::mutex mutex_;  // of what follows
  record::Quota quota_;
  std::vector<TrackFormat> tracks_;
};

}  // namespace dvnn::gst
