// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/clippipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.h"

namespace dvnn::gst {
namespace {

// How often, and how long each time, a new pipeline is waited for.
constexpr int kMostLooks = 1000;
constexpr GstClockTime kLookAgain = 5 * GST_MSECOND;
constexpr guint64 kMostInFlight = 1 << 20;  // bytes
// A fragment is what a crash may cost.
constexpr guint kFragmentMs = 1000;

const char* muxer_name(Container container) {
  return container == Container::kMatroska ? "matroskamux" : "mp4mux";
}

const char* pad_name(TrackKind kind) {
  switch (kind) {
    case TrackKind::kVideo:
      return "video_%u";
    case TrackKind::kAudio:
      return "audio_%u";
    case TrackKind::kText:
      break;
  }
  return "subtitle_%u";
}

Result<GstElement*> add(const char* factory, GstElement* pipeline) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  if (!element) return Error{ErrorCode::kNotFound, format("there is no element '%s'", factory)};
  gst_bin_add(GST_BIN(pipeline), element);
  return element;
}

DateTimePtr date_of(int64_t utc_ns) {
  constexpr gint64 kMicrosecond = 1000, kSecond = 1000000000;
  const DateTimePtr second(g_date_time_new_from_unix_utc(utc_ns / kSecond));
  return DateTimePtr(g_date_time_add(second.get(), utc_ns % kSecond / kMicrosecond));
}

void set_up(GstElement* muxer, Container container, int64_t utc_ns) {
  if (container == Container::kMp4) {
    g_object_set(muxer, "fragment-duration", kFragmentMs, nullptr);
    return;
  }
  const DateTimePtr date = date_of(utc_ns);
  g_object_set(muxer, "writing-app", "gst-dvnn", "creation-time", date.get(), nullptr);
}

// Players show a text track that is a default one, and matroskamux writes no other; nobody wants to
// see documents over the picture. The track's name, which is matroskamux's own, makes room for
// FlagDefault = 0 and an element Void (RFC 9559, 5.1.4.1.7 and 5.1.3.2).
GstPadProbeReturn hide_text_track(GstPad*, GstPadProbeInfo* info, gpointer) {
  static constexpr guint8 kName[] = {0x53, 0x6E, 0x89, 'S', 'u', 'b', 't', 'i', 't', 'l', 'e', 0};
  static constexpr guint8 kFlag[] = {0x88, 0x81, 0x00, 0xEC, 0x87, 0, 0, 0, 0, 0, 0, 0};
  static_assert(sizeof kName == sizeof kFlag, "one takes the place of the other");
  GstBuffer* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  const BufferMap map(buffer, GST_MAP_READWRITE);
  if (!map.ok()) return GST_PAD_PROBE_OK;
  guint8* const end = map.data() + map.size();
  guint8* const at = std::search(map.data(), end, std::begin(kName), std::end(kName));
  if (at == end) return GST_PAD_PROBE_OK;
  std::copy(std::begin(kFlag), std::end(kFlag), at);
  return GST_PAD_PROBE_REMOVE;
}

// What the system said of the cause is in the last line of the details.
Error error_of(GstMessage* message) {
  GError* taken = nullptr;
  gchar* debug = nullptr;
  gst_message_parse_error(message, &taken, &debug);
  const ErrorPtr error(taken);
  const CharsPtr details(debug);
  std::string why = error->message;
  const std::string text = debug ? debug : "";
  const size_t line = text.rfind('\n');
  if (line != std::string::npos) why += " " + text.substr(line + 1);
  return {ErrorCode::kIo, why};
}

}  // namespace

Status check_muxer(Container container) {
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"appsrc", "gstreamer1.0-plugins-base"}, {"fdsink", "gstreamer"}};
  const char* muxer = muxer_name(container);
  const auto check = [](const char* name, const char* package) -> Status {
    const FactoryPtr factory(gst_element_factory_find(name));
    if (factory) return {};
    return Error{ErrorCode::kNotFound,
                 format("there is no element '%s', which %s has", name, package)};
  };
  DVNN_TRY(check(muxer, "gstreamer1.0-plugins-good"));
  for (const auto& [name, package] : kOthers) DVNN_TRY(check(name, package));
  return {};
}

const char* file_ending(Container container) {
  return container == Container::kMatroska ? "mkv" : "mp4";
}

