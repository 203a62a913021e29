// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvpublish
 * @title: dvpublish
 * @short_description: sends what was found to files, pipes, MQTT, Kafka and webhooks
 *
 * dvpublish writes what frames carry as JSON documents, a line each, and passes the frames
 * untouched. #GstDvPublish:mode chooses what documents are about: frames with their objects, the
 * events of dvzones, the tracks of dvtrack, the clips of a dvrecord further down.
 * docs/publishing.md has the documents' schema.
 *
 * A thread of its own writes and delivers documents, so the stream never waits for a broker. While
 * nobody takes them, they wait in memory and then on disk (#GstDvPublish:spool-folder), also for
 * the next start, and are delivered in their order afterwards: at least once, and with an id by
 * which a receiver knows what has come twice. What had to be dropped is counted, and told by a
 * warning.
 *
 * With #GstDvPublish:collect-folder it also keeps frames of which the network is unsure, for
 * annotation (docs/hard-pictures.md).
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
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <atomic>
#include <memory>

#include "base/format.h"
#include "elements/dvpublish/collector.h"
#include "elements/dvpublish/homestates.h"
#include "elements/dvpublish/publishsettings.h"
#include "elements/dvpublish/streamdocuments.h"
#include "errors.h"
#include "log.h"
#include "publish/onvif.h"
#include "publish/pictures.h"
#include "times.h"

DVNN_LOG_CATEGORY(publish_category, "dvpublish", "Publishing of what was found")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT publish_category()

namespace dvnn::gst {
namespace {

using publish::Notice;
using publish::Publisher;
using publish::PublisherStats;

class PublishElement final : public ElementWithSettings<PublishSettings> {
 public:
  using ElementWithSettings::ElementWithSettings;

  bool open() override;
  void close() override;
  void start() override;
  void stop() override;
  void leave_paused() override;
  bool set_caps(GstCaps* in, GstCaps*) override;
  void event(GstEvent* event) override;
  void upstream_event(GstEvent* event) override;
  GstFlowReturn frame(GstBuffer* frame) override;
  StructurePtr counts() override;

 private:
  std::shared_ptr<Publisher> publisher() const;
  PublisherStats stats() const;
  void post_state(const char* state, const std::string& text, const PublisherStats& stats);
  void notice(Notice what, const std::string& why);
  void tell_problem(const Error& error);
  void add_rest() {
    const PublishSettings& settings = take_settings();
    documents_.add_rest(settings);
    home_.see_rest(settings);
  }
  void show_home(const PublishSettings& settings);
  void flush(bool may_be_ended);
  Status connect(const PublishSettings& settings);

  // Under the object lock.
  std::shared_ptr<Publisher> publisher_;  // others hold it while they ask it
  PublisherStats last_stats_;             // of the last one
  // Streaming thread only, or while there is none.
  PublishSettings opened_;  // those that the publisher was made of
  StreamDocuments documents_;
  Collector collector_;
  HomeStates home_;
  bool shows_views_ = false;
  // The publisher's thread only.
  bool warned_loss_ = false;
  std::atomic<bool> flushing_{false}, flushed_{false}, told_problem_{false};
};

// --- what is told ------------------------------------------------------------------------------

std::shared_ptr<Publisher> PublishElement::publisher() const {
  const ObjectLock lock(element());
  return publisher_;
}

PublisherStats PublishElement::stats() const {
  const std::shared_ptr<Publisher> current = publisher();
  if (current) return current->stats();
  const ObjectLock lock(element());
  return last_stats_;
}

void add_counts(const PublisherStats& stats, GstStructure* fields) {
  gst_structure_set(fields, "published", G_TYPE_UINT64, guint64{stats.published}, "delivered",
                    G_TYPE_UINT64, guint64{stats.delivered}, "dropped", G_TYPE_UINT64,
                    guint64{stats.dropped}, "queued", G_TYPE_UINT64, guint64{stats.queued},
                    "spooled", G_TYPE_UINT64, guint64{stats.spooled}, "connected", G_TYPE_BOOLEAN,
                    gboolean{stats.connected}, nullptr);
}

void PublishElement::post_state(const char* state, const std::string& text,
                                const PublisherStats& stats) {
  if (!now().post_messages) return;
  GstStructure* fields = gst_structure_new("dvnn-publish", "state", G_TYPE_STRING, state, "text",
                                           G_TYPE_STRING, printable(text).c_str(), nullptr);
  add_counts(stats, fields);
  post(fields);
}

// The publisher's thread. A broker that is away is warned of once, until it is back.
void PublishElement::notice(Notice what, const std::string& why) {
  const PublisherStats counts = stats();
  constexpr const char* kStates[] = {"connected", "lost", "dropped", "problem"};
  const char* const state = kStates[static_cast<size_t>(what)];
  GST_INFO_OBJECT(element(), "%s: %s", state, why.c_str());
  switch (what) {
    case Notice::kConnected:
      warned_loss_ = false;
      break;
    case Notice::kLost:
      if (!std::exchange(warned_loss_, true)) {
        post_warning(element(), Topic::kFile, {ErrorCode::kIo, why});
      }
      break;
    case Notice::kDropped:
      post_warning(element(), Topic::kFile, {ErrorCode::kLimit, why});
      break;
    case Notice::kProblem:
      post_warning(element(), Topic::kFile, {ErrorCode::kIo, why});
      break;
  }
  post_state(state, why, counts);
}

// Reports a problem with pictures once, from any thread.
void PublishElement::tell_problem(const Error& error) {
  if (!told_problem_.exchange(true)) {
    post_warning(element(), Topic::kData, error);
  }
}

StructurePtr PublishElement::counts() {
  StructurePtr fields(gst_structure_new_empty("dvnn-publish-counts"));
  add_counts(stats(), fields.get());
  gst_structure_set(fields.get(), "collected", G_TYPE_UINT64, collector_.collected(), nullptr);
  return fields;
}

// --- stream ------------------------------------------------------------------------------------

bool PublishElement::set_caps(GstCaps* in, GstCaps*) {
  collector_.set_format(in);
  return documents_.set_format(in);
}

// Best views are looked for only while somebody wants them.
void PublishElement::show_home(const PublishSettings& settings) {
  const bool wanted = home_.wants_views(settings);
  if (wanted == shows_views_) return;
  shows_views_ = wanted;
  if (!wanted) return documents_.show_views(nullptr);
  documents_.show_views(
      [this](publish::Picture picture) { home_.show(std::move(picture), current()); });
}

GstFlowReturn PublishElement::frame(GstBuffer* frame) {
  const PublishSettings& settings = take_settings();
  show_home(settings);
  documents_.add_frame(frame, segment(), settings);
  home_.see(frame, running_time(segment(), frame), settings);
  collector_.see(frame, running_time(segment(), frame));
  return GST_FLOW_OK;
}

// Waits until all is delivered, for a bounded time.
void PublishElement::flush(bool may_be_ended) {
  const auto to = publisher();
  if (!to || flushed_) return;
  GST_DEBUG_OBJECT(element(), "waits for delivery, for %u ms at most", current().flush_timeout_ms);
  flushing_ = may_be_ended;
  to->flush(std::chrono::milliseconds(current().flush_timeout_ms));
  flushing_ = false;
  flushed_ = true;
}

bool is_told_of(const GstStructure* fields) {
  return fields && (gst_structure_has_name(fields, "dvnn-zone-event") ||
                    gst_structure_has_name(fields, "dvnn-identity") ||
                    gst_structure_has_name(fields, "dvnn-zone-heat") ||
                    gst_structure_has_name(fields, "dvnn-track-started") ||
                    gst_structure_has_name(fields, "dvnn-track-ended"));
}

void PublishElement::event(GstEvent* event) {
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CUSTOM_DOWNSTREAM: {
      const GstStructure* fields = gst_event_get_structure(event);
      if (is_told_of(fields)) documents_.add_found(fields, take_settings());
      break;
    }
    case GST_EVENT_EOS:
      collector_.begin_anew();
      add_rest();
      flush(true);
      break;
    case GST_EVENT_STREAM_START:
      flushed_ = false;
      [[fallthrough]];
    case GST_EVENT_FLUSH_STOP:
      collector_.begin_anew();
      add_rest();
      documents_.begin_anew();
      break;
    default:
      break;
  }
}

// A dvrecord tells of its clips from below, also after the stream's end.
void PublishElement::upstream_event(GstEvent* event) {
  const GstStructure* fields =
      GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM ? gst_event_get_structure(event) : nullptr;
  if (!fields || !gst_structure_has_name(fields, "dvnn-clip")) return;
  const PublishSettings settings = now();
  if (settings.mode & kClips) documents_.add_clip(fields, settings);
}

// --- states ------------------------------------------------------------------------------------

Status check_discovery(const PublishSettings& settings, bool is_mqtt,
                       const publish::Options& options) {
  if (settings.discovery == Discovery::kNone) return {};
  if (!is_mqtt) {
    return invalid_argument(
        "discovery needs MQTT, so url must begin with mqtt: or mqtts:, or discovery be none");
  }
  const auto status = options.find("status");
  if (status == options.end() || status->second != "no") return {};
  return invalid_argument(
      "discovery needs the status, by which Home Assistant knows whether the stream is online: "
      "leave out the option status=no");
}

Status PublishElement::connect(const PublishSettings& settings) {
  if (settings.snapshot != Snapshot::kNone) DVNN_TRY(publish::check_pictures());
  DVNN_ASSIGN(const publish::Address address, chosen_address(settings));
  DVNN_ASSIGN(const publish::Options options, chosen_options(settings));
  const CharsPtr name(gst_object_get_name(GST_OBJECT(element())));
  publish::Identity identity;
  identity.stream = settings.stream.empty() ? name.get() : settings.stream;
  identity.session = publish::new_session();
  identity.topic = settings.topic;
  const bool is_onvif = settings.format == Format::kOnvif;
  if (is_onvif) identity.content_type = "application/xml";
  if (identity.topic.empty()) {
    identity.topic = address.scheme == "kafka" ? "dvnn" : "dvnn/" + identity.stream;
  }
  warned_loss_ = false;  // its thread does not run yet
  const bool is_mqtt = address.scheme == "mqtt" || address.scheme == "mqtts";
  DVNN_TRY(check_discovery(settings, is_mqtt, options));
  publish::PublisherSettings how;
  how.queue_messages = settings.max_queued;
  how.spool = spool_path(settings, identity.stream);
  how.spool_bounds.most_bytes = guint64{settings.spool_size_mib} << 20;
  how.recalled = [this](const std::string&, const std::string& body) { home_.recalled(body); };
  auto publisher = std::make_shared<Publisher>(
      how, [this](Notice what, const std::string& why) { notice(what, why); });
  DVNN_TRY(collector_.begin(
      settings, path_name(identity.stream) + "-" + identity.session,
      [to = publisher.get()](Collector::Job job) { to->call_soon(std::move(job)); },
      [this](const Error& error) { post_warning(element(), Topic::kFile, error); }));
  if (is_mqtt) {
    Publisher* const to = publisher.get();
    HomeStates::Broker broker;
    broker.keep = [to](const std::string& topic, const std::string& body) {
      to->keep(topic, body);
    };
    broker.recall = [to](const std::string& topic) { to->recall(topic); };
    broker.call_soon = [to](HomeStates::Job job) { to->call_soon(std::move(job)); };
    broker.tell = [this](const Error& error) { tell_problem(error); };
    home_.begin(identity, settings, std::move(broker));
  }
  const Status started = publisher->start(address, options, identity);
  if (!started.ok()) {
    home_.end();
    collector_.end();
    return started;
  }
  documents_.begin(
      identity, is_onvif ? publish::to_onvif : publish::to_line,
      [to = publisher.get()](publish::Draft draft) { to->publish(std::move(draft)); },
      [this](const Error& error) { tell_problem(error); });
  const ObjectLock lock(element());
  publisher_ = std::move(publisher);
  return {};
}

void PublishElement::close() {
  const auto ended = publisher();
  if (!ended) return;
  documents_.end();
  collector_.end();
  home_.end();
  shows_views_ = false;
  ended->stop();
  const PublisherStats last = ended->stats();
  const ObjectLock lock(element());
  publisher_.reset();
  last_stats_ = last;
}

// Opens files and the spool, and begins to connect, unless it has done so before with the same
// settings.
bool PublishElement::open() {
  const PublishSettings& settings = take_settings();
  if (publisher()) {
    if (opened_.has_place_of(settings)) return true;
    close();
  }
  opened_ = settings;
  const Status status = connect(opened_);
  if (status.ok()) return true;
  // Options may be passwords.
  const std::string who =
      named_settings(element(), {{"url", opened_.url},
                                 {"location", opened_.location},
                                 {"options", opened_.options.empty() ? "" : "..."},
                                 {"options-file", opened_.options_file},
                                 {"spool-folder", opened_.spool_folder},
                                 {"collect-folder", opened_.collect_folder}});
  post_error(element(), Topic::kSettings, status.error().within(who));
  return false;
}

void PublishElement::start() {
  told_problem_ = false;
  flushed_ = false;
}

void PublishElement::stop() {
  collector_.begin_anew();
  add_rest();
  flush(false);
  const PublisherStats counts = stats();
  // What is queued gets there when the element goes to NULL.
  const bool rests = !opened_.spool_folder.empty() && counts.spooled + counts.queued > 0;
  post_state("ended", rests ? "the rest waits in the spool for the next start" : "", counts);
}

// An application that ends the pipeline while its end waits does not wait with it.
void PublishElement::leave_paused() {
  const auto waiting = flushing_ ? publisher() : nullptr;
  if (waiting) waiting->cancel_flush();
}

}  // namespace

static gboolean register_dvpublish(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvPublish", "dvpublish", "DV publisher", "Filter/Analyzer/Video",
       "Sends objects, events and tracks to files, pipes, MQTT, Kafka and webhooks",
       "the frame cannot be published", kAnyFrames, kAnyFrames,
       "Since the last start: published, delivered, dropped, queued and spooled documents, "
       "collected frames, and whether somebody is connected",
       true},
      properties_of<publish_properties>,
      create_element<PublishElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvpublish, register_dvpublish)

}  // namespace dvnn::gst
