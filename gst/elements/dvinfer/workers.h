// SPDX-License-Identifier: Apache-2.0
// dvinfer's worker threads: GstTasks, announced by STREAM_STATUS messages, so that an application
// can set their priority as it does for other streaming threads.
#pragma once

#include <vector>

#include "elements/dvinfer/infercontext.h"

namespace dvnn::gst {

/// The worker threads of one element. Only changes of state call it.
class Workers {
 public:
  explicit Workers(InferContext* context) : context_(*context) {}

  /// Starts `count` threads, which run regions from the queue.
  void start(guint count);
  /// Ends and joins them. A worker that waits for a device that does not answer is left behind; it
  /// ends by itself, or never. Returns whether all have ended.
  bool stop();

 private:
  struct Worker;

  InferContext& context_;
  std::vector<Worker*> workers_;
};

}  // namespace dvnn::gst
