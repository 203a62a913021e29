// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinfernetworks.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "errors.h"
#include "guard.h"
#include "infer/watchdog.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

// Slots beyond those in flight: one that dvconvert fills, and one that downstream may keep.
#define SPARE_SLOTS 2

using dvnn::Cancellation;
using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::InferSettings;
using dvnn::gst::ObjectLock;
using dvnn::gst::SlotCounts;
using dvnn::gst::SlotPool;
using dvnn::gst::Topic;
using dvnn::gst::within_watchdog;
using CancellationPtr = std::shared_ptr<Cancellation>;
using PoolPtr = std::shared_ptr<SlotPool>;

static SlotCounts gst_dv_infer_slot_counts(const InferSettings& settings) {
  SlotCounts counts;
  counts.shared = settings.max_in_flight + SPARE_SLOTS;
  counts.reserve = settings.max_in_flight;
  counts.busy_limit = settings.max_in_flight;
  counts.watchdog_ms = settings.watchdog_ms;
  return counts;
}

// Loads a network under the watchdog: a file may take its time, a call of the device may not.
static dvnn::Result<LoadedPtr> gst_dv_infer_load(const InferSettings& settings,
                                                 const CancellationPtr& cancellation) {
  return within_watchdog<LoadedPtr>(settings.watchdog_ms,
                                    [wanted = settings.network_settings(), cancellation] {
                                      return dvnn::gst::load_network(wanted, cancellation.get());
                                    });
}

static dvnn::Result<PoolPtr> gst_dv_infer_make_pool(const LoadedPtr& loaded,
                                                    const InferSettings& settings,
                                                    const CancellationPtr& cancellation) {
  const SlotCounts counts = gst_dv_infer_slot_counts(settings);
  return within_watchdog<PoolPtr>(settings.watchdog_ms, [loaded, counts, cancellation] {
    return dvnn::gst::make_pool(*loaded, counts, cancellation.get());
  });
}

// Runs the network once, so that latency is known before the first frame. If the device does not
// answer, the watchdog will report it with the first frame.
static void gst_dv_infer_try_out(GstDvInfer* self, const LoadedPtr& loaded, guint watchdog_ms,
                                 const Cancellation& cancellation) {
  auto taken = loaded->pool->take(SlotPool::Taker::kUpstream, SlotPool::Clock::now());
  if (!taken.ok() || !taken.value().slot) return;
  std::packaged_task<gint64()> run([slot = std::move(taken.value().slot)] {
    const gint64 start = g_get_monotonic_time();
    const Status status = (*slot)->run();
    return status.ok() ? g_get_monotonic_time() - start : gint64{0};
  });
  std::future<gint64> took = run.get_future();
  std::thread thread(std::move(run));
  constexpr guint kLongest = 5000;
  const guint limit = watchdog_ms == 0 ? kLongest : std::min(watchdog_ms, kLongest);
  constexpr std::chrono::milliseconds kLook{20};
  const gint64 until = g_get_monotonic_time() + gint64{limit} * 1000;
  std::future_status status = std::future_status::timeout;
  while (status != std::future_status::ready && g_get_monotonic_time() < until &&
         !cancellation.is_cancelled()) {
    status = took.wait_for(kLook);
  }
  if (status == std::future_status::ready) {
    thread.join();
    loaded->first_run_us = took.get();
  } else {
    GST_WARNING_OBJECT(self, "the device has not answered a first run for %u ms", limit);
    thread.detach();
  }
}

void gst_dv_infer_let_go(GstDvInfer* self, std::vector<std::shared_ptr<void>> held) {
  const guint watchdog_ms = gst_dv_infer_rules(self).watchdog_ms;
  if (watchdog_ms == 0) return;
  const bool answered =
      dvnn::gst::run_watched(watchdog_ms, [held = std::move(held)]() mutable { held.clear(); });
  if (answered) return;
  GST_WARNING_OBJECT(self, "the device does not answer: what it has is left behind");
}

