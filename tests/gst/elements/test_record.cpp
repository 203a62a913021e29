// SPDX-License-Identifier: Apache-2.0
// dvrecord: what its files hold, by demuxing them. Units of the video carry their number, and are
// no pictures: nothing here decodes them.
#include <gst/base/gstbasesink.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::record_tests {

DVNN_GST_SUITE(gst_record);

namespace {

namespace fs = std::filesystem;

constexpr GstClockTime kFrame = 40 * GST_MSECOND;
constexpr size_t kUsualBytes = 1000;

// --- files -------------------------------------------------------------------------------------

struct Packet {
  GstClockTime pts;
  std::string bytes;
};

// A file's packets, by the demuxer's pads.
std::map<std::string, std::vector<Packet>> demuxed(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Packet>> all;
  all.clear();
  const char* demuxer = g_str_has_suffix(path.c_str(), ".mp4") ? "qtdemux" : "matroskademux";
  GError* error = nullptr;
  GstElement* pipeline =
      gst_parse_launch(("filesrc location=" + path + " ! " + demuxer + " name=d").c_str(), &error);
  ck_assert_ptr_null(error);
  GstElement* demux = gst_bin_get_by_name(GST_BIN(pipeline), "d");
  const auto add = +[](GstElement*, GstPad* pad, GstElement* bin) {
    GstElement* sink = gst_element_factory_make("fakesink", nullptr);
    g_object_set(sink, "sync", FALSE, "async", FALSE, nullptr);
    gst_bin_add(GST_BIN(bin), sink);
    gst_element_sync_state_with_parent(sink);
    GstPad* to = gst_element_get_static_pad(sink, "sink");
    const auto take = +[](GstPad* at, GstPadProbeInfo* info, gpointer) {
      GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
      GstMapInfo map;
      ck_assert(gst_buffer_map(buffer, &map, GST_MAP_READ));
      GstPad* from = gst_pad_get_peer(at);
      const std::lock_guard<std::mutex> lock(mutex);
      all[GST_PAD_NAME(from)].push_back(
          {GST_BUFFER_PTS(buffer), std::string(reinterpret_cast<char*>(map.data), map.size)});
      gst_object_unref(from);
      gst_buffer_unmap(buffer, &map);
      return GST_PAD_PROBE_OK;
    };
    gst_pad_add_probe(to, GST_PAD_PROBE_TYPE_BUFFER, take, nullptr, nullptr);
    gst_pad_link(pad, to);
    gst_object_unref(to);
  };
  g_signal_connect(demux, "pad-added", G_CALLBACK(add), pipeline);
  gst_object_unref(demux);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* end = gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ck_assert_msg(end != nullptr, "'%s' does not end", path.c_str());
  gst_message_unref(end);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return all;
}

std::vector<Packet> video_of(const std::string& path) {
  return demuxed(path)["video_0"];
}

size_t number_of(const std::string& bytes) {
  ck_assert_uint_ge(bytes.size(), sizeof(size_t));
  size_t number = 0;
  std::copy(bytes.begin(), bytes.begin() + sizeof number, reinterpret_cast<char*>(&number));
  return number;
}

// The numbers of a file's units.
std::vector<size_t> numbers_of(const std::string& path) {
  std::vector<size_t> numbers;
  for (const Packet& packet : video_of(path)) numbers.push_back(number_of(packet.bytes));
  return numbers;
}

// --- the element -------------------------------------------------------------------------------

GstStructure* zone_event(const char* kind, const char* line, const char* label, GstClockTime time,
                         guint64 frame) {
  return gst_structure_new("dvnn-zone-event", "event", G_TYPE_STRING, kind, "line", G_TYPE_STRING,
                           line, "timestamp", G_TYPE_UINT64, time, "stream-time", G_TYPE_UINT64,
                           time, "running-time", G_TYPE_UINT64, time, "track-id", G_TYPE_UINT64,
                           guint64{1}, "label", G_TYPE_STRING, label, "direction", G_TYPE_STRING,
                           "forward", "frame", G_TYPE_UINT64, frame, nullptr);
}

// A message of a file that has ended.
struct Told {
  std::string state, location, problem, picture;
  guint64 clip = 0, duration = 0, before = 0, lost = 0;
  bool complete = false;
  std::vector<std::pair<guint64, guint64>> events;  // frame, at
};

Told told_of(const GstStructure* fields) {
  Told told;
  told.state = gst_structure_get_string(fields, "state");
  told.location = gst_structure_get_string(fields, "location");
  told.problem = gst_structure_get_string(fields, "problem");
  gst_structure_get(fields, "clip", G_TYPE_UINT64, &told.clip, "duration", G_TYPE_UINT64,
                    &told.duration, "before", G_TYPE_UINT64, &told.before, "lost", G_TYPE_UINT64,
                    &told.lost, nullptr);
  gboolean complete = FALSE;
  gst_structure_get_boolean(fields, "complete", &complete);
  told.complete = complete;
  const GValue* picture = gst_structure_get_value(fields, "picture");
  if (picture) {
    told.picture = gst_structure_get_string(gst_value_get_structure(picture), "location");
  }
  const GValue* events = gst_structure_get_value(fields, "events");
  for (guint i = 0; i < gst_value_list_get_size(events); ++i) {
    const GstStructure* event = gst_value_get_structure(gst_value_list_get_value(events, i));
    guint64 frame = 0, at = 0;
    gst_structure_get_uint64(event, "frame", &frame);
    gst_structure_get_uint64(event, "at", &at);
    told.events.emplace_back(frame, at);
  }
  return told;
}

class Recording {
 public:
  explicit Recording(const std::string& settings, bool detections = true, bool audio = false) {
    char path[] = "/tmp/dvnn-dvrecord-XXXXXX";
    folder_ = mkdtemp(path);
    const std::string line = "dvrecord stream=cam location=" + folder_ + " " + settings;
    GError* error = nullptr;
    record_ = gst_parse_launch(line.c_str(), &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    gst_object_ref_sink(record_);
    gst_element_set_bus(record_, bus_);
    video_ = link("video", "video/x-vp8, width=64, height=48, framerate=25/1");
    if (detections) detections_ = link("detections", video_caps("GRAY8", 64, 48));
    if (audio) audio_ = link("audio_0", "audio/x-alaw, rate=8000, channels=1");
  }
  ~Recording() {
    stop();
    for (GstPad* pad : {video_, detections_, audio_}) {
      if (pad) gst_object_unref(pad);
    }
    gst_element_set_bus(record_, nullptr);
    gst_object_unref(record_);
    gst_object_unref(bus_);
    fs::remove_all(folder_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void start() {
    ck_assert_int_ne(gst_element_set_state(record_, GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    for (size_t i = 0; i < pads_.size(); ++i) {
      gst_pad_set_active(pads_[i], TRUE);
      const std::string id = "stream-" + std::to_string(i);
      gst_pad_push_event(pads_[i], gst_event_new_stream_start(id.c_str()));
      GstCaps* caps = gst_caps_from_string(caps_[i].c_str());
      gst_pad_push_event(pads_[i], gst_event_new_caps(caps));
      gst_caps_unref(caps);
      segment(pads_[i]);
    }
  }
  void video(GstClockTime time, bool key, size_t number, size_t bytes = kUsualBytes) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
    gst_buffer_memset(buffer, 0, 0, bytes);
    gst_buffer_fill(buffer, 0, &number, sizeof number);
    GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrame;
    if (!key) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    ck_assert_int_eq(gst_pad_push(video_, buffer), GST_FLOW_OK);
  }
  // A frame of the detection branch, with an object if its confidence is more than 0.
  void detect(GstClockTime time, float confidence = 0) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 64 * 48, nullptr);
    gst_buffer_memset(buffer, 0, 100, 64 * 48);
    GST_BUFFER_PTS(buffer) = time;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(buffer);
    gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
    if (confidence > 0) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", confidence);
      gst_dv_object_set_box(object, 10, 10, 30, 40);
    }
    ck_assert_int_eq(gst_pad_push(detections_, buffer), GST_FLOW_OK);
  }
  void sound(GstClockTime time) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 320, nullptr);
    gst_buffer_memset(buffer, 0, 1, 320);
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrame;
    ck_assert_int_eq(gst_pad_push(audio_, buffer), GST_FLOW_OK);
  }
  void tell(GstStructure* fields) {
    gst_pad_push_event(detections_, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, fields));
  }
  // A frame in both branches.
  void frame(size_t number, bool key, size_t bytes = kUsualBytes) {
    video(number * kFrame, key, number, bytes);
    if (detections_) detect(number * kFrame);
  }
  void frames(size_t from, size_t to, size_t group = 25, size_t bytes = kUsualBytes) {
    for (size_t i = from; i < to; ++i) frame(i, i % group == 0, bytes);
  }
  void flush(GstPad* pad) {
    gst_pad_push_event(pad, gst_event_new_flush_start());
    gst_pad_push_event(pad, gst_event_new_flush_stop(TRUE));
    segment(pad);
  }
  void flush() {
    flush(video_);
    if (detections_) flush(detections_);
  }
  // Ends the stream, and waits for the clips.
  void end() {
    for (GstPad* pad : pads_) gst_pad_push_event(pad, gst_event_new_eos());
  }
  void stop() { gst_element_set_state(record_, GST_STATE_NULL); }

  // Messages of files, in this state.
  std::vector<Told> told(const char* state = "ended") {
    read_bus();
    std::vector<Told> all;
    for (const Told& one : told_) {
      if (one.state == state) all.push_back(one);
    }
    return all;
  }
  // Waits for so many.
  std::vector<Told> wait_for(size_t count, const char* state = "ended") {
    for (int i = 0; i < 1000 && told(state).size() < count; ++i) g_usleep(10000);
    ck_assert_uint_ge(told(state).size(), count);
    return told(state);
  }
  size_t warnings() {
    read_bus();
    return warnings_;
  }
  guint64 count(const char* name) {
    GstStructure* counts = nullptr;
    g_object_get(record_, "counts", &counts, nullptr);
    guint64 value = 0;
    ck_assert(gst_structure_get_uint64(counts, name, &value));
    gst_structure_free(counts);
    return value;
  }
  GstElement* get() const { return record_; }
  GstPad* detections() const { return detections_; }
  GstBus* bus() const { return bus_; }
  const std::string& folder() const { return folder_; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& at : fs::directory_iterator(folder_)) names.push_back(at.path());
    std::sort(names.begin(), names.end());
    return names;
  }
  guint64 bytes_of_clips() const {
    guint64 bytes = 0;
    for (const std::string& path : files()) {
      std::error_code gone;
      const auto size = fs::file_size(path, gone);
      if (!gone && fs::path(path).filename().string().rfind("cam-", 0) == 0) bytes += size;
    }
    return bytes;
  }

 private:
  GstPad* link(const char* name, const std::string& caps) {
    GstPad* to = gst_element_get_static_pad(record_, name);
    if (!to) to = gst_element_request_pad_simple(record_, name);
    ck_assert_ptr_nonnull(to);
    GstPad* pad = gst_pad_new(name, GST_PAD_SRC);
    gst_object_ref_sink(pad);
    ck_assert_int_eq(gst_pad_link(pad, to), GST_PAD_LINK_OK);
    gst_object_unref(to);
    pads_.push_back(pad);
    caps_.push_back(caps);
    return pad;
  }
  static void segment(GstPad* pad) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
  }
  void read_bus() {
    while (GstMessage* message = gst_bus_pop(bus_)) {
      if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) ++warnings_;
      const GstStructure* fields = gst_message_get_structure(message);
      if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ELEMENT &&
          gst_structure_has_name(fields, "dvnn-clip")) {
        told_.push_back(told_of(fields));
      }
      gst_message_unref(message);
    }
  }

  std::string folder_;
  GstBus* const bus_ = gst_bus_new();
  GstElement* record_ = nullptr;
  GstPad *video_ = nullptr, *detections_ = nullptr, *audio_ = nullptr;
  std::vector<GstPad*> pads_;
  std::vector<std::string> caps_;
  std::vector<Told> told_;
  size_t warnings_ = 0;
};

}  // namespace

