// SPDX-License-Identifier: Apache-2.0
// dvrecord in a pipeline whose video is numbers, and what its files hold, by demuxing them. Units
// of the video carry their number, and are no pictures: nothing decodes them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::record_tests {

namespace fs = std::filesystem;

constexpr GstClockTime kFrameTime = 40 * GST_MSECOND;
constexpr size_t kUsualBytes = 1000;

// --- files -------------------------------------------------------------------------------------

struct Packet {
  GstClockTime pts;
  std::string bytes;
};

// A file's packets, by the demuxer's pads.
inline std::map<std::string, std::vector<Packet>> demuxed(const std::string& path) {
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

inline std::vector<Packet> video_of(const std::string& path) {
  return demuxed(path)["video_0"];
}

// The cues of a file of WebVTT, as subparse reads them.
inline std::vector<Packet> cues_of(const std::string& path) {
  static std::vector<Packet> cues;
  cues.clear();
  GstElement* pipeline = gst_parse_launch(
      ("filesrc location=" + path + " ! subparse ! fakesink name=s signal-handoffs=true").c_str(),
      nullptr);
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "s");
  const auto take = +[](GstElement*, GstBuffer* buffer, GstPad*, gpointer) {
    GstMapInfo map;
    ck_assert(gst_buffer_map(buffer, &map, GST_MAP_READ));
    cues.push_back(
        {GST_BUFFER_PTS(buffer), std::string(reinterpret_cast<char*>(map.data), map.size)});
    gst_buffer_unmap(buffer, &map);
  };
  g_object_set(sink, "sync", FALSE, nullptr);
  g_signal_connect(sink, "handoff", G_CALLBACK(take), nullptr);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* end = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, GST_MESSAGE_EOS);
  ck_assert_ptr_nonnull(end);
  gst_message_unref(end);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return cues;
}

inline size_t number_of(const std::string& bytes) {
  ck_assert_uint_ge(bytes.size(), sizeof(size_t));
  size_t number = 0;
  std::copy(bytes.begin(), bytes.begin() + sizeof number, reinterpret_cast<char*>(&number));
  return number;
}

// The numbers of a file's units.
inline std::vector<size_t> numbers_of(const std::string& path) {
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

inline Told told_of(const GstStructure* fields) {
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
  explicit Recording(
      const std::string& settings, bool detections = true, bool audio = false,
      const std::string& video = "video/x-vp8, width=64, height=48, framerate=25/1") {
    char path[] = "/tmp/dvnn-dvrecord-XXXXXX";
    folder_ = mkdtemp(path);
    const std::string line = "dvrecord stream=cam location=" + folder_ + " " + settings;
    GError* error = nullptr;
    record_ = gst_parse_launch(line.c_str(), &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    gst_object_ref_sink(record_);
    gst_element_set_bus(record_, bus_);
    video_ = link("video", video);
    if (detections) link_detections();
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

  void link_detections() { detections_ = link("detections", video_caps("GRAY8", 64, 48)); }
  void start() {
    ck_assert_int_ne(gst_element_set_state(record_, GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    for (size_t i = 0; i < pads_.size(); ++i) begin(i);
  }
  // Begins the stream of a pad that is linked late.
  void begin(size_t i) {
    gst_pad_set_active(pads_[i], TRUE);
    const std::string id = "stream-" + std::to_string(i);
    gst_pad_push_event(pads_[i], gst_event_new_stream_start(id.c_str()));
    GstCaps* caps = gst_caps_from_string(caps_[i].c_str());
    gst_pad_push_event(pads_[i], gst_event_new_caps(caps));
    gst_caps_unref(caps);
    segment(pads_[i]);
  }
  void video(GstClockTime time, bool key, size_t number, size_t bytes = kUsualBytes) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
    gst_buffer_memset(buffer, 0, 0, bytes);
    gst_buffer_fill(buffer, 0, &number, sizeof number);
    GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrameTime;
    if (!key) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    ck_assert_int_eq(gst_pad_push(video_, buffer), GST_FLOW_OK);
  }
  // A frame of the detection branch, with an object if its confidence is more than 0.
  void detect(GstClockTime time, float confidence = 0, const char* label = "person") {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 64 * 48, nullptr);
    gst_buffer_memset(buffer, 0, 100, 64 * 48);
    GST_BUFFER_PTS(buffer) = time;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(buffer);
    gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
    if (confidence > 0) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, label, confidence);
      gst_dv_object_set_box(object, 10, 10, 30, 40);
    }
    ck_assert_int_eq(gst_pad_push(detections_, buffer), GST_FLOW_OK);
  }
  void sound(GstClockTime time) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 320, nullptr);
    gst_buffer_memset(buffer, 0, 1, 320);
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrameTime;
    ck_assert_int_eq(gst_pad_push(audio_, buffer), GST_FLOW_OK);
  }
  // Instead of a frame of the detection branch, or of sound.
  void gap(GstClockTime time) {
    gst_pad_push_event(detections_, gst_event_new_gap(time, kFrameTime));
  }
  void silence(GstClockTime time) {
    gst_pad_push_event(audio_, gst_event_new_gap(time, kFrameTime));
  }
  void tell(GstStructure* fields) {
    gst_pad_push_event(detections_, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, fields));
  }
  // A frame in both branches.
  void frame(size_t number, bool key, size_t bytes = kUsualBytes) {
    video(number * kFrameTime, key, number, bytes);
    if (detections_) detect(number * kFrameTime);
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
  // The bytes of clips at one moment: if one is removed while others grow, it is read again.
  guint64 bytes_of_clips() const {
    for (;;) {
      guint64 bytes = 0;
      const std::vector<std::string> before = files();
      for (const std::string& path : before) {
        std::error_code gone;
        const auto size = fs::file_size(path, gone);
        if (!gone && fs::path(path).filename().string().rfind("cam-", 0) == 0) bytes += size;
      }
      const auto stands = [](const std::string& path) { return fs::exists(path); };
      if (std::all_of(before.begin(), before.end(), stands)) return bytes;
    }
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

}  // namespace dvnn::test::record_tests
