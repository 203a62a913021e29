// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/workers.h"

#include <thread>
#include <utility>

#include "base/result.h"
#include "refs.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {

// One worker thread. It owns what it uses, because it may outlive the element's stop.
struct Workers::Worker {
  ElementPtr element;  // owns the context
  const InferContext& context;
  std::shared_ptr<InferQueue> queue;
  GRecMutex lock;
  TaskPtr task;

  explicit Worker(const InferContext& of)
      : element(GST_ELEMENT(gst_object_ref(of.element()))), context(of), queue(of.queue()) {
    g_rec_mutex_init(&lock);
    task.reset(gst_task_new(work, this, nullptr));
    gst_task_set_lock(task.get(), &lock);
    gst_task_set_enter_callback(task.get(), announce<GST_STREAM_STATUS_TYPE_ENTER>, this, nullptr);
    gst_task_set_leave_callback(task.get(), announce<GST_STREAM_STATUS_TYPE_LEAVE>, this, nullptr);
  }
  // Waits for the thread to end.
  ~Worker() {
    gst_task_join(task.get());
    task.reset();
    g_rec_mutex_clear(&lock);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Once the queue has stopped, this call returns at once, until the task is stopped, too.
  static void work(gpointer self) { static_cast<Worker*>(self)->queue->work_once(); }

  template <GstStreamStatusType Type>
  static void announce(GstTask* task, GThread*, gpointer self) {
    const InferContext& context = static_cast<Worker*>(self)->context;
    GstMessage* message =
        gst_message_new_stream_status(GST_OBJECT(context.srcpad()), Type, context.element());
    Value value(GST_TYPE_TASK);
    g_value_set_object(value.get(), task);
    gst_message_set_stream_status_object(message, value.get());
    context.post(message);
  }
};

void Workers::start(guint count) {
  workers_.reserve(count);
  for (guint i = 0; i < count; ++i) {
    auto* worker = new Worker(context_);
    GstTask* task = worker->task.get();
    const CharsPtr name(g_strdup_printf("%s:%u", GST_OBJECT_NAME(context_.element()), i));
    gst_object_set_name(GST_OBJECT(task), name.get());
    Worker::announce<GST_STREAM_STATUS_TYPE_CREATE>(task, nullptr, worker);
    workers_.push_back(worker);
    gst_task_start(task);
  }
}

bool Workers::stop() {
  const auto queue = context_.queue();
  if (!queue) return true;
  queue->stop_workers();
  std::vector<Worker*> workers = std::exchange(workers_, {});
  for (Worker* worker : workers) gst_task_stop(worker->task.get());
  if (queue->runs_end(context_.rules().watchdog_ms)) {
    for (Worker* worker : workers) delete worker;
    return true;
  }
  // Joining a thread that the device holds would hang as well. Another thread waits for it, and
  // releases what it uses if it ever returns.
  GST_WARNING_OBJECT(context_.element(),
                     "the device still holds a worker thread, which is left behind");
  (void)guarded("waiting for the device", [&]() -> Status {
    std::thread([workers = std::move(workers)] {
      for (Worker* worker : workers) delete worker;
    }).detach();
    return {};
  }).ok();
  return false;
}

}  // namespace dvnn::gst
