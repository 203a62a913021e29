// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvpublish
 * @title: dvpublish
 * @short_description: sends what was found to files, pipes, MQTT, Kafka and webhooks
 *
 * dvpublish writes what frames carry as JSON documents, a line each, and passes the frames
 * untouched. #GstDvPublish:mode chooses what documents are about: frames with their objects, the
 * events of dvzones, the tracks of dvtrack. docs/publishing.md has the documents' schema.
 *
 * A thread of its own writes and delivers documents, so the stream never waits for a broker. While
 * nobody takes them, they wait in memory and then on disk (#GstDvPublish:spool-folder), also for
 * the next start, and are delivered in their order afterwards: at least once, and with an id by
 * which a receiver knows what has come twice. What had to be dropped is counted, and told by a
 * warning.
 *
 * ## Messages
 *
 * An element message `dvnn-publish` when a connection is made (`state`, a string: `connected`) or
 * lost (`lost`), when documents were dropped (`dropped`), when something else is wrong (`problem`)
 * and at the end of the stream (`ended`): with `text` (string), why, and `published`, `delivered`,
 * `dropped`, `queued` and `spooled` (guint64), as the property #GstDvPublish:counts has them.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvpublish
 * location=/dev/stdout ! fakesink
 * ]| Prints a line of JSON for each frame.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=300 ! dvconvert ! dvinfer ! dvdecode threshold=0.1 !
 * dvtrack ! dvpublish url=mqtt://localhost topic=shop/door mode=tracks snapshot=object
 * spool-folder=/var/spool/dvnn ! fakesink
 * ]| Sends a message with a picture for each thing that has passed, also if the broker starts
 * later.
 */
#include "elements/dvpublish/dvpublish.h"

#include <atomic>
#include <memory>

#include "base/format.h"
#include "elements/dvpublish/publishsettings.h"
#include "elements/dvpublish/streamdocuments.h"
#include "elements/objectclass.h"
#include "guard.h"
#include "refs.h"

GST_DEBUG_CATEGORY_STATIC(dv_publish_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_publish_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::publish_properties;
using dvnn::gst::PublishSettings;
using dvnn::gst::Topic;
using dvnn::publish::Notice;
using dvnn::publish::Publisher;
using dvnn::publish::PublisherStats;

struct GstDvPublishPrivate {
  // Under the object lock.
  PublishSettings settings;
  std::shared_ptr<Publisher> publisher;  // others hold it while they ask it
  PublisherStats last_stats;             // of the last one
  // Streaming thread only, or while there is none.
  PublishSettings current;  // for this frame
  PublishSettings opened;   // those that the publisher was made of
  dvnn::gst::StreamDocuments documents;
  // The publisher's thread only.
  bool warned_loss = false;
  std::atomic<bool> flushing{false}, flushed{false}, told_problem{false};
};

struct _GstDvPublish {
  GstBaseTransform parent;
  GstDvPublishPrivate* priv;
};

G_DEFINE_TYPE(GstDvPublish, gst_dv_publish, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvpublish, "dvpublish", GST_RANK_NONE, GST_TYPE_DV_PUBLISH)

static guint prop_counts;  // the row after those of the settings

static GstStaticPadTemplate dv_publish_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate dv_publish_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

// --- what is told ------------------------------------------------------------------------------

static std::shared_ptr<Publisher> gst_dv_publish_publisher(GstDvPublish* self) {
  const ObjectLock lock(self);
  return self->priv->publisher;
}

static PublisherStats gst_dv_publish_stats(GstDvPublish* self) {
  const std::shared_ptr<Publisher> publisher = gst_dv_publish_publisher(self);
  if (publisher) return publisher->stats();
  const ObjectLock lock(self);
  return self->priv->last_stats;
}

static void gst_dv_publish_add_counts(const PublisherStats& stats, GstStructure* fields) {
  gst_structure_set(fields, "published", G_TYPE_UINT64, guint64{stats.published}, "delivered",
                    G_TYPE_UINT64, guint64{stats.delivered}, "dropped", G_TYPE_UINT64,
                    guint64{stats.dropped}, "queued", G_TYPE_UINT64, guint64{stats.queued},
                    "spooled", G_TYPE_UINT64, guint64{stats.spooled}, "connected", G_TYPE_BOOLEAN,
                    gboolean{stats.connected}, nullptr);
}

static void gst_dv_publish_post(GstDvPublish* self, const char* state, const std::string& text,
                                const PublisherStats& stats) {
  {
    const ObjectLock lock(self);
    if (!self->priv->settings.post_messages) return;
  }
  GstStructure* fields = gst_structure_new("dvnn-publish", "state", G_TYPE_STRING, state, "text",
                                           G_TYPE_STRING, dvnn::printable(text).c_str(), nullptr);
  gst_dv_publish_add_counts(stats, fields);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), fields));
}

