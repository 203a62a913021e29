// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvdecode
 * @title: dvdecode
 * @short_description: turns a network's outputs into objects
 *
 * dvdecode reads the outputs that dvinfer attached to a frame, applies the decoder that the network
 * file names, maps the boxes back to the frame and adds what was found to the frame's
 * #GstDvObjectsMeta. For other elements, each object is also exported as a
 * #GstVideoRegionOfInterestMeta: its type is the label, its id the object's, and a `detection`
 * parameter structure holds `label` (string), `confidence` (double, 0..1), `class-id` (int) and the
 * exact box `x0`, `y0`, `x1`, `y1` (double, frame pixels, clipped to the frame). A class of the
 * whole that the network was shown has a `classification` structure of the same fields. Where the
 * plugin is built with GStreamer 1.24 or newer, objects are also written as
 * #GstAnalyticsRelationMeta, which upstream's overlays and trackers read. #GstDvDecode:exports
 * chooses.
 *
 * #GstDvDecode:thresholds, #GstDvDecode:labels, #GstDvDecode:exclude, #GstDvDecode:min-size and
 * #GstDvDecode:max-size choose what is attached, by the names that #GstDvDecode:labels-file gives
 * or the network has. What is known of the whole that the network was shown, such as a map of
 * classes, is of no class and is always attached.
 *
 * Where the network was shown the regions of another network's objects (dvconvert's
 * `regions=objects`), what it found there is the part of those objects: classes and detections have
 * the object as their parent; points, text, embeddings and numbers become the object's own, unless
 * it has some already. Objects that have a track and are not looked at in each frame keep what was
 * found on them.
 *
 * The outputs are then let go, so that dvinfer can use their memory again.
 *
 * Where the plugin is built with GStreamer 1.26 or newer, another element may run the network: with
 * #GstDvDecode:network, the outputs are those tensors of a frame's #GstTensorMeta whose ids are the
 * names of the network's outputs, and the network is taken to have been shown the whole frame.
 *
 * ## Messages
 *
 * With #GstDvDecode:post-messages, an element message `dvnn-objects` is posted for each frame with
 * objects: `timestamp`, `stream-time`, `running-time`, `duration` (guint64, nanoseconds), `network`
 * (string), `inferred` (boolean) and `objects`, a list of structures `object` with `id`, `parent`,
 * `track-id` (guint64), `class-id` (int), `label` (string), `confidence` and `x0`, `y0`, `x1`, `y1`
 * (double); where an object has them, `points` (an array of doubles: x, y and confidence of one
 * after the other), `skeleton` (string), `outline` (an array of doubles: x and y), `text` (string)
 * and `numbers` (a list of structures `number` with `name` and `value`). Masks and embeddings are
 * on the frame alone. With #GstDvDecode:post-empty, one is posted for every other frame, too: also
 * for those without inference, whose `inferred` is false.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode
 * post-messages=true ! fakesink
 * ]| Prints an element message for each frame with objects.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode
 * thresholds="QR code:0.7,barcode:0.4" min-size=0.05 ! dvoverlay ! videoconvert ! autovideosink
 * ]| Asks more of one class than of another, and leaves small things out.
 */
#include "elements/dvdecode/dvdecode.h"

#include <gst/video/video.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "elements/dvdecode/decodesettings.h"
#include "elements/dvdecode/objectsmessage.h"
#include "elements/dvdecode/resultattacher.h"
#include "elements/objectclass.h"
#include "elements/objectfilter.h"
#include "elements/surroundings.h"
#include "errors.h"
#include "frames/videocaps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "guard.h"
#include "meta/outputdecoder.h"
#include "meta/tensordesc.h"
#include "properties.h"
#include "refs.h"
#include "regions/tiles.h"
#include "times.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorexport.h"
#include "meta/exchange/tensorimport.h"
#include "network/dvn_file.h"
#endif

