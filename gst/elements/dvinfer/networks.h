// SPDX-License-Identifier: Apache-2.0
// dvinfer's networks: the one that it starts with, and those that replace it while it plays.
//
// A network is loaded, and its slots are made, on the way to READY. If another one is named while
// playing, it is loaded in a thread of GStreamer's beside the one in use, as that takes longer than
// a frame; it takes over between two frames, if it fits the stream. If several are named, the
// newest is loaded, and loads of the others are cancelled.
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

  /// Returns the network that frames are run on now, or null.
  LoadedPtr loaded() const;
  /// Returns its slots, or null.
  PoolPtr pool() const;
  /// While flushing, no slot is handed out or waited for.
  void set_flushing(bool flushing) const;

  // --- changes of state ---
  /// Loads the network that the settings name, makes its slots and tries a run, unless that was
  /// done before. Returns false after an error, which was posted; a cancelled load is not posted.
  bool open();
  /// Cancels an open() that is under way in another thread.
  void cancel_opening();
  /// Lets networks be loaded as they are named from now on.
  void start();
  /// Cancels loads under way, and lets go of `queue`, whose frames have slots. The next start uses
  /// the slots again, unless a worker that was lost has some of them.
  void stop(std::shared_ptr<InferQueue> queue, bool workers_ended);
  /// Waits for loads that are under way and lets go of the networks.
  void close();

  // --- while playing ---
  /// Starts loading the network of the settings if one of `specs` names it and it is a new one.
  void follow_settings(guint count, GParamSpec** specs);
  /// Lets the network that was loaded meanwhile take over, if it fits the stream. Called between
  /// two frames, in the sink pad's streaming thread.
  void swap(Negotiation* negotiation);

 private:
  using CancellationPtr = std::shared_ptr<Cancellation>;
  struct AsyncLoad;

  bool open_network(const InferSettings& settings, const CancellationPtr& cancellation);
  bool has_live_inputs(const InferSettings& settings) const;
  bool open_pool(const InferSettings& settings, const CancellationPtr& cancellation);
  void set_opening(CancellationPtr now);
  void set_pool(const LoadedPtr& of, PoolPtr pool);
  void load_next(guint ticket);
  void end_load();

  InferContext& context_;
  mutable std::mutex mutex_;
  LoadedPtr loaded_;             // from READY on; the lock protects its pool, too
  LoadedPtr next_;               // loaded while playing; takes over with the next frame
  guint loads_ = 0;              // number of loads asked for: the ticket of the newest
  CancellationPtr newest_load_;  // of the newest load; the others are cancelled
  CancellationPtr opening_;      // of the load that a change of state waits for
  bool started_ = false;         // from PAUSED on
  int under_way_ = 0;            // number of loads while playing; close() waits for them
  std::condition_variable load_ended_;
};

}  // namespace dvnn::gst