// --- clips -------------------------------------------------------------------------------------

DVNN_TEST(a_clip_begins_at_a_key_frame_before_the_event_and_ends_after_it) {
  Recording recording("before-ms=2000 after-ms=1000 trigger=cross labels=person zone=gate");
  recording.start();
  for (size_t i = 0; i < 700; ++i) {
    recording.video(i * kFrame, i % 25 == 0, i);
    if (i == 255) recording.tell(zone_event("cross", "gate", "person", i * kFrame, i));
    if (i == 400) recording.tell(zone_event("cross", "gate", "cat", i * kFrame, i));
    if (i == 450) recording.tell(zone_event("cross", "fence", "person", i * kFrame, i));
    if (i == 500) recording.tell(zone_event("enter", "gate", "person", i * kFrame, i));
    recording.detect(i * kFrame);
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(told[0].complete);
  ck_assert_uint_eq(told[0].lost, 0);
  ck_assert_uint_eq(told[0].events.size(), 1);
  ck_assert_uint_eq(told[0].events[0].second, 55 * kFrame);
  ck_assert_uint_eq(told[0].before, 55 * kFrame);
  ck_assert_uint_eq(told[0].duration, 81 * kFrame);
  const auto numbers = numbers_of(told[0].location);
  ck_assert_uint_eq(numbers.size(), 81);
  ck_assert_uint_eq(numbers.front(), 200);
  ck_assert_uint_eq(numbers.back(), 280);
  ck_assert_uint_eq(recording.warnings(), 0);
}

// Streams that lose key frames, have gaps and are sought in; the detection branch is behind. The
// event of a frame names it, and the frame has to be in the file at that place.
DVNN_TEST(each_events_frame_is_in_its_file) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  const auto below = [&](int most) {
    return std::uniform_int_distribution<int>(0, most - 1)(random);
  };
  const size_t frames = static_cast<size_t>(std::max(dvnn_rounds(6000), 1000));
  const size_t behind = static_cast<size_t>(below(40));
  Recording recording("before-ms=1500 after-ms=700 trigger=cross max-clip-ms=20000 quota-mib=0");
  recording.start();
  std::vector<GstClockTime> times;
  std::set<size_t> jumps, events;
  GstClockTime time = 0;
  for (size_t i = 0; i < frames + behind; ++i) {
    if (i < frames) {
      time += kFrame + (below(300) == 0 ? static_cast<GstClockTime>(below(60)) * GST_SECOND : 0);
      if (below(700) == 0) {
        // Sometimes to what was just shown.
        const GstClockTime back = std::min<GstClockTime>(time, GST_SECOND / 2);
        time = below(2) == 0 ? static_cast<GstClockTime>(below(100)) * GST_SECOND : time - back;
        jumps.insert(i);
      }
      times.push_back(time);
      // The seek reaches both branches at once: what is on its way is dropped.
      if (jumps.count(i) > 0) recording.flush();
      const bool due = i % 30 == 0 && below(4) != 0;
      recording.video(time, i == 0 || jumps.count(i) > 0 || due, i);
    }
    if (i < behind) continue;
    const size_t at = i - behind;
    const auto seek = jumps.upper_bound(at);
    if (seek != jumps.end() && *seek <= i) continue;
    if (below(25) == 0) {
      recording.tell(zone_event("cross", "gate", "person", times[at], at));
      events.insert(at);
    }
    recording.detect(times[at]);
  }
  recording.end();
  std::set<size_t> told;
  for (const Told& file : recording.told()) {
    ck_assert_msg(file.complete && file.lost == 0, "seed %u: %s", seed, file.problem.c_str());
    std::map<size_t, GstClockTime> places;
    for (const Packet& packet : video_of(file.location)) {
      places[number_of(packet.bytes)] = packet.pts;
    }
    for (const auto& [frame, at] : file.events) {
      told.insert(frame);
      ck_assert_msg(places.count(frame) == 1, "seed %u: %s has no frame %d", seed,
                    file.location.c_str(), static_cast<int>(frame));
      // Matroska's times are milliseconds.
      const auto away = GST_CLOCK_DIFF(places[frame], at);
      ck_assert_msg(ABS(away) < 2 * GST_MSECOND, "seed %u: frame %d is %" G_GINT64_FORMAT " ns off",
                    seed, static_cast<int>(frame), away);
    }
  }
  ck_assert_msg(told == events, "seed %u: %zu of %zu events told", seed, told.size(),
                events.size());
}