// The publisher's thread. A broker that is away is warned of once, until it is back.
static void gst_dv_publish_notice(GstDvPublish* self, Notice what, const std::string& why) {
  GstDvPublishPrivate& priv = *self->priv;
  const PublisherStats stats = gst_dv_publish_stats(self);
  constexpr const char* kStates[] = {"connected", "lost", "dropped", "problem"};
  const char* const state = kStates[static_cast<size_t>(what)];
  GST_INFO_OBJECT(self, "%s: %s", state, why.c_str());
  switch (what) {
    case Notice::kConnected:
      priv.warned_loss = false;
      break;
    case Notice::kLost:
      if (!std::exchange(priv.warned_loss, true)) {
        dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kFile, {ErrorCode::kIo, why});
      }
      break;
    case Notice::kDropped:
      dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kFile, {ErrorCode::kLimit, why});
      break;
    case Notice::kProblem:
      dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kFile, {ErrorCode::kIo, why});
      break;
  }
  gst_dv_publish_post(self, state, why, stats);
}

// Reports a problem with pictures once, from any thread.
static void gst_dv_publish_problem(GstDvPublish* self, const Error& error) {
  if (!self->priv->told_problem.exchange(true)) {
    dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kData, error);
  }
}

// --- frames ------------------------------------------------------------------------------------

static void gst_dv_publish_take_settings(GstDvPublish* self) {
  const ObjectLock lock(self);
  self->priv->current = self->priv->settings;
}

static GstFlowReturn gst_dv_publish_frame(GstDvPublish* self, GstBuffer* frame) {
  gst_dv_publish_take_settings(self);
  self->priv->documents.add_frame(frame, GST_BASE_TRANSFORM(self)->segment, self->priv->current);
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_publish_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return dvnn::gst::guard(trans, "the frame cannot be published", GST_FLOW_ERROR,
                          [&] { return gst_dv_publish_frame(GST_DV_PUBLISH(trans), frame); });
}

// --- stream ------------------------------------------------------------------------------------

static gboolean gst_dv_publish_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return GST_DV_PUBLISH(trans)->priv->documents.set_format(incaps);
}

static void gst_dv_publish_rest(GstDvPublish* self) {
  gst_dv_publish_take_settings(self);
  self->priv->documents.add_rest(self->priv->current);
}

// Waits until all is delivered, for a bounded time.
static void gst_dv_publish_flush(GstDvPublish* self, bool may_be_ended) {
  GstDvPublishPrivate& priv = *self->priv;
  const auto publisher = gst_dv_publish_publisher(self);
  if (!publisher || priv.flushed) return;
  GST_DEBUG_OBJECT(self, "waits for delivery, for %u ms at most", priv.current.flush_timeout_ms);
  priv.flushing = may_be_ended;
  publisher->flush(std::chrono::milliseconds(priv.current.flush_timeout_ms));
  priv.flushing = false;
  priv.flushed = true;
}