Status check_track(Container container, TrackKind kind, const GstCaps* caps) {
  const char* muxer = muxer_name(container);
  const FactoryPtr factory(gst_element_factory_find(muxer));
  if (!factory) return check_muxer(container);
  bool takes = false;
  for (const GList* at = gst_element_factory_get_static_pad_templates(factory.get()); at;
       at = at->next) {
    auto* pad = static_cast<GstStaticPadTemplate*>(at->data);
    if (g_strcmp0(pad->name_template, pad_name(kind)) != 0) continue;
    const CapsPtr known(gst_static_pad_template_get_caps(pad));
    takes = takes || gst_caps_can_intersect(known.get(), caps);
  }
  if (takes) return {};
  const CharsPtr text(gst_caps_to_string(caps));
  return unsupported(format("%s takes no %s", muxer, short_text(text.get(), 200).c_str()));
}

Status ClipPipeline::add_track(Container container, const Track& track, GstElement* muxer) {
  DVNN_TRY(check_track(container, track.kind, track.caps));
  DVNN_ASSIGN(GstElement* const source, add("appsrc", pipeline_.get()));
  g_object_set(source, "format", GST_FORMAT_TIME, "caps", track.caps, "max-bytes", guint64{0},
               nullptr);
  if (!gst_element_link_pads(source, "src", muxer, pad_name(track.kind))) {
    const CharsPtr text(gst_caps_to_string(track.caps));
    return unsupported(format("%s takes no %s", GST_OBJECT_NAME(muxer), text.get()));
  }
  sources_.push_back(source);
  ended_.push_back(false);
  return {};
}

Result<std::unique_ptr<ClipPipeline>> ClipPipeline::start(Container container, int fd,
                                                          const std::vector<Track>& tracks,
                                                          int64_t utc_ns) {
  std::unique_ptr<ClipPipeline> made(new ClipPipeline());
  made->pipeline_.reset(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))));
  GstElement* pipeline = made->pipeline_.get();
  DVNN_ASSIGN(GstElement* const muxer, add(muxer_name(container), pipeline));
  DVNN_ASSIGN(GstElement* const sink, add("fdsink", pipeline));
  set_up(muxer, container, utc_ns);
  g_object_set(sink, "fd", fd, "sync", FALSE, "async", FALSE, nullptr);
  if (!gst_element_link(muxer, sink)) return unsupported("the muxer cannot be linked to a file");
  for (const Track& track : tracks) {
    DVNN_TRY(made->add_track(container, track, muxer));
    if (track.kind != TrackKind::kText) continue;
    const PadPtr pad(gst_element_get_static_pad(sink, "sink"));
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, hide_text_track, nullptr, nullptr);
  }
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    DVNN_TRY(made->problem(0));
    return Error{ErrorCode::kInternal, "the pipeline that writes a clip does not start"};
  }
  DVNN_TRY(made->wait_for_caps());
  return made;
}

// The muxer writes its head with the first picture, and leaves out tracks that have no caps by
// then. It does not wait for a text track.
Status ClipPipeline::wait_for_caps() {
  for (GstElement* source : sources_) {
    const PadPtr pad(gst_element_get_static_pad(source, "src"));
    for (int i = 0; i < kMostLooks && !gst_pad_has_current_caps(pad.get()); ++i) {
      DVNN_TRY(problem(kLookAgain));
    }
  }
  return {};
}

ClipPipeline::~ClipPipeline() {
  if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
}

void ClipPipeline::push(size_t track, BufferPtr buffer) {
  if (ended_[track]) return;
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(sources_[track], "push-buffer", buffer.get(), &flow);
}

void ClipPipeline::end_track(size_t track) {
  if (ended_[track]) return;
  ended_[track] = true;
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(sources_[track], "end-of-stream", &flow);
}

bool ClipPipeline::is_full() const {
  guint64 all = 0;
  for (GstElement* source : sources_) {
    guint64 bytes = 0;
    g_object_get(source, "current-level-bytes", &bytes, nullptr);
    all += bytes;
  }
  return all > kMostInFlight;
}

Status ClipPipeline::problem(GstClockTime wait) {
  if (!failed_.ok()) return failed_;
  GstBus* bus = GST_ELEMENT_BUS(pipeline_.get());
  const MessagePtr message(gst_bus_timed_pop_filtered(bus, wait, GST_MESSAGE_ERROR));
  if (!message) return {};
  failed_ = error_of(message.get());
  return failed_;
}

Status ClipPipeline::finish() {
  // Looking for an error drops other messages, so it comes before the end may be posted.
  DVNN_TRY(problem(0));
  for (size_t i = 0; i < sources_.size(); ++i) end_track(i);
  // As long as it takes: a disk that is dead may come back, and whoever waits for this thread does
  // not wait as long.
  constexpr auto kEnds = static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  const MessagePtr end(
      gst_bus_timed_pop_filtered(GST_ELEMENT_BUS(pipeline_.get()), GST_CLOCK_TIME_NONE, kEnds));
  if (end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_ERROR) failed_ = error_of(end.get());
  return failed_;
}

}  // namespace dvnn::gst