// The last owner of it, so that it is released there. A list in braces would own it, too.
static void gst_dv_infer_let_go_of(GstDvInfer* self, std::shared_ptr<void> last) {
  std::vector<std::shared_ptr<void>> held;
  held.push_back(std::move(last));
  gst_dv_infer_let_go(self, std::move(held));
}

void gst_dv_infer_fail_to_load(GstDvInfer* self, Topic topic, const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    const InferSettings s = gst_dv_infer_settings(self);
    const std::string who =
        dvnn::gst::named_settings(GST_ELEMENT(self), {{"network", s.network},
                                                      {"weights-file", s.weights_file},
                                                      {"input-size", s.input_size},
                                                      {"custom-layers", s.custom_layers},
                                                      {"device", s.device}});
    return gst_dv_infer_post_error(self, topic, error.within(who));
  }
  GST_INFO_OBJECT(self, "loading was cancelled");
}

// A library that is installed but did not work is worth a message; a missing one is not.
static void gst_dv_infer_tell_of_device(GstDvInfer* self, const dvnn::device::Device& device) {
  g_object_notify(G_OBJECT(self), "active-device");
  for (const dvnn::device::PassedOver& passed : device.passed_over()) {
    dvnn::gst::post_warning(
        GST_ELEMENT(self), Topic::kSettings,
        Error{ErrorCode::kDevice, "the network runs on the device '" + device.name() + "', as " +
                                      passed.library + " does not work: " + passed.why},
        "`dvnet doctor` looks for the cause; device=" + device.name() +
            " chooses this device without a warning");
  }
}

static gboolean gst_dv_infer_open_network(GstDvInfer* self, const InferSettings& settings,
                                          const CancellationPtr& cancellation) {
  const dvnn::gst::NetworkSettings wanted = settings.network_settings();
  {
    const LoadedPtr old = gst_dv_infer_loaded(self);
    if (old && old->settings == wanted) return TRUE;
  }
  auto loaded = gst_dv_infer_load(settings, cancellation);
  if (!loaded.ok()) {
    gst_dv_infer_fail_to_load(self, dvnn::gst::load_topic(wanted, loaded.error()), loaded.error());
    return FALSE;
  }
  const dvnn::network::Network& network = *loaded.value()->network;
  GST_INFO_OBJECT(self, "network '%s' on %s (%s)", network.model().name.c_str(),
                  network.device().library_path().c_str(),
                  network.device().info().description.c_str());
  LoadedPtr replaced = loaded.value();
  {
    const ObjectLock lock(self);
    self->priv->shared.loaded.swap(replaced);
  }
  gst_dv_infer_tell_of_device(self, network.device());
  if (replaced) gst_dv_infer_let_go_of(self, std::move(replaced));
  return TRUE;
}

gboolean gst_dv_infer_open(GstDvInfer* self, const CancellationPtr& cancellation) {
  const InferSettings settings = gst_dv_infer_settings(self);
  if (!gst_dv_infer_open_network(self, settings, cancellation)) return FALSE;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  PoolPtr old = loaded->pool;
  if (old && old->counts() == gst_dv_infer_slot_counts(settings)) return TRUE;
  {
    const ObjectLock lock(self);
    loaded->pool.reset();
  }
  if (old) gst_dv_infer_let_go_of(self, std::move(old));
  auto pool = gst_dv_infer_make_pool(loaded, settings, cancellation);
  if (!pool.ok()) {
    gst_dv_infer_fail_to_load(self, Topic::kSettings, pool.error());
    return FALSE;
  }
  {
    const ObjectLock lock(self);
    loaded->pool = std::move(pool.value());
  }
  gst_dv_infer_try_out(self, loaded, settings.watchdog_ms, *cancellation);
  return TRUE;
}

