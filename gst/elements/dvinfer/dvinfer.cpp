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
 * Inputs of the network beside the frame take their values from the other tensors of such a stream,
 * from the newest #GstDvTensorMeta of the frame that has a tensor of the input's name, or from
 * #GstDvInfer:live-inputs. States go from one frame to the next; they begin anew where the stream
 * is not continued.
 *
 * ## A network after a network
 *
 * With #GstDvInfer:input-from the network's input is not the frame, but an output of a dvinfer
 * upstream, which that one has attached to the frame: features that a detector makes, or numbers
 * that are not of a picture. `mean` and `scale` of the network apply to these numbers as to pixels.
 * The newest network upstream with such an output that fits counts; `NETWORK/OUTPUT` names one.
 *
 * If the input has room for more than one result, it is a window over the newest ones: results are
 * rows along the one axis in which the shapes differ, the outermost if there are several. The
 * network does not run before the window is full; then each result moves it and is a reason to run,
 * of which #GstDvInfer:interval-frames, #GstDvInfer:interval-ms and #GstDvInfer:max-rate choose.
 * Results on objects (dvconvert's `regions=objects`) have a window for each track, and none without
 * a track. Windows begin anew with a buffer that has the flag DISCONT, a flush, a segment, new
 * caps, another stream or network, after #GstDvInfer:active was false, and with numbers that are
 * not finite.
 *
 * A frame without a new result, or whose window is not full, passes as one that the rules leave
 * out: its #GstDvObjectsMeta says `skipped`. What the network finds belongs to the part of the
 * frame that the results are about. If all networks upstream have run and none has such an output,
 * the frame has failed (#GstDvInfer:on-error).
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
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <memory>

#include "elements/dvinfer/infercontext.h"
#include "elements/dvinfer/latencyreport.h"
#include "elements/dvinfer/negotiation.h"
#include "elements/dvinfer/networks.h"
#include "elements/dvinfer/sinkside.h"
#include "elements/dvinfer/sourceside.h"
#include "elements/dvinfer/workers.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/caps.h"
#include "infer/deviceturns.h"
#include "refs.h"

GST_DEBUG_CATEGORY(dv_infer_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {

G_DECLARE_FINAL_TYPE(GstDvInfer, gst_dv_infer, GST, DV_INFER, GstElement)

// The parts; each knows only those above it.
struct GstDvInferPrivate {
  InferContext context;
  Negotiation negotiation{&context};
  Networks networks{&context};
  LatencyReport latency{&context, &networks};
  SourceSide source{&context, &networks, &latency, &negotiation};
  SinkSide sink{&context, &networks, &latency, &negotiation, &source};
  Workers workers{&context};
};

struct _GstDvInfer {
  GstElement parent;
  GstDvInferPrivate* priv;
};

G_DEFINE_TYPE(GstDvInfer, gst_dv_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvinfer, "dvinfer", GST_RANK_NONE, gst_dv_infer_get_type())

static GstStaticPadTemplate dv_infer_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS "; " DVNN_WINDOWS_CAPS));
static GstStaticPadTemplate dv_infer_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS "; " DVNN_WINDOWS_CAPS));

static guint prop_stats;  // the row after those of the settings
static guint prop_active_device;

// --- pads --------------------------------------------------------------------------------------

static GstFlowReturn gst_dv_infer_chain(GstPad*, GstObject* parent, GstBuffer* buffer) {
  return guard(parent, "a frame cannot be taken", GST_FLOW_ERROR,
               [&] { return GST_DV_INFER(parent)->priv->sink.take(BufferPtr(buffer)); });
}

static gboolean gst_dv_infer_sink_event(GstPad*, GstObject* parent, GstEvent* event) {
  return GST_DV_INFER(parent)->priv->sink.take_event(EventPtr(event));
}

static gboolean gst_dv_infer_sink_query(GstPad*, GstObject* parent, GstQuery* query) {
  return GST_DV_INFER(parent)->priv->sink.answer(query);
}

static gboolean gst_dv_infer_src_event(GstPad*, GstObject* parent, GstEvent* event) {
  return GST_DV_INFER(parent)->priv->source.take_event(EventPtr(event));
}

static gboolean gst_dv_infer_src_query(GstPad*, GstObject* parent, GstQuery* query) {
  return GST_DV_INFER(parent)->priv->source.answer(query);
}

static gboolean gst_dv_infer_src_activate_mode(GstPad*, GstObject* parent, GstPadMode mode,
                                               gboolean active) {
  return mode == GST_PAD_MODE_PUSH && GST_DV_INFER(parent)->priv->source.activate(active);
}

static GstPad* gst_dv_infer_add_sink_pad(GstElement* element) {
  GstPad* pad = gst_pad_new_from_static_template(&dv_infer_sink_template, "sink");
  gst_pad_set_chain_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_chain));
  gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_sink_event));
  gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_sink_query));
  gst_element_add_pad(element, pad);
  return pad;
}

static GstPad* gst_dv_infer_add_src_pad(GstElement* element) {
  GstPad* pad = gst_pad_new_from_static_template(&dv_infer_src_template, "src");
  gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_src_event));
  gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_src_query));
  gst_pad_set_activatemode_function(pad, GST_DEBUG_FUNCPTR(gst_dv_infer_src_activate_mode));
  gst_element_add_pad(element, pad);
  return pad;
}

