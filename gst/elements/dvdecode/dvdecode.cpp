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
 * exact box `x0`, `y0`, `x1`, `y1` (double, frame pixels, clipped to the frame). A classification
 * of everything that the network was shown has a `classification` structure with the same fields.
 * If the plugin is built with GStreamer 1.24 or newer, objects are also written as
 * #GstAnalyticsRelationMeta, which upstream's overlays and trackers read. #GstDvDecode:exports
 * chooses between the two.
 *
 * #GstDvDecode:thresholds, #GstDvDecode:labels, #GstDvDecode:exclude, #GstDvDecode:min-size and
 * #GstDvDecode:max-size choose which objects are attached, by the labels of
 * #GstDvDecode:labels-file or of the network. Results about everything that the network was shown,
 * such as a map of classes, have no class and are always attached. A network's file may have
 * thresholds for its labels (`dvnet evaluate --keep`). They count while #GstDvDecode:threshold and
 * #GstDvDecode:thresholds have their defaults.
 *
 * If the network was shown the objects of another network (dvconvert's `regions=objects`), its
 * results belong to those objects: classes and detections have the object as their parent; points,
 * text, embeddings and numbers become the object's own, unless it has some already. Objects that
 * have a track keep their results in frames in which the network is not shown them.
 *
 * With #GstDvDecode:agree, several looks at an object with a track are made into one reading:
 * classes by summed log-odds, texts by votes on each character, numbers and embeddings by their
 * mean. The object, or the class, tells how many looks there were and how sure they are together
 * (gst_dv_object_get_agreement()). Once they agree, dvconvert shows the object to the network again
 * only when it has grown by half. #GstDvDecode:pattern says what texts look like; others are no
 * rivals.
 *
 * The outputs are then removed from the frame, so that dvinfer can use their memory again. Outputs
 * of a network without a decoder, which another one runs on (dvinfer's `input-from`), stay.
 *
 * If the plugin is built with GStreamer 1.26 or newer, another element may run the network. Then
 * #GstDvDecode:tensor-network names its .dvn file: the outputs are those tensors of a frame's
 * #GstTensorMeta whose ids are the names of the network's outputs, and the network is assumed to
 * have been shown the whole frame.
 *
 * ## Messages
 *
 * With #GstDvDecode:post-messages, an element message `dvnn-objects` is posted for each frame with
 * objects: `timestamp`, `stream-time`, `running-time`, `duration` (guint64, nanoseconds), `network`
 * (string), `inferred` (boolean) and `objects`, a list of structures `object` with `id`, `parent`,
 * `track-id` (guint64), `class-id` (int), `label` (string), `confidence` and `x0`, `y0`, `x1`, `y1`
 * (double); where an object has them, `points` (an array of doubles: x, y and confidence of one
 * after the other), `skeleton` (string), `outline` (an array of doubles: x and y), `text` (string)
 * and `numbers` (a list of structures `number` with `name` and `value`); with #GstDvDecode:agree,
 * `looks` (uint), `agreement` (double) and `agreed` (boolean). Masks and embeddings are on the
 * frame alone. With #GstDvDecode:post-empty, frames without objects have a message, too;
 * `inferred` is false if the frame was not inferred.
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
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "elements/dvdecode/decodesettings.h"
#include "elements/dvdecode/objectsmessage.h"
#include "elements/dvdecode/resultattacher.h"
#include "elements/neighbours.h"
#include "elements/objectfilter.h"
#include "errors.h"
#include "frames/caps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "log.h"
#include "meta/metas.h"
#include "meta/outputdecoder.h"
#include "meta/tensordesc.h"
#include "regions/tiles.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorexport.h"
#include "meta/exchange/tensorimport.h"
#include "network/dvn_file.h"
#endif

DVNN_LOG_CATEGORY(decode_category, "dvdecode", "Decoding of network outputs")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT decode_category()

namespace dvnn::gst {
namespace {

// Frames without outputs (about a second) before a warning says that there may be a mistake.
constexpr guint kBareFramesBeforeWarning = 30;

// A network's outputs for the regions of a frame.
using Regions = std::vector<GstDvTensorMeta*>;

class DecodeElement final : public ElementWithSettings<DecodeSettings> {
 public:
  using ElementWithSettings::ElementWithSettings;

  bool open() override;
  void start() override;
  void stop() override;
  bool set_caps(GstCaps* in, GstCaps* out) override;
  void event(GstEvent* event) override;
  GstFlowReturn frame(GstBuffer* frame) override;

 private:
  Error blame(const char* property, const Error& why) const;
  Status open_library();
  void merge(const Regions& regions, const image::Size& size);
  Status decode(GstBuffer* frame, const Regions& regions, Topic* topic);
  void warn_of_no_outputs();
  void pass_without_outputs(GstBuffer* frame);
#ifdef DVNN_HAVE_TENSORS
  Status open_network();
  void import_outputs(GstBuffer* frame);
#endif

  // Streaming thread only. Lists are members, so that their memory is reused.
  Regions regions_;
  std::vector<image::Corners> tiles_;
  image::Size size_;  // of frames, from caps
  OutputDecoder decoder_;
  std::string library_path_;  // the library that is open
  ObjectFilter filter_;
#ifdef DVNN_HAVE_TENSORS
  std::optional<TensorImport> import_;  // reads outputs of the network `tensor-network`
  std::string import_path_;
#endif
  objects::Objects found_;
  ResultAttacher attacher_;
  guint bare_frames_ = 0;  // frames without outputs, and without a reason for that
  bool is_fed_ = false;    // whether any frame had outputs, or a reason for having none
  bool warned_ = false;
};

// --- decoders of others -------------------------------------------------------------------------

// Adds the element and the property to an error about a file that the property names.
Error DecodeElement::blame(const char* property, const Error& why) const {
  return why.within(std::string(GST_OBJECT_NAME(element())) + ": property '" + property + "'");
}

Status DecodeElement::open_library() {
  const std::string& path = current().decoder_library;
  if (path == library_path_) return {};
  std::shared_ptr<const decode::CustomDecoders> library;
  if (!path.empty()) {
    auto opened = decode::CustomDecoders::open(path);
    if (!opened.ok()) return blame("decoder-library", opened.error());
    library = std::move(opened.value());
  }
  decoder_.set_library(std::move(library));
  library_path_ = path;
  return {};
}

// --- tensors of others --------------------------------------------------------------------------

#ifdef DVNN_HAVE_TENSORS
Status DecodeElement::open_network() {
  const std::string& path = current().tensor_network;
  if (path == import_path_) return {};
  import_.reset();
  import_path_ = path;
  if (path.empty()) return {};
  const auto model = network::read_dvn(path);
  if (!model.ok()) return blame("tensor-network", model.error());
  if (model.value().decoder.name.empty()) {
    return blame("tensor-network",
                 {ErrorCode::kUnsupported,
                  path + " names no decoder: convert it with --preset or --decoder"});
  }
  import_.emplace(model.value());
  return {};
}

// Turns another element's tensors into outputs as dvinfer attaches them.
void DecodeElement::import_outputs(GstBuffer* frame) {
  if (!import_) return;
  const Status status = import_->run(frame, frame_size(frame, size_));
  if (status.ok() || status.error().code == ErrorCode::kNotFound || warned_) return;
  warned_ = true;
  post_warning(element(), Topic::kSettings, status.error(),
               "tensors' ids should be the names of the network's outputs");
}
#endif

// --- frames ------------------------------------------------------------------------------------

// Merges what the tiles of a frame have found, or the boxes that replace its objects (refine).
void DecodeElement::merge(const Regions& regions, const image::Size& size) {
  const DecodeSettings& settings = current();
  const double threshold = settings.merge_threshold;
  if (settings.refine && regions[0]->region_kind == GST_DV_REGION_OBJECT) {
    regions::merge_regions(threshold, &found_);
    return;
  }
  tiles_.clear();
  for (const GstDvTensorMeta* region : regions) {
    if (region->region_kind != GST_DV_REGION_TILE || region->region != tiles_.size()) return;
    tiles_.push_back({region->x0, region->y0, region->x1, region->y1});
  }
  if (tiles_.size() > 1) {
    regions::merge_tiles(tiles_, size, threshold, &found_);
  }
}

// Returns whether the network has seen this frame. It has not if all outputs are late ones of
// earlier frames.
bool is_inferred(const Regions& regions) {
  return std::any_of(regions.begin(), regions.end(),
                     [](const GstDvTensorMeta* region) { return !region->predicted; });
}

// Decodes the outputs of all regions of a frame.
Status DecodeElement::decode(GstBuffer* frame, const Regions& regions, Topic* topic) {
  const DecodeSettings& settings = current();
  found_.clear();
  filter_.configure(settings);
  decoder_.set_nms_threshold(settings.nms_threshold);
  decoder_.set_refining(settings.refine);
  const image::Size size = frame_size(frame, size_);
  for (const GstDvTensorMeta* outputs : regions) {
    DVNN_TRY(decoder_.prepare(*outputs, topic));
    filter_.set_network_thresholds(decoder_.class_thresholds());
    DVNN_TRY(decoder_.decode(*outputs, filter_.least_threshold(), size, &found_, topic));
  }
  if (!regions.empty()) merge(regions, size);
  filter_.apply(size, &found_);
  // Each region's objects are sorted; if some are to be left out, the whole list must be.
  if (regions.size() > 1 && found_.size() > settings.max_detections) found_.sort_from(0);
  return {};
}

void release_outputs(GstBuffer* frame, const Regions& regions) {
  for (GstDvTensorMeta* outputs : regions) {
#ifdef DVNN_HAVE_TENSORS
    remove_tensor_exports(*outputs, frame);
#endif
    gst_buffer_remove_meta(frame, &outputs->meta);
  }
}

// Removes late outputs: a refined box is right only in the frame that it was found in.
void drop_late(GstBuffer* frame, Regions* regions) {
  const auto first_late =
      std::stable_partition(regions->begin(), regions->end(),
                            [](const GstDvTensorMeta* region) { return !region->predicted; });
  release_outputs(frame, {first_late, regions->end()});
  regions->erase(first_late, regions->end());
}

// Warns once that no outputs come: there is no dvinfer upstream, or an element loses them.
void DecodeElement::warn_of_no_outputs() {
  if (warned_ || is_fed_ || bare_frames_ == 0) return;
  warned_ = true;
  const bool are_attached = ask_upstream(GST_BASE_TRANSFORM_SINK_PAD(transform()), kInferredQuery);
  post_warning(
      element(), Topic::kSettings,
      invalid_argument(format(
          "none of %u frames carried outputs of a network: %s", bare_frames_,
          are_attached
              ? "is there something between dvinfer and dvdecode that makes new frames or turns "
                "them?"
              : "there is no dvinfer upstream; dvconvert ! dvinfer ! dvdecode is the order")),
      "docs/metadata.md lists the elements that lose metadata");
}

// Returns whether the frame rightly has no outputs: dvinfer passed it without inference, it had no
// regions, or another dvdecode has decoded them.
bool is_accounted_for(const GstDvObjectsMeta* meta, guint newest_pass) {
  const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, newest_pass);
  if (!has_run(*pass)) return true;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->network == static_cast<gint>(newest_pass)) return true;
  }
  return false;
}

// Returns the newest outputs, or null. If the newest network has not run, outputs of those before
// that name no decoder are what it waits for (dvinfer's input-from).
const GstDvTensorMeta* find_newest(GstBuffer* frame) {
  const GstDvPass* newest = newest_pass(frame);
  if (!newest || has_run(*newest)) return gst_buffer_get_dv_tensor_meta(frame);
  const GstDvTensorMeta* found = nullptr;
  for (const GstDvTensorMeta* outputs : tensor_metas(frame)) {
    const bool named =
        outputs->network && *gst_dv_network_info_get_decoder(outputs->network) != '\0';
    if (named) found = outputs;
  }
  return found;
}

// Handles a frame without outputs: not inferred, or the outputs were lost.
void DecodeElement::pass_without_outputs(GstBuffer* frame) {
  const DecodeSettings& settings = current();
  const gchar* network = "";
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  if (passes > 0) network = gst_dv_objects_meta_get_pass(meta, passes - 1)->network;
  GST_LOG_OBJECT(element(), "frame at %" GST_TIME_FORMAT " has no outputs; %u passes of networks",
                 GST_TIME_ARGS(GST_BUFFER_PTS(frame)), passes);
  if (passes > 0 && is_accounted_for(meta, passes - 1)) {
    is_fed_ = true;
  } else if (++bare_frames_ == kBareFramesBeforeWarning) {
    warn_of_no_outputs();
  }
  ObjectsMessage message;
  // Objects keep what earlier frames found on them, because the network was shown none of them
  // here.
  if (passes > 0) attacher_.attach_known(frame, network, settings, &message);
  if (!settings.post_messages || (message.empty() && !settings.post_empty)) return;
  message.post(element(), segment(), frame, network, false);
}

GstFlowReturn DecodeElement::frame(GstBuffer* frame) {
  const DecodeSettings& settings = take_settings();
  attacher_.begin_frame(GST_BUFFER_PTS(frame));
#ifdef DVNN_HAVE_TENSORS
  import_outputs(frame);
#endif
  const GstDvTensorMeta* outputs = find_newest(frame);
  if (!outputs || !outputs->network) {
    pass_without_outputs(frame);
    return GST_FLOW_OK;
  }
  is_fed_ = true;
  GstDvNetworkInfo* network = outputs->network;
  find_outputs(network, frame, &regions_);
  if (settings.refine) drop_late(frame, &regions_);
  Topic topic = Topic::kData;
  const Status status = decode(frame, regions_, &topic);
  if (!status.ok()) {
    post_error(element(), topic, status.error(),
               format("frame at %" GST_TIME_FORMAT "; ", GST_TIME_ARGS(GST_BUFFER_PTS(frame))) +
                   decoder_.describe());
    return GST_FLOW_ERROR;
  }
  // Only a detection can replace an object; other results describe it.
  const bool refine = settings.refine && decoder_.kind() == objects::Kind::kDetection;
  const gchar* name = gst_dv_network_info_get_name(network);
  std::optional<ObjectsMessage> message;
  if (settings.post_messages) message.emplace();
  const guint attached = attacher_.attach(frame, name, regions_, found_, refine, settings,
                                          message ? &*message : nullptr);
  for (const SettledTrack& track : attacher_.settled()) {
    gst_pad_push_event(GST_BASE_TRANSFORM_SINK_PAD(transform()), new_settled_event(track));
  }
  GST_LOG_OBJECT(element(), "%u objects by '%s' at %" GST_TIME_FORMAT, attached, name,
                 GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
  if (message && (!message->empty() || settings.post_empty)) {
    message->post(element(), segment(), frame, name, is_inferred(regions_));
  }
  release_outputs(frame, regions_);
  return GST_FLOW_OK;
}

// --- stream ------------------------------------------------------------------------------------

bool DecodeElement::set_caps(GstCaps* in, GstCaps*) {
  size_ = frame_size(in);
  return (size_.width > 0 && size_.height > 0) || is_windows_caps(in);
}

void DecodeElement::event(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) warn_of_no_outputs();
}

bool DecodeElement::open() {
  take_settings();
  Status status = open_library();
#ifdef DVNN_HAVE_TENSORS
  if (status.ok()) status = open_network();
#endif
  if (!status.ok()) {
    post_error(element(), Topic::kFile, status.error());
    return false;
  }
  if (current().agree > 0 || current().pattern.empty()) return true;
  post_error(element(), Topic::kSettings, blame("pattern", agree::pattern_without_agree()));
  return false;
}

void DecodeElement::start() {
  bare_frames_ = 0;
  is_fed_ = warned_ = false;
}

void DecodeElement::stop() {
  decoder_.reset();
  attacher_.reset();
}

}  // namespace

static gboolean register_dvdecode(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvDecode", "dvdecode", "DV network output decoder", "Filter/Analyzer/Video",
       "Turns the outputs that dvinfer attached into objects on the frame",
       "the frame's outputs cannot be decoded", kAnyFrames, kAnyFrames},
      properties_of<decode_properties>,
      create_element<DecodeElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvdecode, register_dvdecode)

}  // namespace dvnn::gst