static gboolean gst_dv_publish_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstDvPublish* self = GST_DV_PUBLISH(trans);
  GstDvPublishPrivate& priv = *self->priv;
  dvnn::gst::guard(trans, "the stream's events cannot be published", [&] {
    switch (GST_EVENT_TYPE(event)) {
      case GST_EVENT_CUSTOM_DOWNSTREAM: {
        const GstStructure* fields = gst_event_get_structure(event);
        if (!fields || !(gst_structure_has_name(fields, "dvnn-zone-event") ||
                         gst_structure_has_name(fields, "dvnn-track-started") ||
                         gst_structure_has_name(fields, "dvnn-track-ended"))) {
          break;
        }
        gst_dv_publish_take_settings(self);
        priv.documents.add_found(fields, priv.current);
        break;
      }
      case GST_EVENT_EOS:
        gst_dv_publish_rest(self);
        gst_dv_publish_flush(self, true);
        break;
      case GST_EVENT_STREAM_START:
        priv.flushed = false;
        [[fallthrough]];
      case GST_EVENT_FLUSH_STOP:
        gst_dv_publish_rest(self);
        priv.documents.begin_anew();
        break;
      default:
        break;
    }
  });
  return GST_BASE_TRANSFORM_CLASS(gst_dv_publish_parent_class)->sink_event(trans, event);
}

static Status gst_dv_publish_connect(GstDvPublish* self, const PublishSettings& settings) {
  GstDvPublishPrivate& priv = *self->priv;
  DVNN_ASSIGN(const dvnn::publish::Address address, dvnn::gst::chosen_address(settings));
  DVNN_ASSIGN(const dvnn::publish::Options options, dvnn::gst::chosen_options(settings));
  const dvnn::gst::CharsPtr name(gst_object_get_name(GST_OBJECT(self)));
  dvnn::publish::Identity identity;
  identity.stream = settings.stream.empty() ? name.get() : settings.stream;
  identity.session = dvnn::publish::new_session();
  identity.topic = settings.topic;
  if (identity.topic.empty()) {
    identity.topic = address.scheme == "kafka" ? "dvnn" : "dvnn/" + identity.stream;
  }
  priv.warned_loss = false;  // its thread does not run yet
  dvnn::publish::PublisherSettings how;
  how.queue_messages = settings.max_queued;
  how.spool = dvnn::gst::spool_path(settings, identity.stream);
  how.spool_bounds.most_bytes = guint64{settings.spool_size_mib} << 20;
  auto publisher = std::make_shared<Publisher>(
      how, [self](Notice what, const std::string& why) { gst_dv_publish_notice(self, what, why); });
  DVNN_TRY(publisher->start(address, options, identity));
  priv.documents.begin(
      identity,
      [to = publisher.get()](dvnn::publish::Draft draft) { to->publish(std::move(draft)); },
      [self](const Error& error) { gst_dv_publish_problem(self, error); });
  const ObjectLock lock(self);
  priv.publisher = std::move(publisher);
  return {};
}

static void gst_dv_publish_close(GstElement* element) {
  GstDvPublish* self = GST_DV_PUBLISH(element);
  GstDvPublishPrivate& priv = *self->priv;
  dvnn::gst::guard(element, "publishing cannot end", [&] {
    const auto publisher = gst_dv_publish_publisher(self);
    if (!publisher) return;
    priv.documents.end();
    publisher->stop();
    const PublisherStats stats = publisher->stats();
    const ObjectLock lock(self);
    priv.publisher.reset();
    priv.last_stats = stats;
  });
}