GST_DEBUG_CATEGORY_STATIC(dv_decode_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_decode_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::decode_properties;
using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::ObjectsMessage;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::Topic;
using dvnn::gst::When;
using dvnn::objects::Objects;
using Settings = dvnn::gst::DecodeSettings;

namespace {

// After so many frames without outputs, about a second, a warning says that there may be a mistake.
constexpr guint kBareFramesBeforeWarning = 30;

}  // namespace

struct GstDvDecodePrivate {
  // Under the object lock.
  Settings settings;
  // Streaming thread only.
  Settings current;  // for this frame; kept, as are `regions`, so that their memory is used again
  std::vector<GstDvTensorMeta*> regions;
  std::vector<dvnn::image::Corners> tiles;
  dvnn::image::Size size;  // of frames, as caps have it
  dvnn::gst::OutputDecoder decoder;
  std::string library_path;  // what it has its library from
  dvnn::gst::ObjectFilter filter;
#ifdef DVNN_HAVE_TENSORS
  std::optional<dvnn::gst::TensorImport> import;  // of what `tensor-network` names
  std::string import_path;
#endif
  Objects found;
  dvnn::gst::ResultAttacher attacher;
  guint bare_frames = 0;  // without outputs, and without a reason for that
  bool is_fed = false;    // some frame had outputs, or a reason for none
  bool warned = false;
};

struct _GstDvDecode {
  GstBaseTransform parent;
  GstDvDecodePrivate* priv;
};

G_DEFINE_TYPE(GstDvDecode, gst_dv_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvdecode, "dvdecode", GST_RANK_NONE, GST_TYPE_DV_DECODE)

static GstStaticPadTemplate dv_decode_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate dv_decode_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

// --- decoders of others -------------------------------------------------------------------------

// Why a file that a property names cannot be had, with the element and the property.
static Error gst_dv_decode_blame(GstDvDecode* self, const char* property, const Error& why) {
  return why.within(std::string(GST_OBJECT_NAME(self)) + ": property '" + property + "'");
}

static Status gst_dv_decode_open_library(GstDvDecode* self) {
  std::string path;
  {
    const ObjectLock lock(self);
    path = self->priv->settings.decoder_library;
  }
  if (path == self->priv->library_path) return {};
  std::shared_ptr<const dvnn::decode::CustomDecoders> library;
  if (!path.empty()) {
    auto opened = dvnn::decode::CustomDecoders::open(path);
    if (!opened.ok()) return gst_dv_decode_blame(self, "decoder-library", opened.error());
    library = std::move(opened.value());
  }
  self->priv->decoder.set_library(std::move(library));
  self->priv->library_path = path;
  return {};
}

// --- tensors of others --------------------------------------------------------------------------

#ifdef DVNN_HAVE_TENSORS
static Status gst_dv_decode_open_network(GstDvDecode* self) {
  std::string path;
  {
    const ObjectLock lock(self);
    path = self->priv->settings.tensor_network;
  }
  if (path == self->priv->import_path) return {};
  self->priv->import.reset();
  self->priv->import_path = path;
  if (path.empty()) return {};
  const auto model = dvnn::network::read_dvn(path);
  if (!model.ok()) return gst_dv_decode_blame(self, "tensor-network", model.error());
  if (model.value().decoder.name.empty()) {
    return gst_dv_decode_blame(self, "tensor-network",
                               {ErrorCode::kUnsupported,
                                path + " names no decoder: convert it with --preset or --decoder"});
  }
  self->priv->import.emplace(model.value());
  return {};
}

// Makes outputs, as dvinfer attaches them, from those that another element has attached.
static void gst_dv_decode_import(GstDvDecode* self, GstBuffer* frame) {
  GstDvDecodePrivate& priv = *self->priv;
  if (!priv.import) return;
  const Status status = priv.import->run(frame, dvnn::gst::frame_size(frame, self->priv->size));
  if (status.ok() || status.error().code == ErrorCode::kNotFound || priv.warned) return;
  priv.warned = true;
  dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kSettings, status.error(),
                          "tensors' ids should be the names of the network's outputs");
}
#endif

// --- frames ------------------------------------------------------------------------------------

// Makes one list of what tiles of a frame have found, or what took the place of its objects.
static void gst_dv_decode_merge(GstDvDecode* self, const std::vector<GstDvTensorMeta*>& regions,
                                const dvnn::image::Size& size, const Settings& settings) {
  GstDvDecodePrivate& priv = *self->priv;
  const double threshold = settings.merge_threshold;
  if (settings.refine && regions[0]->region_kind == GST_DV_REGION_OBJECT) {
    dvnn::regions::merge_regions(threshold, &priv.found);
    return;
  }
  priv.tiles.clear();
  for (const GstDvTensorMeta* region : regions) {
    if (region->region_kind != GST_DV_REGION_TILE || region->region != priv.tiles.size()) return;
    priv.tiles.push_back({region->x0, region->y0, region->x1, region->y1});
  }
  if (priv.tiles.size() > 1) {
    dvnn::regions::merge_tiles(priv.tiles, size, threshold, &priv.found);
  }
}

// A frame's outputs may all have come late: then the network has not seen it.
static bool gst_dv_decode_is_inferred(const std::vector<GstDvTensorMeta*>& regions) {
  return std::any_of(regions.begin(), regions.end(),
                     [](const GstDvTensorMeta* region) { return !region->predicted; });
}

