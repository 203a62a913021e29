// SPDX-License-Identifier: Apache-2.0
// An InferQueue without a device, for tests of its rules: the work is a function of the test's, and
// so is the time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "check_suite.h"
#include "clocks.h"
#include "infer/queue/inferqueue.h"

namespace dvnn::test {

using namespace dvnn::gst;

// A queue with one or two workers, and a record of the calls to its task.
class Bench {
 public:
  explicit Bench(InferQueue::Limits limits = {}, InferQueue::Work work = nullptr, int workers = 1)
      : queue(
            limits, work ? work : [](InferItem*, size_t) { return Status(); },
            [this](bool run) { task_runs = run; }, "queue", clock) {
    gst_init(nullptr, nullptr);
    queue.stop_flush(true);
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([this] {
        while (queue.work_once()) {
        }
      });
    }
  }
  ~Bench() {
    queue.start_flush();
    queue.stop_workers();
    for (std::thread& thread : threads) thread.join();
  }

  // Pops what is given up once the watchdog's time has passed: what is run must have begun.
  ItemPtr pop_overdue(guint watchdog_ms) {
    std::thread time([&] {
      clock.until_waiting(1);
      clock.advance(std::chrono::milliseconds(watchdog_ms + 1));
    });
    ItemPtr item = queue.pop(watchdog_ms);
    time.join();
    return item;
  }

  ManualClock clock;
  std::atomic<bool> task_runs{false};
  InferQueue queue;
  std::vector<std::thread> threads;
};

inline ItemPtr frame(guint64 pts, bool inferred) {
  gst_init(nullptr, nullptr);
  auto item = std::make_shared<InferItem>();
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = pts;
  item->object.reset(GST_MINI_OBJECT_CAST(buffer));
  if (inferred) item->regions.resize(1);
  return item;
}

inline guint64 pts_of(const ItemPtr& item) {
  return GST_BUFFER_PTS(GST_BUFFER_CAST(item->object.get()));
}

inline InferQueue::EventResult push(InferQueue* queue, GstEvent* event) {
  return queue->push_event(EventPtr(event));
}

inline GstEvent* caps_event() {
  GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
  GstEvent* event = gst_event_new_caps(caps);
  gst_caps_unref(caps);
  return event;
}

inline GstEvent* segment() {
  GstSegment s;
  gst_segment_init(&s, GST_FORMAT_TIME);
  return gst_event_new_segment(&s);
}

/// Returns a frame with `regions` regions to run.
inline ItemPtr frame_of(guint64 pts, size_t regions) {
  ItemPtr item = frame(pts, false);
  item->regions.resize(regions);
  return item;
}

}  // namespace dvnn::test
