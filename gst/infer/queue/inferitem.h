// SPDX-License-Identifier: Apache-2.0
// A frame or an event on its way through dvinfer.
//
// One thread at a time has an item's frame, status and times: the sink side until it is queued, the
// source side once it has left. Of its regions a worker has the one that it runs, and the sink side
// those that it still fills. What the queue notes of an item (`number`, `late`, `queued`, `runs`)
// changes under the queue's lock only.
#pragma once

#include <gst/gst.h>

#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "infer/latency.h"
#include "infer/slotpool.h"
#include "meta/viewmeta.h"
#include "network/stream_memory.h"
#include "refs.h"

namespace dvnn::gst {

struct LoadedNetwork;
struct TensorOutput;

/// An object that later frames find again by its track, and its place when it was inferred.
struct Followed {
  guint64 track = 0;
  gint class_id = 0;
  image::Corners box;
};

/// One region of a frame in flight: what it is, how the network's input shows it, and its slot
/// until the run is over, then its outputs (views of the slot, or copies).
struct Region {
  RegionTag tag;
  image::Shown shown;
  std::vector<float> values;  // the network's input if it is made of results, until the slot has it
  image::Size input;          // that places in the outputs count in; empty: the network's own
  SlotPtr slot;
  int64_t ready_us = 0;  // when it was filled
  std::vector<MemoryPtr> outputs;
  Followed
      followed;  // the object that the result belongs to, if the frame may leave before its results
  bool predicted = false;  // seen in an earlier frame, and moved with its object
};

/// Progress of the runs of an item's regions (worklist.h).
struct RegionRuns {
  bool done = true;      // all were run, or there is nothing to run
  bool counted = false;  // among the unfinished inferences
  bool open = false;     // the sink side still fills regions
  bool stopped = false;  // no more regions are run
  size_t ready = 0;      // regions that have their slots
  size_t taken = 0;      // of these, by workers
  size_t running = 0;    // of these, not finished
  int64_t moved_us = 0;  // when the last run began or ended
};

struct InferItem {
  MiniObjectPtr object;
  std::vector<Region> regions;  // empty: the frame passes without inference
  bool nothing_to_see = false;  // it has no regions because there is nothing to look at
  std::shared_ptr<LoadedNetwork> network;
  std::shared_ptr<const TensorOutput>
      tensors;  // how outputs leave as a buffer of a stream, or null
  std::shared_ptr<const network::LiveInputs>
      live;  // what the frame brings beside the first input; null: the network has none
  bool has_memory = false;   // the network keeps states: it runs after the frame before
  bool begins_anew = false;  // its states are zeros: the stream is not continued here
  Status status;             // of conversion and run
  FrameTimes times;
  int64_t upstream_us = 0;  // see LatencyMeter::frame_ready()
  int64_t leave_by_us = 0;  // the monotonic time at which it goes without results; 0: never

  guint64 number = 0;   // of the frame, counted by the queue; 0: it has not been queued
  bool late = false;    // its frame has left before the results
  bool queued = false;  // it has not left
  RegionRuns runs;

  bool is_frame() const { return GST_IS_BUFFER(object.get()); }
};
using ItemPtr = std::shared_ptr<InferItem>;
/// An item moves from list to list with its node, which takes no memory.
using InferItems = std::list<ItemPtr>;

/// Moves the item's frame, unless it has left before, into an item without regions, finished at the
/// monotonic time `now_us`. Workers keep `from`, and may yet return to it.
inline ItemPtr split_off(InferItem* from, int64_t now_us) {
  auto item = std::make_shared<InferItem>();
  item->network = from->network;
  item->tensors = from->tensors;
  item->upstream_us = from->upstream_us;
  item->number = from->number;
  item->times = from->times;
  item->times.finished = now_us;
  item->object = std::move(from->object);
  return item;
}

/// Returns the log category of the queue and its parts, "dvqueue".
inline GstDebugCategory* queue_category() {
  static GstDebugCategory* const category =
      _gst_debug_category_new("dvqueue", 0, "Order of frames and their runs in dvinfer");
  return category;
}

}  // namespace dvnn::gst
