// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvmatch
 * @title: dvmatch
 * @short_description: tells who tracked objects are
 *
 * dvmatch compares the embeddings of objects with a gallery of names (#GstDvMatch:gallery-file),
 * and writes on the object who it is: gst_dv_object_get_name(), gst_dv_object_get_likeness(). One
 * who is like nobody in the gallery is a stranger, with a number that lasts:
 * gst_dv_object_get_stranger(). docs/match.md has the file's format, how thresholds are chosen, and
 * what is kept of people, where and for how long.
 *
 * Several looks at a track are compared (#GstDvMatch:agree) before its name is agreed. A track
 * between two names (#GstDvMatch:margin) has none.
 *
 * ## Messages
 *
 * An element message `dvnn-identity` is posted when a track is known: `event` (string: `recognised`
 * or `stranger`), `name` (string) or `stranger` (guint64), `likeness` (double), `before` (boolean,
 * of strangers: whether it was known), `track-id` (guint64), `label` (string), `timestamp`,
 * `stream-time` and `running-time` (guint64). The same is sent downstream as a serialised custom
 * event, for dvpublish and dvrecord. `dvnn-gallery`, with `people` (uint) and `text` (string), is
 * posted when the gallery's file was read again, or other galleries have changed it. No message has
 * vectors.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode threshold=0.1 !
 * dvtrack ! dvmatch ! fakesink
 * ]| Names nobody, as the default network finds no embeddings; with one that does, strangers.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "elements/dvmatch/matchsettings.h"
#include "elements/labellist.h"
#include "elements/neighbours.h"
#include "errors.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "log.h"
#include "meta/objectvalue.h"
#include "publish/shared_topic.h"
#include "refs.h"
#include "times.h"

DVNN_LOG_CATEGORY(match_category, "dvmatch", "Names of tracks")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT match_category()

namespace dvnn::gst {
namespace {

// Of the stream, after which a track that is not seen is forgotten.
constexpr int64_t kForgotten = 60 * static_cast<int64_t>(GST_SECOND);

class MatchElement final : public ElementWithSettings<MatchSettings> {
 public:
  explicit MatchElement(GstBaseTransform* element)
      : ElementWithSettings(element),
        keeper_([this](match::Notice what, const std::string& text) { notice(what, text); },
                [this](const std::string& id, const std::string& line) { share(id, line); }),
        namer_(&keeper_),
        found_(GST_BASE_TRANSFORM_SRC_PAD(element)) {}

  bool open() override;
  void close() override;
  void stop() override;
  bool set_caps(GstCaps*, GstCaps*) override { return true; }
  void event(GstEvent* event) override;
  void event_passed() override { found_.release(); }
  GstFlowReturn frame(GstBuffer* frame) override;
  StructurePtr counts() override;

  bool enrol(guint64 track, const std::string& name);
  bool forget(const std::string& name);
  guint forget_strangers(gdouble days);

 private:
  void notice(match::Notice what, const std::string& text);
  void share(const std::string& id, const std::string& line);
  void tell_connection(const std::string& why);
  Status connect(const MatchSettings& settings);
  void take_over();
  void name(GstDvObject* object, GstClockTime time);
  void tell(const GstDvObject& object, const match::Told& told, GstClockTime time);
  void tell_mismatch();

  std::mutex share_mutex_;  // of shared_, which several threads use
  std::unique_ptr<publish::SharedTopic> shared_;
  bool warned_loss_ = false;  // the connection's thread only
  match::Keeper keeper_;
  std::mutex mutex_;  // of namer_, which actions ask from other threads
  match::Namer namer_;
  std::atomic<guint64> recognised_{0}, strangers_{0};
  // Streaming thread only, or while there is none.
  bool opened_ = false;
  MatchSettings open_settings_;
  uint64_t mismatch_changes_ = 0;
  LabelList labels_;
  FoundEvents found_;
  int64_t last_ = 0;
};

// --- files -------------------------------------------------------------------------------------

// From the keeper's thread, or that of an action.
void MatchElement::notice(match::Notice what, const std::string& text) {
  if (what == match::Notice::kProblem) {
    post_warning(element(), Topic::kFile, malformed(text));
    return;
  }
  GST_INFO_OBJECT(element(), "%s", text.c_str());
  if (!now().post_messages) return;
  const auto people = static_cast<guint>(keeper_.gallery()->people.size());
  post(gst_structure_new("dvnn-gallery", "people", G_TYPE_UINT, people, "text", G_TYPE_STRING,
                         printable(text).c_str(), nullptr));
}

bool MatchElement::open() {
  const MatchSettings& settings = take_settings();
  if (opened_ && open_settings_.has_place_of(settings)) {
    take_over();
    return true;
  }
  close();
  Status status = keeper_.open(settings.keeper());
  if (status.ok()) status = connect(settings);
  if (!status.ok()) {
    const std::string who =
        named_settings(element(), {{"gallery-file", settings.gallery_file},
                                   {"strangers-location", settings.strangers_location},
                                   {"share-url", settings.share_url},
                                   {"share-topic", settings.share_topic},
                                   {"share-options-file", settings.share_options_file}});
    keeper_.close();
    post_error(element(), Topic::kSettings, status.error().within(who));
    return false;
  }
  open_settings_ = settings;
  opened_ = true;
  take_over();
  return true;
}

// A change of this gallery, from any thread.
void MatchElement::share(const std::string& id, const std::string& line) {
  const std::lock_guard<std::mutex> lock(share_mutex_);
  if (shared_) shared_->send(id, line);
}

// A broker that is away is warned of once, until it is back.
void MatchElement::tell_connection(const std::string& why) {
  GST_INFO_OBJECT(element(), "%s", why.empty() ? "shares its gallery" : why.c_str());
  if (why.empty()) {
    warned_loss_ = false;
  } else if (!std::exchange(warned_loss_, true)) {
    post_warning(element(), Topic::kFile, {ErrorCode::kIo, "the gallery is not shared: " + why});
  }
}

Status MatchElement::connect(const MatchSettings& settings) {
  constexpr uint64_t kMostOptionBytes = 1 << 16;
  publish::Options options;
  if (!settings.share_options_file.empty()) {
    DVNN_ASSIGN(const std::string text, read_file(settings.share_options_file, kMostOptionBytes));
    DVNN_ASSIGN(options, publish::parse_options(text));
  }
  if (settings.share_url.empty()) return {};
  DVNN_ASSIGN(const publish::Address address, publish::parse_address(settings.share_url));
  publish::SharedHooks hooks;
  hooks.came = [this](std::string id, std::string line) {
    guard(element(), "the shared gallery cannot be taken",
          [&] { keeper_.take(std::move(id), std::move(line)); });
  };
  hooks.all = [this] {
    std::vector<publish::SharedEntry> all;
    guard(element(), "the gallery cannot be shared", [&] {
      for (auto& one : keeper_.all_shared()) {
        all.push_back({std::move(one.id), std::move(one.line), one.version});
      }
    });
    return all;
  };
  hooks.state = [this](const std::string& why) {
    guard(element(), "the gallery cannot be shared", [&] { tell_connection(why); });
  };
  DVNN_ASSIGN(auto shared,
              publish::open_shared_topic(address, options, settings.share_topic, std::move(hooks)));
  const std::lock_guard<std::mutex> lock(share_mutex_);
  shared_ = std::move(shared);
  return {};
}

void MatchElement::close() {
  std::unique_ptr<publish::SharedTopic> shared;
  {
    const std::lock_guard<std::mutex> lock(share_mutex_);
    shared.swap(shared_);
  }
  shared.reset();
  warned_loss_ = false;
  keeper_.close();
  opened_ = false;
}

// Takes over what may change while it plays.
void MatchElement::take_over() {
  const MatchSettings& settings = current();
  keeper_.use_gallery_file(settings.gallery_file);
  keeper_.set_bounds(settings.keeper().strangers);
  labels_.set(settings.labels);
  const std::lock_guard<std::mutex> lock(mutex_);
  namer_.set_rules(settings.rules());
}

// --- actions -----------------------------------------------------------------------------------

bool MatchElement::enrol(guint64 track, const std::string& name) {
  std::vector<float> unit;
  guint64 stranger = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    unit = namer_.mean_of(track);
    stranger = namer_.stranger_of(track);
  }
  if (unit.empty()) {
    post_warning(element(), Topic::kData,
                 invalid_argument(format("nobody is enrolled: track %" G_GUINT64_FORMAT
                                         " is not seen now, or has no embedding",
                                         track)));
    return false;
  }
  const Status status = keeper_.enrol(name, unit, stranger);
  if (!status.ok()) post_warning(element(), Topic::kFile, status.error());
  return status.ok();
}

bool MatchElement::forget(const std::string& name) {
  const auto forgotten = keeper_.forget(name);
  if (!forgotten.ok()) post_warning(element(), Topic::kFile, forgotten.error());
  return forgotten.ok() && forgotten.value();
}

guint MatchElement::forget_strangers(gdouble days) {
  constexpr double kDay = 24.0 * 3600 * 1000, kMostDays = 36500;
  const double bounded = days >= 0 ? std::min(days, kMostDays) : 0;
  const auto forgotten = keeper_.forget_strangers(static_cast<int64_t>(bounded * kDay));
  if (!forgotten.ok()) post_warning(element(), Topic::kFile, forgotten.error());
  return forgotten.ok() ? static_cast<guint>(forgotten.value()) : 0;
}

MatchElement& work_of(GstElement* element) {
  return static_cast<MatchElement&>(object_element_of(element));
}

gboolean enrol_action(GstElement* element, guint64 track, const gchar* name) {
  return guard(element, "nobody can be enrolled", FALSE,
               [&]() -> gboolean { return work_of(element).enrol(track, name ? name : ""); });
}

gboolean forget_action(GstElement* element, const gchar* name) {
  return guard(element, "nobody can be forgotten", FALSE,
               [&]() -> gboolean { return work_of(element).forget(name ? name : ""); });
}

guint forget_strangers_action(GstElement* element, gdouble days) {
  return guard(element, "nobody can be forgotten", 0u,
               [&] { return work_of(element).forget_strangers(days); });
}

void add_actions(GstBaseTransformClass* klass) {
  const auto flags = static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION);
  const GType type = G_TYPE_FROM_CLASS(klass);
  /**
   * GstDvMatch::enrol:
   * @track: a track that is seen now
   * @name: its name
   *
   * Adds the mean of the track's looks to the gallery and its file, under a new name or a known
   * one. If the track was a stranger, that is forgotten.
   *
   * Returns: whether it was; if not, there is a warning
   */
  g_signal_new_class_handler("enrol", type, flags, G_CALLBACK(enrol_action), nullptr, nullptr,
                             nullptr, G_TYPE_BOOLEAN, 2, G_TYPE_UINT64, G_TYPE_STRING);
  /**
   * GstDvMatch::forget:
   * @name: a name
   *
   * Removes the name and its vectors from the gallery and its file.
   *
   * Returns: whether it was known
   */
  g_signal_new_class_handler("forget", type, flags, G_CALLBACK(forget_action), nullptr, nullptr,
                             nullptr, G_TYPE_BOOLEAN, 1, G_TYPE_STRING);
  /**
   * GstDvMatch::forget-strangers:
   * @days: how long they were not seen; 0: all of them
   *
   * Removes strangers and their vectors, also from the file.
   *
   * Returns: how many
   */
  g_signal_new_class_handler("forget-strangers", type, flags, G_CALLBACK(forget_strangers_action),
                             nullptr, nullptr, nullptr, G_TYPE_UINT, 1, G_TYPE_DOUBLE);
}

// --- frames ------------------------------------------------------------------------------------

void MatchElement::tell(const GstDvObject& object, const match::Told& told, GstClockTime time) {
  const bool is_named = !told.identity.name.empty();
  (is_named ? recognised_ : strangers_) += 1;
  const bool timed = segment().format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID(time);
  StructurePtr fields(gst_structure_new(
      "dvnn-identity", "event", G_TYPE_STRING, is_named ? "recognised" : "stranger", "likeness",
      G_TYPE_DOUBLE, static_cast<gdouble>(told.identity.likeness), "track-id", G_TYPE_UINT64,
      object.track_id, "label", G_TYPE_STRING, object.label, "timestamp", G_TYPE_UINT64, time,
      "stream-time", G_TYPE_UINT64,
      timed ? gst_segment_to_stream_time(&segment(), GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      "running-time", G_TYPE_UINT64,
      timed ? gst_segment_to_running_time(&segment(), GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      nullptr));
  if (is_named) {
    gst_structure_set(fields.get(), "name", G_TYPE_STRING, told.identity.name.c_str(), nullptr);
  } else {
    gst_structure_set(fields.get(), "stranger", G_TYPE_UINT64, guint64{told.identity.stranger},
                      "before", G_TYPE_BOOLEAN, gboolean{told.before}, nullptr);
  }
  GST_DEBUG_OBJECT(transform(), "%" GST_PTR_FORMAT, fields.get());
  found_.tell(fields.get());
  if (current().post_messages) post(fields.release());
}

// Warns once for each gallery.
void MatchElement::tell_mismatch() {
  const auto lengths = namer_.take_mismatch();
  if (lengths.gallery == 0 || mismatch_changes_ == keeper_.changes()) return;
  mismatch_changes_ = keeper_.changes();
  post_warning(element(), Topic::kData,
               invalid_argument(format("nobody can be named: embeddings have %zu numbers, the "
                                       "gallery's %zu; it is of another network",
                                       lengths.embedding, lengths.gallery)));
}

void MatchElement::name(GstDvObject* object, GstClockTime time) {
  gsize length = 0;
  const gfloat* embedding = gst_dv_object_get_embedding(object, &length);
  match::Look look;
  look.track = object->track_id;
  look.embedding = {embedding, length};
  look.looks = gst_dv_object_get_looks(object);
  gboolean agreed = FALSE;
  gst_dv_object_get_agreement(object, &agreed);
  look.agreed = agreed;
  match::Told told;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    told = namer_.see(look, last_);
  }
  write_identity(told.identity, object);
  if (told.is_news) tell(*object, told, time);
}

GstFlowReturn MatchElement::frame(GstBuffer* frame) {
  if (changed_) {
    take_settings();
    take_over();
  }
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const GstClockTime time = GST_BUFFER_PTS(frame);
  if (GST_CLOCK_TIME_IS_VALID(time) && time <= G_MAXINT64 / 2) {
    last_ = static_cast<int64_t>(time);
    const std::lock_guard<std::mutex> lock(mutex_);
    namer_.forget_before(last_ - kForgotten);
  }
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (labels_.empty() || labels_.has(object->label)) name(object, time);
  }
  tell_mismatch();
  return GST_FLOW_OK;
}

// --- stream ------------------------------------------------------------------------------------

void MatchElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP) found_.hold();
  if (type != GST_EVENT_STREAM_START && type != GST_EVENT_FLUSH_STOP) return;
  // Tracks have other numbers from here on, or other times.
  const std::lock_guard<std::mutex> lock(mutex_);
  namer_.reset();
}

void MatchElement::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  namer_.reset();
}

StructurePtr MatchElement::counts() {
  return StructurePtr(gst_structure_new(
      "dvnn-match-counts", "people", G_TYPE_UINT64, guint64{keeper_.gallery()->people.size()},
      "strangers", G_TYPE_UINT64, guint64{keeper_.stranger_count()}, "recognised", G_TYPE_UINT64,
      recognised_.load(), "unknown", G_TYPE_UINT64, strangers_.load(), nullptr));
}

}  // namespace

static gboolean register_dvmatch(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvMatch", "dvmatch", "DV names", "Filter/Analyzer/Video",
       "Tells who tracked objects are, by a gallery of embeddings", "the frame cannot be matched",
       kAnyVideo, kAnyVideo,
       "People of the gallery and strangers that are kept, and how many tracks were recognised or "
       "unknown since the start"},
      properties_of<match_properties>,
      create_element<MatchElement>,
      add_actions};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvmatch, register_dvmatch)

}  // namespace dvnn::gst
