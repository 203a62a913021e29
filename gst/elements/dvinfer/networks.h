// SPDX-License-Identifier: Apache-2.0
// dvinfer's networks: the one that it starts with, and those that replace it while it plays.
//
// A network is loaded, and its slots are made, on the way to READY. One that is named while playing
// is loaded beside the one in use, in a thread of GStreamer's, as that takes longer than a frame;
// it takes over between two frames, if it fits the stream. Of several that are named the newest
// counts, and loads of the others are cancelled.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/cancel.h"
#include "elements/dvinfer/infercontext.h"
#include "elements/dvinfer/negotiation.h"
#include "infer/networkloader.h"

namespace dvnn::gst {

/// Any thread may call it, except where a section says otherwise. Its lock is never held during a
/// call of the device; the object lock is taken within it, for the settings.
class Networks {
 public:
  explicit Networks(InferContext* context) : context_(*context) {}

  /// The network that frames are run on now, or null.
  LoadedPtr loaded() const;
  /// Its slots, or null.
  PoolPtr pool() const;
  /// While flushing, no slot is handed out or waited for.
  void set_flushing(bool flushing) const;

  // --- changes of state ---
  /// Loads what the settings name, makes its slots and tries a run, if it is not all there already.
  /// Returns false once that was reported; a cancelled load is not, as its canceller knows.
  bool open();
  /// Ends an open() that another thread waits for.
  void cancel_opening();
  /// From now on, networks are loaded as they are named.
  void start();
  /// Cancels loads under way, and lets go of `queue`, whose frames have slots. The next start uses
  /// the slots again, unless a worker that was lost has some of them.
  void stop(std::shared_ptr<InferQueue> queue, bool workers_ended);
  /// Waits for loads that are under way and lets go of the networks.
  void close();

  // --- while playing ---
  /// Starts loading the network that was named, if `specs` are about it and it is new.
  void follow_settings(guint count, GParamSpec** specs);
  /// Between two frames, in the sink pad's streaming thread: lets the network that was loaded
  /// meanwhile take over, if it fits the stream.
  void swap(Negotiation* negotiation);

 private:
  using CancellationPtr = std::shared_ptr<Cancellation>;
  struct AsyncLoad;

  bool open_network(const InferSettings& settings, const CancellationPtr& cancellation);
  bool open_pool(const InferSettings& settings, const CancellationPtr& cancellation);
  void set_opening(CancellationPtr now);
  void set_pool(const LoadedPtr& of, PoolPtr pool);
  void load_next(guint ticket);
  void end_load();

  InferContext& context_;
  mutable std::mutex mutex_;
  LoadedPtr loaded_;             // from READY on; its pool is under the lock, too
  LoadedPtr next_;               // loaded while playing: it takes over with the next frame
  guint loads_ = 0;              // how many loads were asked for: the newest's ticket
  CancellationPtr newest_load_;  // of these; the others are cancelled
  CancellationPtr opening_;      // what a change of state waits for
  bool started_ = false;         // from PAUSED on
  int under_way_ = 0;            // loads while playing: close() waits for them
  std::condition_variable load_ended_;
};

}  // namespace dvnn::gst