void gst_dv_infer_close(GstDvInfer* self) {
  {
    auto& loading = self->priv->loading;
    std::unique_lock<std::mutex> lock(loading.mutex);
    loading.ended.wait(lock, [&] { return loading.under_way == 0; });
  }
  LoadedPtr loaded, next;  // released without the lock
  {
    const ObjectLock lock(self);
    loaded.swap(self->priv->shared.loaded);
    next.swap(self->priv->shared.next);
  }
  if (!loaded) return;
  g_object_notify(G_OBJECT(self), "active-device");
  dvnn::gst::guard(self, "the network cannot be let go of", [&] {
    std::vector<std::shared_ptr<void>> held;
    held.push_back(std::move(loaded));
    held.push_back(std::move(next));
    gst_dv_infer_let_go(self, std::move(held));
  });
}

static dvnn::Result<LoadedPtr> gst_dv_infer_load_with_slots(const InferSettings& settings,
                                                            const CancellationPtr& cancellation) {
  DVNN_ASSIGN(LoadedPtr loaded, gst_dv_infer_load(settings, cancellation));
  DVNN_ASSIGN(loaded->pool, gst_dv_infer_make_pool(loaded, settings, cancellation));
  return loaded;
}

// Loads the network that the settings name now, beside the one in use.
static void gst_dv_infer_load_next(GstDvInfer* self, guint ticket) {
  std::shared_ptr<Cancellation> cancellation;
  {
    const ObjectLock lock(self);
    if (ticket != self->priv->shared.loads) return;  // a newer one is on its way
    cancellation = self->priv->shared.newest_load;
  }
  const InferSettings settings = gst_dv_infer_settings(self);
  auto loaded = gst_dv_infer_load_with_slots(settings, cancellation);
  const Status status = loaded.ok() ? Status() : Status(loaded.error());
  LoadedPtr replaced;  // released without the lock
  {
    const ObjectLock lock(self);
    auto& shared = self->priv->shared;
    if (ticket != shared.loads || !shared.started) return;  // a newer one is on its way
    if (status.ok()) {
      replaced = std::exchange(shared.next, loaded.value());
    } else if (shared.loaded) {
      shared.settings.restore_network(shared.loaded->settings);
    }
  }
  if (status.ok()) return;
  dvnn::gst::post_warning(GST_ELEMENT(self),
                          dvnn::gst::load_topic(settings.network_settings(), status.error()),
                          status.error().within("the network stays as it was"));
  g_object_notify(G_OBJECT(self), "network");
}

// Runs in a thread of GStreamer's, as loading takes longer than a frame.
static void gst_dv_infer_load_async(GstElement* element, gpointer ticket) {
  GstDvInfer* self = GST_DV_INFER(element);
  dvnn::gst::guard(self, "another network cannot be loaded",
                   [&] { gst_dv_infer_load_next(self, GPOINTER_TO_UINT(ticket)); });
  auto& loading = self->priv->loading;
  const std::lock_guard<std::mutex> lock(loading.mutex);
  --loading.under_way;
  loading.ended.notify_all();
}

void gst_dv_infer_follow_settings(GstDvInfer* self, guint count, GParamSpec** specs) {
  guint ticket = 0;
  auto cancellation = std::make_shared<Cancellation>();
  {
    const ObjectLock lock(self);
    auto& shared = self->priv->shared;
    const LoadedPtr& newest = shared.next ? shared.next : shared.loaded;
    bool named = false;
    for (guint i = 0; i < count; ++i) {
      const std::string name = specs[i]->name;
      named |= name == "network" || name == "weights-file" || name == "input-size";
    }
    if (named && shared.started && newest) {
      // A load under way is for older settings, even if these are those of the network in use.
      ++shared.loads;
      if (shared.newest_load) shared.newest_load->cancel();
      shared.newest_load = std::move(cancellation);
      if (newest->settings != shared.settings.network_settings()) ticket = shared.loads;
    }
  }
  if (ticket != 0) {
    {
      const std::lock_guard<std::mutex> lock(self->priv->loading.mutex);
      ++self->priv->loading.under_way;
    }
    gst_element_call_async(GST_ELEMENT(self), gst_dv_infer_load_async, GUINT_TO_POINTER(ticket),
                           nullptr);
  }
}