// Decodes the outputs of all regions that the network was shown.
static Status gst_dv_decode_outputs(GstDvDecode* self, GstBuffer* frame,
                                    const std::vector<GstDvTensorMeta*>& regions,
                                    const Settings& settings, Topic* topic) {
  GstDvDecodePrivate& priv = *self->priv;
  priv.found.clear();
  priv.filter.configure(settings);
  priv.decoder.set_nms_threshold(settings.nms_threshold);
  priv.decoder.set_refining(settings.refine);
  const dvnn::image::Size size = dvnn::gst::frame_size(frame, self->priv->size);
  for (const GstDvTensorMeta* outputs : regions) {
    DVNN_TRY(
        priv.decoder.decode(*outputs, priv.filter.least_threshold(), size, &priv.found, topic));
  }
  if (!regions.empty()) gst_dv_decode_merge(self, regions, size, settings);
  priv.filter.apply(size, &priv.found);
  // Each region's objects are in order, and some of all of them may not be attached.
  if (regions.size() > 1 && priv.found.size() > settings.max_detections) priv.found.sort_from(0);
  return {};
}

static void gst_dv_decode_release_outputs(GstBuffer* frame,
                                          const std::vector<GstDvTensorMeta*>& regions) {
  for (GstDvTensorMeta* outputs : regions) {
#ifdef DVNN_HAVE_TENSORS
    dvnn::gst::remove_tensor_exports(*outputs, frame);
#endif
    gst_buffer_remove_meta(frame, &outputs->meta);
  }
}

// A box that takes its object's place does so in the frame that it was found in, or not at all.
static void gst_dv_decode_drop_late(GstBuffer* frame, std::vector<GstDvTensorMeta*>* regions) {
  const auto first_late =
      std::stable_partition(regions->begin(), regions->end(),
                            [](const GstDvTensorMeta* region) { return !region->predicted; });
  gst_dv_decode_release_outputs(frame, {first_late, regions->end()});
  regions->erase(first_late, regions->end());
}

// Says once that outputs never come: no dvinfer is upstream, or something loses them.
static void gst_dv_decode_warn(GstDvDecode* self) {
  GstDvDecodePrivate& priv = *self->priv;
  if (priv.warned || priv.is_fed || priv.bare_frames == 0) return;
  priv.warned = true;
  const bool may_have = dvnn::gst::has_source_of_outputs(GST_BASE_TRANSFORM_SINK_PAD(self));
  dvnn::gst::post_warning(
      GST_ELEMENT(self), Topic::kSettings,
      Error{
          ErrorCode::kInvalidArgument,
          dvnn::format("none of %u frames carried outputs of a network: %s", priv.bare_frames,
                       may_have ? "is there something between dvinfer and dvdecode that makes new "
                                  "frames or turns them?"
                                : "there is no dvinfer upstream; dvconvert ! dvinfer ! dvdecode "
                                  "is the order")},
      "docs/metadata.md lists the elements that lose metadata");
}

// Returns whether a frame rightly has no outputs: a dvinfer passed it without inference, there was
// nothing to look at, or another dvdecode has handled it.
static bool gst_dv_decode_is_accounted_for(const GstDvObjectsMeta* meta, guint newest_pass) {
  const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, newest_pass);
  if (pass->state != GST_DV_PASS_INFERRED || pass->regions == 0) return true;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->network == static_cast<gint>(newest_pass)) return true;
  }
  return false;
}

// Handles a frame that no network has looked at, or whose outputs were lost.
static void gst_dv_decode_without_outputs(GstDvDecode* self, GstBuffer* frame,
                                          const Settings& settings) {
  GstDvDecodePrivate& priv = *self->priv;
  const gchar* network = "";
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  if (passes > 0) network = gst_dv_objects_meta_get_pass(meta, passes - 1)->network;
  GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT " has no outputs; %u passes of networks",
                 GST_TIME_ARGS(GST_BUFFER_PTS(frame)), passes);
  if (passes > 0 && gst_dv_decode_is_accounted_for(meta, passes - 1)) {
    priv.is_fed = true;
  } else if (++priv.bare_frames == kBareFramesBeforeWarning) {
    gst_dv_decode_warn(self);
  }
  ObjectsMessage message;
  // Its dvinfer has looked at none of the frame's objects.
  if (passes > 0) priv.attacher.attach_known(frame, network, settings, &message);
  if (!settings.post_messages || (message.empty() && !settings.post_empty)) return;
  message.post(GST_ELEMENT(self), GST_BASE_TRANSFORM(self)->segment, frame, network, false);
}