DVNN_TEST(signal_property_and_events_of_applications_begin_clips) {
  Recording recording("before-ms=0 after-ms=400", false);
  recording.start();
  recording.frames(0, 50);
  gboolean taken = FALSE;
  g_signal_emit_by_name(recording.get(), "record", "door bell", &taken);
  ck_assert(taken);
  recording.frames(50, 150);
  g_object_set(recording.get(), "recording", TRUE, nullptr);
  recording.frames(150, 250);
  g_object_set(recording.get(), "recording", FALSE, nullptr);
  recording.frames(250, 350);
  gst_element_send_event(
      recording.get(),
      gst_event_new_custom(
          GST_EVENT_CUSTOM_UPSTREAM,
          gst_structure_new("dvnn-record", "running-time", G_TYPE_UINT64, 320 * kFrame, nullptr)));
  recording.frames(350, 400);
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 3);
  std::vector<std::pair<size_t, size_t>> parts;
  for (const Told& one : told) {
    const auto numbers = numbers_of(one.location);
    parts.emplace_back(numbers.front(), numbers.back());
  }
  std::sort(parts.begin(), parts.end());
  // Key frames are each 25th; a clip goes on for 10 frames.
  ck_assert(parts == (std::vector<std::pair<size_t, size_t>>{{25, 59}, {125, 259}, {300, 330}}));
  recording.stop();
  g_signal_emit_by_name(recording.get(), "record", "nobody is there", &taken);
  ck_assert(!taken);
}

