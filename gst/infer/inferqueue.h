// SPDX-License-Identifier: Apache-2.0
// Keeps a stream in order while several of its frames are worked on at once.
//
// The sink side pushes frames and serialized events. Frames with a slot go to worker threads; the
// source side pops everything in the order in which it came, waiting for the frame at the head to
// be done. At most `limit` frames are in the queue: push() waits for room.
#pragma once

#include <gst/gst.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace dvnn::gst {

/// A frame or an event on its way.
struct InferItem {
  GstMiniObject* object = nullptr;  // GstBuffer or GstEvent, owned
  GstBuffer* slot = nullptr;        // owned; null: the frame passes without inference
  Status status;                    // of the run
  bool as_tensors = false;          // the outputs leave as a buffer of a stream of tensors
  bool done = true;
  ~InferItem();
};

class InferQueue {
 public:
  using Work = std::function<Status(GstBuffer* slot)>;
  InferQueue(size_t limit, Work work);
  ~InferQueue();

  void start(const std::string& thread_name);
  /// Ends and joins the workers; what is queued is dropped.
  void stop();
  /// While flushing, push() and pop() return at once; setting it drops what is queued.
  void set_flushing(bool flushing);

  /// False when flushing (the item is dropped).
  bool push(std::unique_ptr<InferItem> item);
  /// The next item, done; null when flushing.
  std::unique_ptr<InferItem> pop();
  /// Waits until everything pushed so far has been popped and released by the source side.
  bool drain();
  /// The source side has finished with what it popped last.
  void released();

 private:
  void work_loop();

  const size_t limit_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<InferItem>> items_;  // in stream order
  std::deque<std::shared_ptr<InferItem>> todo_;   // those with work left, in stream order
  std::vector<std::thread> workers_;
  size_t frames_ = 0;  // in items_
  bool busy_ = false;  // the source side holds an item
  bool flushing_ = true;
  bool stopping_ = false;
};

}  // namespace dvnn::gst
