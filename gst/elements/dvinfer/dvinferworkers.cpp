// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinferworkers.h"

#include <thread>
#include <utility>

#include "base/guard.h"
#include "refs.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

// One worker thread. It owns what it uses, because it may outlive the element's stop.
struct GstDvInferWorker {
  std::shared_ptr<dvnn::gst::InferQueue> queue;
  GRecMutex lock;
  dvnn::gst::TaskPtr task;
  dvnn::gst::ElementPtr element;
};

static void gst_dv_infer_work(gpointer data) {
  // Once the queue has stopped, this call returns at once, until the task is stopped, too.
  static_cast<GstDvInferWorker*>(data)->queue->work_once();
}

static void gst_dv_infer_announce(GstDvInferWorker* worker, GstStreamStatusType type) {
  GstDvInfer* self = GST_DV_INFER(worker->element.get());
  GstMessage* message =
      gst_message_new_stream_status(GST_OBJECT(self->srcpad), type, GST_ELEMENT(self));
  dvnn::gst::Value value(GST_TYPE_TASK);
  g_value_set_object(value.get(), worker->task.get());
  gst_message_set_stream_status_object(message, value.get());
  gst_element_post_message(GST_ELEMENT(self), message);
}

static void gst_dv_infer_enter(GstTask*, GThread*, gpointer data) {
  gst_dv_infer_announce(static_cast<GstDvInferWorker*>(data), GST_STREAM_STATUS_TYPE_ENTER);
}

static void gst_dv_infer_leave(GstTask*, GThread*, gpointer data) {
  gst_dv_infer_announce(static_cast<GstDvInferWorker*>(data), GST_STREAM_STATUS_TYPE_LEAVE);
}

void gst_dv_infer_start_workers(GstDvInfer* self, guint count) {
  self->priv->workers.reserve(count);
  for (guint i = 0; i < count; ++i) {
    auto* worker = new GstDvInferWorker();
    worker->queue = self->priv->queue;
    worker->element.reset(GST_ELEMENT(gst_object_ref(self)));
    g_rec_mutex_init(&worker->lock);
    GstTask* task = gst_task_new(gst_dv_infer_work, worker, nullptr);
    worker->task.reset(task);
    const dvnn::gst::CharsPtr name(g_strdup_printf("%s:%u", GST_OBJECT_NAME(self), i));
    gst_object_set_name(GST_OBJECT(task), name.get());
    gst_task_set_lock(task, &worker->lock);
    gst_task_set_enter_callback(task, gst_dv_infer_enter, worker, nullptr);
    gst_task_set_leave_callback(task, gst_dv_infer_leave, worker, nullptr);
    gst_dv_infer_announce(worker, GST_STREAM_STATUS_TYPE_CREATE);
    self->priv->workers.push_back(worker);
    gst_task_start(task);
  }
}

static void gst_dv_infer_join(GstDvInferWorker* worker) {
  gst_task_join(worker->task.get());
  worker->task.reset();
  g_rec_mutex_clear(&worker->lock);
  delete worker;
}

bool gst_dv_infer_stop_workers(GstDvInfer* self) {
  GstDvInferPrivate& priv = *self->priv;
  if (!priv.queue) return true;
  priv.queue->stop_workers();
  std::vector<GstDvInferWorker*> workers = std::move(priv.workers);
  priv.workers.clear();
  for (GstDvInferWorker* worker : workers) gst_task_stop(worker->task.get());
  if (priv.queue->runs_end(gst_dv_infer_rules(self).watchdog_ms)) {
    for (GstDvInferWorker* worker : workers) gst_dv_infer_join(worker);
    return true;
  }
  // Joining a thread that the device holds would hang as well. Another thread waits for it, and
  // releases what it uses if it ever returns.
  GST_WARNING_OBJECT(self, "the device still holds a worker thread, which is left behind");
  (void)dvnn::guarded("waiting for the device", [&]() -> dvnn::Status {
    std::thread([workers = std::move(workers)] {
      for (GstDvInferWorker* worker : workers) gst_dv_infer_join(worker);
    }).detach();
    return {};
  }).ok();
  return false;
}