static GstFlowReturn gst_dv_decode_frame(GstDvDecode* self, GstBuffer* frame) {
  GstDvDecodePrivate& priv = *self->priv;
  {
    const ObjectLock lock(self);
    priv.current = priv.settings;
  }
  const Settings& settings = priv.current;
  priv.attacher.begin_frame(GST_BUFFER_PTS(frame));
#ifdef DVNN_HAVE_TENSORS
  gst_dv_decode_import(self, frame);
#endif
  const GstDvTensorMeta* outputs = gst_buffer_get_dv_tensor_meta(frame);
  if (!outputs || !outputs->network) {
    gst_dv_decode_without_outputs(self, frame, settings);
    return GST_FLOW_OK;
  }
  priv.is_fed = true;
  GstDvNetworkInfo* network = outputs->network;
  std::vector<GstDvTensorMeta*>& regions = priv.regions;
  dvnn::gst::find_outputs(network, frame, &regions);
  if (settings.refine) gst_dv_decode_drop_late(frame, &regions);
  Topic topic = Topic::kData;
  const Status status = gst_dv_decode_outputs(self, frame, regions, settings, &topic);
  if (!status.ok()) {
    dvnn::gst::post_error(
        GST_ELEMENT(self), topic, status.error(),
        dvnn::format("frame at %" GST_TIME_FORMAT "; ", GST_TIME_ARGS(GST_BUFFER_PTS(frame))) +
            priv.decoder.describe());
    return GST_FLOW_ERROR;
  }
  // Only a box can take the place of an object; other results are facts about it.
  const bool refine = settings.refine && priv.decoder.kind() == dvnn::objects::Kind::kDetection;
  const gchar* name = gst_dv_network_info_get_name(network);
  std::optional<ObjectsMessage> message;
  if (settings.post_messages) message.emplace();
  const guint attached = priv.attacher.attach(frame, name, regions, priv.found, refine, settings,
                                              message ? &*message : nullptr);
  GST_LOG_OBJECT(self, "%u objects by '%s' at %" GST_TIME_FORMAT, attached, name,
                 GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
  if (message && (!message->empty() || settings.post_empty)) {
    message->post(GST_ELEMENT(self), GST_BASE_TRANSFORM(self)->segment, frame, name,
                  gst_dv_decode_is_inferred(regions));
  }
  gst_dv_decode_release_outputs(frame, regions);
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_decode_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return dvnn::gst::guard(trans, "the frame's outputs cannot be decoded", GST_FLOW_ERROR,
                          [&] { return gst_dv_decode_frame(GST_DV_DECODE(trans), frame); });
}

static void gst_dv_decode_before_transform(GstBaseTransform* trans, GstBuffer* frame) {
  dvnn::gst::sync_properties(trans, trans->segment, frame);
}

// --- stream ------------------------------------------------------------------------------------

static gboolean gst_dv_decode_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  const dvnn::image::Size size = dvnn::gst::frame_size(incaps);
  GST_DEBUG_OBJECT(trans, "frames are %" GST_PTR_FORMAT, incaps);
  GST_DV_DECODE(trans)->priv->size = size;
  return size.width > 0 && size.height > 0;
}

static gboolean gst_dv_decode_sink_event(GstBaseTransform* trans, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
    dvnn::gst::guard(trans, "the end of the stream",
                     [&] { gst_dv_decode_warn(GST_DV_DECODE(trans)); });
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_decode_parent_class)->sink_event(trans, event);
}

static gboolean gst_dv_decode_start(GstBaseTransform* trans) {
  GstDvDecodePrivate& priv = *GST_DV_DECODE(trans)->priv;
  priv.bare_frames = 0;
  priv.is_fed = priv.warned = false;
  return TRUE;
}

static bool gst_dv_decode_open(GstElement* element) {
  return dvnn::gst::guard(element, "its files cannot be read", false, [&]() -> bool {
    Status status = gst_dv_decode_open_library(GST_DV_DECODE(element));
#ifdef DVNN_HAVE_TENSORS
    if (status.ok()) status = gst_dv_decode_open_network(GST_DV_DECODE(element));
#endif
    if (!status.ok()) dvnn::gst::post_error(element, Topic::kFile, status.error());
    return status.ok();
  });
}

static gboolean gst_dv_decode_stop(GstBaseTransform* trans) {
  GST_DV_DECODE(trans)->priv->decoder.reset();
  GST_DV_DECODE(trans)->priv->attacher.reset();
  return TRUE;
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_decode_init(GstDvDecode* self) {
  self->priv = new GstDvDecodePrivate();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_decode_class_init(GstDvDecodeClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_decode_debug, "dvdecode", 0, "Decoding of network outputs");
  own_private<GstDvDecode>(object_class);
  own_properties<GstDvDecode, made_once<decode_properties>>(object_class);
  element_class->change_state = dvnn::gst::change_state<gst_dv_decode_open>;
  gst_element_class_set_static_metadata(
      element_class, "DV network output decoder", "Filter/Analyzer/Video",
      "Turns the outputs that dvinfer attached into objects on the frame", "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_decode_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_decode_src_template);
  trans_class->start = GST_DEBUG_FUNCPTR(gst_dv_decode_start);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_decode_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_decode_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_decode_sink_event);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(gst_dv_decode_before_transform);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_decode_transform_ip);
}