// Opens files and the spool, and begins to connect, unless it has done so before with the same
// settings.
static bool gst_dv_publish_open(GstElement* element) {
  GstDvPublish* self = GST_DV_PUBLISH(element);
  GstDvPublishPrivate& priv = *self->priv;
  return dvnn::gst::guard(element, "publishing cannot begin", false, [&]() -> bool {
    gst_dv_publish_take_settings(self);
    if (gst_dv_publish_publisher(self)) {
      if (priv.opened.has_place_of(priv.current)) return true;
      gst_dv_publish_close(element);
    }
    priv.opened = priv.current;
    const Status status = gst_dv_publish_connect(self, priv.opened);
    if (status.ok()) return true;
    const PublishSettings& s = priv.opened;
    // Options may be passwords.
    const std::string who =
        dvnn::gst::named_settings(element, {{"url", s.url},
                                            {"location", s.location},
                                            {"options", s.options.empty() ? "" : "..."},
                                            {"options-file", s.options_file},
                                            {"spool-folder", s.spool_folder}});
    dvnn::gst::post_error(element, Topic::kSettings, status.error().within(who));
    return false;
  });
}

static gboolean gst_dv_publish_start(GstBaseTransform* trans) {
  GstDvPublishPrivate& priv = *GST_DV_PUBLISH(trans)->priv;
  priv.told_problem = false;
  priv.flushed = false;
  return TRUE;
}

static gboolean gst_dv_publish_stop(GstBaseTransform* trans) {
  GstDvPublish* self = GST_DV_PUBLISH(trans);
  dvnn::gst::guard(trans, "publishing cannot end", [&] {
    gst_dv_publish_rest(self);
    gst_dv_publish_flush(self, false);
    const PublisherStats stats = gst_dv_publish_stats(self);
    // What is queued gets there when the element goes to NULL.
    const bool rests = !self->priv->opened.spool_folder.empty() && stats.spooled + stats.queued > 0;
    gst_dv_publish_post(self, "ended",
                        rests ? "the rest waits in the spool for the next start" : "", stats);
  });
  return TRUE;
}

static GstStateChangeReturn gst_dv_publish_change_state(GstElement* element,
                                                        GstStateChange change) {
  GstDvPublish* self = GST_DV_PUBLISH(element);
  // An application that ends the pipeline while its end waits does not wait with it.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && self->priv->flushing) {
    const auto publisher = gst_dv_publish_publisher(self);
    if (publisher) publisher->cancel_flush();
  }
  return dvnn::gst::change_state<gst_dv_publish_open, gst_dv_publish_close>(element, change);
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_publish_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GstDvPublish* self = GST_DV_PUBLISH(object);
  if (id == prop_counts) {
    GstStructure* fields = gst_structure_new_empty("dvnn-publish-counts");
    gst_dv_publish_add_counts(gst_dv_publish_stats(self), fields);
    g_value_take_boxed(value, fields);
    return;
  }
  made_once<publish_properties>().get(GST_ELEMENT(object), &self->priv->settings, id, value);
}

static void gst_dv_publish_init(GstDvPublish* self) {
  self->priv = new GstDvPublishPrivate();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
  // Frames stay as they are, so those that others hold need no copy.
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_publish_class_init(GstDvPublishClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_publish_debug, "dvpublish", 0, "Publishing of what was found");
  own_private<GstDvPublish>(object_class);
  prop_counts = own_properties<GstDvPublish, made_once<publish_properties>>(object_class) + 1;
  object_class->get_property = GST_DEBUG_FUNCPTR(gst_dv_publish_get_property);
  g_object_class_install_property(
      object_class, prop_counts,
      g_param_spec_boxed("counts", "Counts",
                         "Since the last start: published, delivered, dropped, queued and spooled "
                         "documents, and whether somebody is connected",
                         GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_dv_publish_change_state);
  gst_element_class_set_static_metadata(
      element_class, "DV publisher", "Filter/Analyzer/Video",
      "Sends objects, events and tracks to files, pipes, MQTT, Kafka and webhooks",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_publish_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_publish_src_template);
  trans_class->start = GST_DEBUG_FUNCPTR(gst_dv_publish_start);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_publish_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_publish_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_publish_sink_event);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_publish_transform_ip);
  trans_class->transform_ip_on_passthrough = TRUE;
}