DVNN_TEST(sound_and_documents_go_along) {
  Recording recording("before-ms=1000 after-ms=1000 trigger=object picture-size=64", true, true);
  recording.start();
  for (size_t i = 0; i < 300; ++i) {
    recording.video(i * kFrame, i % 25 == 0, i, 20000);
    // The sound stops before the end: the rest has none, and nothing waits for it.
    if (i < 130) recording.sound(i * kFrame);
    recording.detect(i * kFrame, i >= 100 && i < 200 ? 0.9f : 0);
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  auto packets = demuxed(told[0].location);
  ck_assert_uint_eq(packets["video_0"].size(), 150);  // 75 to 224
  ck_assert_uint_eq(packets["audio_0"].size(), 55);
  const auto& lines = packets["subtitle_0"];
  ck_assert_uint_eq(lines.size(), 150);
  size_t people = 0;
  for (const Packet& line : lines) {
    std::string text = line.bytes;
    for (size_t at; (at = text.find("&quot;")) != std::string::npos;) text.replace(at, 6, "\"");
    const auto document = parse_json(text, "a document");
    ck_assert(document.ok());
    ck_assert(document.value()["type"] == "frame" && document.value()["stream"] == "cam");
    const auto pts = document.value()["time"]["pts"].get<guint64>();
    ck_assert_uint_eq(pts - 75 * kFrame, line.pts);
    people += document.value()["objects"].size();
  }
  ck_assert_uint_eq(people, 100);
  if (!told[0].picture.empty()) ck_assert(fs::file_size(told[0].picture) > 100);
  // Players do not show the documents over the picture: FlagDefault is 0.
  std::string head(4096, 0);
  FILE* file = fopen(told[0].location.c_str(), "rb");
  head.resize(fread(head.data(), 1, head.size(), file));
  fclose(file);
  const size_t track = head.find("S_TEXT/UTF8");
  ck_assert(track != std::string::npos);
  ck_assert(head.rfind(std::string("\x88\x81\x00", 3), track) != std::string::npos);
}

DVNN_TEST(dvpublish_publishes_clips) {
  Recording recording("before-ms=0 after-ms=400", true);
  // What goes upstream is what dvpublish takes: test_publish_clips in publish_harness has the rest.
  static std::atomic<int> clips;
  clips = 0;
  gst_pad_add_probe(
      recording.detections(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        const GstStructure* fields = gst_event_get_structure(GST_PAD_PROBE_INFO_EVENT(info));
        if (fields && gst_structure_has_name(fields, "dvnn-clip")) ++clips;
        return GST_PAD_PROBE_OK;
      },
      nullptr, nullptr);
  recording.start();
  recording.frames(0, 50);
  gboolean taken = FALSE;
  g_signal_emit_by_name(recording.get(), "record", "", &taken);
  recording.frames(50, 100);
  recording.end();
  ck_assert_int_eq(clips, 2);
}

DVNN_TEST(mp4_refuses_what_it_cannot_hold) {
  Recording recording("container=mp4 before-ms=0 after-ms=400", false);
  GstPad* pad = gst_element_get_static_pad(recording.get(), "video");
  gst_element_set_state(recording.get(), GST_STATE_PLAYING);
  gst_pad_send_event(pad, gst_event_new_stream_start("s"));
  GstCaps* caps = gst_caps_from_string("image/jpeg, width=64, height=48");
  ck_assert(!gst_pad_send_event(pad, gst_event_new_caps(caps)));
  gst_caps_unref(caps);
  gst_object_unref(pad);
  GstMessage* message = gst_bus_pop_filtered(recording.bus(), GST_MESSAGE_ERROR);
  ck_assert_ptr_nonnull(message);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  ck_assert_msg(strstr(error->message, "mp4mux takes no image/jpeg"), "%s", error->message);
  g_error_free(error);
  gst_message_unref(message);
}

// --- what goes wrong ---------------------------------------------------------------------------

// No file may grow beyond that size while the object is there, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

DVNN_TEST(a_full_disk_is_told_once_and_survived) {
  Recording recording("before-ms=0 after-ms=40000", false);
  recording.start();
  gboolean taken = FALSE;
  {
    const FullDisk full(100 << 10);
    recording.frames(0, 10);
    g_signal_emit_by_name(recording.get(), "record", "", &taken);
    // About 100 frames fit; the next attempt is 250 later.
    recording.frames(10, 300);
    recording.wait_for(1);
    recording.frames(300, 600);
    recording.wait_for(2);
  }
  recording.frames(600, 1200);
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(recording.warnings(), 1);
  ck_assert_uint_ge(recording.count("failed"), 1);
  ck_assert(!told[0].complete && !told[0].problem.empty());
  ck_assert_uint_le(told[0].duration, 110 * kFrame);
  // What was written can be played, and the clip goes on when there is room again.
  ck_assert_uint_gt(numbers_of(told[0].location).size(), 50);
  ck_assert(told.back().complete);
  ck_assert_uint_gt(numbers_of(told.back().location).size(), 100);
}

DVNN_TEST(a_folder_that_is_gone_is_told_and_survived) {
  Recording recording("before-ms=0 after-ms=400", false);
  recording.start();
  recording.frames(0, 10);
  fs::remove_all(recording.folder());
  gboolean taken = FALSE;
  g_signal_emit_by_name(recording.get(), "record", "", &taken);
  recording.frames(10, 100);
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(!told[0].complete && told[0].location.empty());
  ck_assert_uint_eq(told[0].events.size(), 1);
  ck_assert_uint_eq(recording.warnings(), 1);
}

DVNN_TEST(the_quota_holds_at_any_moment) {
  Recording recording("before-ms=1000 after-ms=1000 quota-mib=1", false);
  const std::string other = recording.folder() + "/holiday.mkv";
  FILE* file = fopen(other.c_str(), "wb");
  ck_assert_int_eq(fputs("not a clip of ours", file) >= 0, 1);
  fclose(file);
  recording.start();
  gboolean taken = FALSE;
  guint64 most = 0;
  for (size_t i = 0; i < 6000; ++i) {
    recording.frame(i, i % 25 == 0, 2000);
    if (i % 150 == 0) g_signal_emit_by_name(recording.get(), "record", "", &taken);
    if (i % 20 == 0) most = std::max(most, recording.bytes_of_clips());
  }
  recording.end();
  most = std::max(most, recording.bytes_of_clips());
  ck_assert_uint_le(most, 1 << 20);
  ck_assert_uint_gt(recording.bytes_of_clips(), 200 << 10);
  ck_assert_uint_gt(recording.count("removed"), 20);
  ck_assert(fs::exists(other));
  // The newest are there.
  ck_assert(fs::exists(recording.told().back().location));
}

DVNN_TEST(what_a_killed_process_wrote_plays_to_its_last_frames) {
  char path[] = "/tmp/dvnn-dvrecord-XXXXXX";
  const std::string folder = mkdtemp(path);
  const std::string line =
      "gst-launch-1.0 -q videotestsrc pattern=snow ! video/x-raw,width=320,height=240,"
      "framerate=30/1 ! jpegenc ! dvrecord recording=true location=" +
      folder;
  gchar** argv = nullptr;
  ck_assert(g_shell_parse_argv(line.c_str(), nullptr, &argv, nullptr));
  GPid child = 0;
  ck_assert(g_spawn_async(nullptr, argv, nullptr,
                          static_cast<GSpawnFlags>(G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD),
                          nullptr, nullptr, &child, nullptr));
  g_strfreev(argv);
  std::string file;
  for (int i = 0; i < 3000 && (file.empty() || fs::file_size(file) < 4 << 20); ++i) {
    g_usleep(10000);
    for (const auto& at : fs::directory_iterator(folder)) file = at.path();
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  g_spawn_close_pid(child);
  ck_assert_msg(file.find(".part.mkv") != std::string::npos, "'%s'", file.c_str());
  const auto packets = video_of(file);
  guint64 bytes = 0;
  for (const Packet& packet : packets) bytes += packet.bytes.size();
  ck_assert_uint_gt(packets.size(), 60);
  // What cannot be played of the file is less than ten frames.
  ck_assert_uint_gt(bytes + 10 * bytes / packets.size(), fs::file_size(file));
  fs::remove_all(folder);
}

DVNN_TEST(what_a_crash_left_gets_its_name_at_the_next_start) {
  Recording recording("", false);
  const std::string left = recording.folder() + "/cam-20260101T000000.000Z.part.mkv";
  FILE* file = fopen(left.c_str(), "wb");
  ck_assert_int_eq(fputs("what was written", file) >= 0, 1);
  fclose(file);
  recording.start();
  const auto told = recording.told("recovered");
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(fs::exists(told[0].location) && !fs::exists(left));
}

// --- refusals ----------------------------------------------------------------------------------

namespace {

// The error with which the element does not start.
std::string error_of(const std::string& settings) {
  GstElement* pipeline = gst_parse_launch(("dvrecord name=r " + settings).c_str(), nullptr);
  ck_assert_ptr_nonnull(pipeline);
  gst_object_ref_sink(pipeline);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(pipeline, bus);
  std::string text;
  if (gst_element_set_state(pipeline, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE) {
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_element_set_bus(pipeline, nullptr);
  gst_object_unref(pipeline);
  gst_object_unref(bus);
  return text;
}

}  // namespace

DVNN_TEST(wrong_settings_are_refused_by_name) {
  dvnn_assert_text(error_of(""), "r: location names no folder for the clips: location=/var/clips");
  ck_assert(error_of("location=/tmp trigger=crossing").find("'crossing'") != std::string::npos);
  ck_assert(error_of("location=/nowhere/at/all").find("/nowhere/at/all") != std::string::npos);
  dvnn_assert_text(error_of("location=/tmp trigger=cross,motion,object"), "");
}

// --- a dead disk -------------------------------------------------------------------------------

// A sink in the place of fdsink that stands still, as one does whose disk is dead.
namespace {

GCond dead_changed;
GMutex dead_lock;
bool dead = true;

struct DeadSink {
  GstBaseSink parent;
  gint fd;
};
struct DeadSinkClass {
  GstBaseSinkClass parent;
};
G_DEFINE_TYPE(DeadSink, dead_sink, GST_TYPE_BASE_SINK)

void dead_sink_init(DeadSink* sink) {
  gst_base_sink_set_sync(GST_BASE_SINK(sink), FALSE);
}

GstFlowReturn render(GstBaseSink*, GstBuffer*) {
  g_mutex_lock(&dead_lock);
  while (dead) g_cond_wait(&dead_changed, &dead_lock);
  g_mutex_unlock(&dead_lock);
  return GST_FLOW_OK;
}

void dead_sink_class_init(DeadSinkClass* klass) {
  G_OBJECT_CLASS(klass)->set_property = [](GObject*, guint, const GValue*, GParamSpec*) {};
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), 1,
      g_param_spec_int("fd", "fd", "fd", 0, G_MAXINT, 0, G_PARAM_WRITABLE));
  static GstStaticPadTemplate pad =
      GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(klass), &pad);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Dead", "Sink", "Dead", "Test");
  GST_BASE_SINK_CLASS(klass)->render = render;
}

}  // namespace

// The last test: the dead sink stays.
DVNN_TEST(a_dead_disk_does_not_stop_the_camera) {
  ck_assert(gst_element_register(nullptr, "fdsink", GST_RANK_NONE, dead_sink_get_type()));
  {
    Recording recording("memory-mib=1 before-ms=0 after-ms=1000000 flush-timeout-ms=50", false);
    recording.start();
    recording.frames(0, 10);
    gboolean taken = FALSE;
    g_signal_emit_by_name(recording.get(), "record", "", &taken);
    // 20 MB, of which nobody takes any.
    for (size_t i = 10; i < 4000; ++i) {
      recording.frame(i, i % 25 == 0, 5000);
      ck_assert_uint_le(recording.count("memory"), 1 << 20);
    }
    // But for what the memory and the pipeline hold.
    ck_assert_uint_gt(recording.count("unwritten"), 3400);
    recording.end();
    recording.stop();
    ck_assert_uint_ge(recording.warnings(), 1);
  }
  g_mutex_lock(&dead_lock);
  dead = false;
  g_cond_broadcast(&dead_changed);
  g_mutex_unlock(&dead_lock);
  g_usleep(300000);  // the thread that was left ends by itself
}

}  // namespace dvnn::test::record_tests
