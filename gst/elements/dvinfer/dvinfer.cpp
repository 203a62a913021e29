// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvinfer
 * @title: dvinfer
 * @short_description: runs a convolutional network on each frame
 *
 * dvinfer runs a converted network (a .dvn file, see `dvnet convert`) on the tensor that dvconvert
 * made of each frame, on the DV FPGA or on the software device, and attaches the outputs to the
 * frame as a #GstDvTensorMeta. Frames that come without a tensor, or with one made for another
 * network, are converted here, looked at as the last dvconvert was told.
 *
 * The network may also be a library of C++ sources that the vendor's converter, or `dvnet convert
 * --emit-cpp`, wrote: #GstDvInfer:weights-file then names its packed weights. A .dvn file's network
 * can be planned for another size of input, #GstDvInfer:input-size.
 *
 * Streams of tensors (`other/tensors`, as NNStreamer's) are taken where they are the network's
 * input: its numbers as float32 or float16 in rows of pixels (`C:W:H:1`) or planes (`W:H:C:1`), or
 * 8-bit RGB or gray pixels, `format=static` or `flexible`. They are made of its outputs, one tensor
 * each, where downstream asks for them; outputs that the device leaves are `C:W:H:N` there.
 *
 * Up to #GstDvInfer:max-in-flight frames are worked on at once; their order does not change.
 *
 * Where the plugin is built with GStreamer 1.26 or newer, outputs are also attached as
 * #GstTensorMeta, for other elements' decoders: by default those that cost nothing,
 * #GstDvInfer:tensor-meta decides.
 *
 * ## When the network is slower than the camera
 *
 * By default each frame waits for its inference. With #GstDvInfer:when-busy,
 * #GstDvInfer:interval-ms, #GstDvInfer:interval-frames or #GstDvInfer:max-rate video keeps its
 * rate, and frames pass without inference in between, marked so in their #GstDvObjectsMeta. This is
 * decided before a frame is converted, also by a dvconvert upstream.
 *
 * With #GstDvInfer:when-busy at `pass`, frames on which the network looks at objects that have
 * tracks do not wait for it either: they leave, and its results join the next frame on which the
 * track is. #GstDvInfer:late-results and #GstDvInfer:late-after-ms say otherwise.
 *
 * ## Another network
 *
 * #GstDvInfer:network, #GstDvInfer:weights-file and #GstDvInfer:input-size may be set while
 * playing. The new network is loaded beside the old one and takes over between two frames; an
 * element message `network-changed` (`network`: its file, `name`) tells. If it cannot be loaded, a
 * warning says why, and the old one stays.
 *
 * To load a network, or to plan it for another size, may take seconds. It ends at once where the
 * element goes to NULL, or where another network is named meanwhile. A change of state from NULL
 * waits for it; another thread ends that by setting this element itself to NULL.
 *
 * ## The device
 *
 * #GstDvInfer:active-device is the device in use. Where `auto` had to do without the vendor's
 * library, which is installed but does not work, a warning says why; `dvnet doctor` tells more.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer device=soft ! dvdecode !
 * dvoverlay ! videoconvert ! autovideosink
 * ]| Runs the default network on the software device.
 */
#include "elements/dvinfer/dvinfer.h"

#include <utility>

#include "elements/dvinfer/dvinferlatency.h"
#include "elements/dvinfer/dvinfernetworks.h"
#include "elements/dvinfer/dvinferrun.h"
#include "elements/dvinfer/dvinfersink.h"
#include "elements/dvinfer/dvinfersrc.h"
#include "elements/dvinfer/dvinferworkers.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "guard.h"
#include "infer/deviceturns.h"
#include "refs.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Cancellation;
using dvnn::Error;
using dvnn::Status;
using dvnn::gst::infer_properties;
using dvnn::gst::InferSettings;
using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::SlotPool;
using dvnn::gst::Topic;

G_DEFINE_TYPE(GstDvInfer, gst_dv_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvinfer, "dvinfer", GST_RANK_NONE, GST_TYPE_DV_INFER)

static guint prop_stats;  // the row after those of the settings
static guint prop_active_device;

// All properties of one g_object_set() call are set by now, so one load is enough for them.
static void gst_dv_infer_dispatch_properties_changed(GObject* object, guint count,
                                                     GParamSpec** specs) {
  dvnn::gst::guard(object, "another network cannot be loaded",
                   [&] { gst_dv_infer_follow_settings(GST_DV_INFER(object), count, specs); });
  G_OBJECT_CLASS(gst_dv_infer_parent_class)->dispatch_properties_changed(object, count, specs);
}

// --- start and stop ----------------------------------------------------------------------------

// Nothing here takes long, as all that does was done on the way to READY: elements that GStreamer
// has started before this one may push already, and lose what this one does not take.
static void gst_dv_infer_start(GstDvInfer* self) {
  GstDvInferPrivate& priv = *self->priv;
  const InferSettings settings = gst_dv_infer_settings(self);
  priv.intake->live = false;
  priv.intake->admission.reset();
  priv.intake->admission.set_rules(settings.admission());
  priv.intake->stats.reset();
  priv.intake->latency.reset();
  priv.outputs_pushed = 0;
  priv.late.reset();
  dvnn::gst::InferQueue::Limits limits;
  limits.inferences = settings.max_in_flight;
  auto queue = std::make_shared<dvnn::gst::InferQueue>(
      limits,
      [self](dvnn::gst::InferItem* item, size_t region) {
        return gst_dv_infer_run(self, item, region);
      },
      [self](bool run) { gst_dv_infer_set_task(self, run); }, GST_OBJECT_NAME(self));
  {
    const ObjectLock lock(self);
    priv.queue = std::move(queue);
  }
  gst_dv_infer_start_workers(self, settings.max_in_flight);
  gst_segment_init(&priv.sink.segment, GST_FORMAT_UNDEFINED);
  priv.sink.have_video = priv.sink.tensors_in = priv.sink.tensors_out = false;
  gst_dv_infer_estimate_latency(self);
  priv.stats_posted_us = g_get_monotonic_time();
#ifdef DVNN_HAVE_TENSORS
  priv.exporter.reset();
  priv.export_failed = false;
#endif
  const ObjectLock lock(self);
  priv.shared.started = true;
}

static void gst_dv_infer_stop(GstDvInfer* self) {
  GstDvInferPrivate& priv = *self->priv;
  const bool all_ended = gst_dv_infer_stop_workers(self);
  dvnn::gst::DeviceTurns::of_process().leave(self);
  priv.sink.converters.reset();
  priv.sink.converters_of.reset();
  LoadedPtr next;
  std::shared_ptr<dvnn::gst::InferQueue> queue;
  std::shared_ptr<SlotPool> pool;  // released without the lock
  {
    const ObjectLock lock(self);
    queue.swap(priv.queue);
    priv.shared.started = false;
    ++priv.shared.loads;  // nobody waits for a load under way any more
    if (priv.shared.newest_load) priv.shared.newest_load->cancel();
    next.swap(priv.shared.next);
    // The next start uses the pool again, unless a worker that was lost has some of its slots.
    if (priv.shared.loaded) {
      pool = priv.shared.loaded->pool;
      if (!all_ended) priv.shared.loaded->pool.reset();
    }
  }
  if (pool) pool->set_flushing(true);
  dvnn::gst::guard(self, "the slots cannot be let go of", [&] {
    std::vector<std::shared_ptr<void>> held;
    held.push_back(std::move(queue));
    held.push_back(std::move(next));
    held.push_back(std::move(pool));
    gst_dv_infer_let_go(self, std::move(held));
  });
}

// Prepares what an upward change of state needs; false if that fails.
static bool gst_dv_infer_prepare(GstDvInfer* self, GstStateChange transition) {
  if (transition != GST_STATE_CHANGE_NULL_TO_READY &&
      transition != GST_STATE_CHANGE_READY_TO_PAUSED) {
    return true;
  }
  if (!dvnn::gst::settings_are_right(GST_ELEMENT(self))) return false;
  return dvnn::gst::guard(self, "the network cannot be loaded", false, [&]() -> bool {
    const auto cancellation = std::make_shared<Cancellation>();
    auto set_opening = [self](std::shared_ptr<Cancellation> now) {
      const ObjectLock lock(self);
      self->priv->shared.opening = std::move(now);
    };
    set_opening(cancellation);
    // Again on the way to PAUSED, for what was set in READY.
    const gboolean good = gst_dv_infer_open(self, cancellation);
    set_opening(nullptr);
    if (good && transition == GST_STATE_CHANGE_READY_TO_PAUSED) gst_dv_infer_start(self);
    return good;
  });
}

// While another thread waits for a change of state upwards: its load ends first.
static GstStateChangeReturn gst_dv_infer_set_state(GstElement* element, GstState state) {
  if (state == GST_STATE_NULL) {
    const ObjectLock lock(element);
    const auto& opening = GST_DV_INFER(element)->priv->shared.opening;
    if (opening) opening->cancel();
  }
  return GST_ELEMENT_CLASS(gst_dv_infer_parent_class)->set_state(element, state);
}

static GstStateChangeReturn gst_dv_infer_change_state(GstElement* element,
                                                      GstStateChange transition) {
  GstDvInfer* self = GST_DV_INFER(element);
  if (!gst_dv_infer_prepare(self, transition)) {
    if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) gst_dv_infer_stop(self);
    return GST_STATE_CHANGE_FAILURE;
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_dv_infer_parent_class)->change_state(element, transition);
  const bool failed_start =
      transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY || failed_start) gst_dv_infer_stop(self);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL) gst_dv_infer_close(self);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !failed_start) {
    // dvconvert may know slots of an earlier start.
    gst_pad_push_event(self->sinkpad, gst_event_new_reconfigure());
  }
  return result;
}

// --- properties --------------------------------------------------------------------------------

static void gst_dv_infer_set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GstDvInfer* self = GST_DV_INFER(object);
  if (!made_once<infer_properties>().rows.set(GST_ELEMENT(self), &self->priv->shared.settings, id,
                                              value)) {
    return;
  }
  self->priv->intake->admission.set_rules(gst_dv_infer_rules(self).admission());
  const auto& properties = made_once<infer_properties>();
  const bool is_latency = id == properties.latency || id == properties.active;
  if (is_latency || id == properties.max_held) {
    gst_dv_infer_limit_frames(self, gst_dv_infer_rules(self));
  }
  if (is_latency) {
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
  }
}

static void gst_dv_infer_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GstDvInfer* self = GST_DV_INFER(object);
  if (id == prop_stats) {
    g_value_take_boxed(value, gst_dv_infer_stats(self));
    return;
  }
  if (id == prop_active_device) {
    const LoadedPtr loaded = gst_dv_infer_loaded(self);
    if (loaded) g_value_set_string(value, loaded->network->device().name().c_str());
    return;
  }
  made_once<infer_properties>().rows.get(GST_ELEMENT(self), &self->priv->shared.settings, id,
                                         value);
}

static void gst_dv_infer_init(GstDvInfer* self) {
  self->priv = new GstDvInferPrivate();
  gst_dv_infer_init_sink_pad(self);
  gst_dv_infer_init_src_pad(self);
}

static void gst_dv_infer_class_init(GstDvInferClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(gst_dv_infer_debug, "dvinfer", 0, "Network inference");
  own_private<GstDvInfer>(object_class);
  object_class->set_property = gst_dv_infer_set_property;
  object_class->get_property = gst_dv_infer_get_property;
  object_class->dispatch_properties_changed = gst_dv_infer_dispatch_properties_changed;
  prop_stats = made_once<infer_properties>().rows.install(object_class) + 1;
  g_object_class_install_property(
      object_class, prop_stats,
      g_param_spec_boxed(
          "stats", "Statistics",
          "Counts of frames since the start, their times in milliseconds, the device's load and "
          "its slots (docs/metadata.md)",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  prop_active_device = prop_stats + 1;
  g_object_class_install_property(
      object_class, prop_active_device,
      g_param_spec_string(
          "active-device", "Active device",
          "The device in use from READY on: fpga, soft, or the path of a device library", nullptr,
          static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  gst_element_class_set_static_metadata(
      element_class, "DV network inference", "Filter/Analyzer/Video",
      "Runs a convolutional network on each frame, on the DMP DV FPGA or on the software device, "
      "and attaches its outputs to the frame",
      "gst-dvnn developers");
  gst_dv_infer_add_sink_template(element_class);
  gst_dv_infer_add_src_template(element_class);
  element_class->set_state = GST_DEBUG_FUNCPTR(gst_dv_infer_set_state);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_dv_infer_change_state);
}