// --- start and stop ----------------------------------------------------------------------------

// Nothing here takes long, as all that does was done on the way to READY: elements that GStreamer
// has started before this one may push already, and lose what this one does not take.
static void gst_dv_infer_start(GstDvInferPrivate* priv) {
  const InferSettings settings = priv->context.settings();
  Intake& intake = *priv->context.intake();
  intake.live = false;
  intake.admission.reset();
  intake.admission.set_rules(settings.admission());
  intake.stats.reset();
  intake.latency.reset();
  InferQueue::Limits limits;
  limits.inferences = settings.max_in_flight;
  priv->context.exchange_queue(std::make_shared<InferQueue>(
      limits, [priv](InferItem* item, size_t region) { return priv->source.run(item, region); },
      [priv](bool run) { priv->source.set_task(run); }, GST_OBJECT_NAME(priv->context.element())));
  priv->workers.start(settings.max_in_flight);
  priv->sink.start();
  priv->source.start();
  priv->networks.start();
}

static void gst_dv_infer_stop(GstDvInferPrivate* priv) {
  const bool all_ended = priv->workers.stop();
  DeviceTurns::of_process().leave(priv->context.element());
  priv->sink.stop();
  priv->networks.stop(priv->context.exchange_queue(nullptr), all_ended);
}

// Prepares what an upward change of state needs; false if that fails.
static bool gst_dv_infer_prepare(GstDvInfer* self, GstStateChange transition) {
  if (!prepares(transition)) return true;
  if (!settings_are_right(GST_ELEMENT(self))) return false;
  return guard(self, "the network cannot be loaded", false, [&] {
    // Again on the way to PAUSED, for what was set in READY.
    const bool good = self->priv->networks.open();
    if (good && transition == GST_STATE_CHANGE_READY_TO_PAUSED) gst_dv_infer_start(self->priv);
    return good;
  });
}

// While another thread waits for a change of state upwards: its load ends first.
static GstStateChangeReturn gst_dv_infer_set_state(GstElement* element, GstState state) {
  if (state == GST_STATE_NULL) GST_DV_INFER(element)->priv->networks.cancel_opening();
  return GST_ELEMENT_CLASS(gst_dv_infer_parent_class)->set_state(element, state);
}

static GstStateChangeReturn gst_dv_infer_change_state(GstElement* element,
                                                      GstStateChange transition) {
  GstDvInfer* self = GST_DV_INFER(element);
  GstDvInferPrivate* priv = self->priv;
  if (!gst_dv_infer_prepare(self, transition)) {
    if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) gst_dv_infer_stop(priv);
    return GST_STATE_CHANGE_FAILURE;
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_dv_infer_parent_class)->change_state(element, transition);
  const bool failed_start =
      transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY || failed_start) gst_dv_infer_stop(priv);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL) priv->networks.close();
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !failed_start) {
    // dvconvert may know slots of an earlier start.
    gst_pad_push_event(priv->context.sinkpad(), gst_event_new_reconfigure());
  }
  return result;
}

// --- properties --------------------------------------------------------------------------------

static void gst_dv_infer_set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GstDvInferPrivate& priv = *GST_DV_INFER(object)->priv;
  const auto& properties = made_once<infer_properties>();
  if (!properties.rows.set(GST_ELEMENT(object), priv.context.properties(), id, value)) return;
  const InferRules rules = priv.context.rules();
  priv.context.intake()->admission.set_rules(rules.admission());
  const bool is_latency = id == properties.latency || id == properties.active;
  if (is_latency || id == properties.max_held) priv.latency.limit_frames(rules);
  if (is_latency) priv.context.post(gst_message_new_latency(GST_OBJECT(object)));
}

static void gst_dv_infer_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GstDvInferPrivate& priv = *GST_DV_INFER(object)->priv;
  if (id == prop_stats) {
    g_value_take_boxed(value, priv.source.stats());
  } else if (id == prop_active_device) {
    const LoadedPtr loaded = priv.networks.loaded();
    if (loaded) g_value_set_string(value, loaded->network->device().name().c_str());
  } else {
    made_once<infer_properties>().rows.get(GST_ELEMENT(object), priv.context.properties(), id,
                                           value);
  }
}

// All properties of one g_object_set() call are set by now, so one load is enough for them.
static void gst_dv_infer_dispatch_properties_changed(GObject* object, guint count,
                                                     GParamSpec** specs) {
  guard(object, "another network cannot be loaded",
        [&] { GST_DV_INFER(object)->priv->networks.follow_settings(count, specs); });
  G_OBJECT_CLASS(gst_dv_infer_parent_class)->dispatch_properties_changed(object, count, specs);
}

static void gst_dv_infer_init(GstDvInfer* self) {
  GstElement* element = GST_ELEMENT(self);
  GstPad* sink = gst_dv_infer_add_sink_pad(element);
  self->priv = new GstDvInferPrivate{{element, sink, gst_dv_infer_add_src_pad(element)}};
}

static void gst_dv_infer_class_init(GstDvInferClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_infer_debug, "dvinfer", 0, "Network inference");
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
  gst_element_class_add_static_pad_template(element_class, &dv_infer_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_infer_src_template);
  element_class->set_state = GST_DEBUG_FUNCPTR(gst_dv_infer_set_state);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_dv_infer_change_state);
}

}  // namespace dvnn::gst
