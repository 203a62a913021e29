// SPDX-License-Identifier: Apache-2.0
// dvrecord: what its clips hold, and what it refuses.
#include <algorithm>
#include <future>
#include <random>
#include <set>
#include <thread>

#include "base/json.h"
#include "record_harness.h"

namespace dvnn::test::record_tests {

DVNN_GST_SUITE(gst_record);

// --- clips -------------------------------------------------------------------------------------

DVNN_TEST(a_clip_begins_at_a_key_frame_before_the_event_and_ends_after_it) {
  Recording recording("before-ms=2000 after-ms=1000 trigger=cross labels=person zone=gate");
  recording.start();
  for (size_t i = 0; i < 700; ++i) {
    recording.video(i * kFrameTime, i % 25 == 0, i);
    if (i == 255) recording.tell(zone_event("cross", "gate", "person", i * kFrameTime, i));
    if (i == 400) recording.tell(zone_event("cross", "gate", "cat", i * kFrameTime, i));
    if (i == 450) recording.tell(zone_event("cross", "fence", "person", i * kFrameTime, i));
    if (i == 500) recording.tell(zone_event("enter", "gate", "person", i * kFrameTime, i));
    recording.detect(i * kFrameTime);
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(told[0].complete);
  ck_assert_uint_eq(told[0].lost, 0);
  ck_assert_uint_eq(told[0].events.size(), 1);
  ck_assert_uint_eq(told[0].events[0].second, 55 * kFrameTime);
  ck_assert_uint_eq(told[0].before, 55 * kFrameTime);
  ck_assert_uint_eq(told[0].duration, 81 * kFrameTime);
  const auto numbers = numbers_of(told[0].location);
  ck_assert_uint_eq(numbers.size(), 81);
  ck_assert_uint_eq(numbers.front(), 200);
  ck_assert_uint_eq(numbers.back(), 280);
  ck_assert_uint_eq(recording.warnings(), 0);
}

// Streams that lose key frames, have gaps and are sought in; the detection branch is behind, and
// some of its frames are gaps only. The event of a frame names it, and the frame has to be in the
// file at that place, also if a flush drops that frame of the detection branch.
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
  size_t told_before = SIZE_MAX;  // the last frame of the detection branch
  GstClockTime time = 0;
  for (size_t i = 0; i < frames + behind; ++i) {
    if (i < frames) {
      time +=
          kFrameTime + (below(300) == 0 ? static_cast<GstClockTime>(below(60)) * GST_SECOND : 0);
      if (below(700) == 0) {
        // Sometimes to what was just shown.
        const GstClockTime back = std::min<GstClockTime>(time, GST_SECOND / 2);
        time = below(2) == 0 ? static_cast<GstClockTime>(below(100)) * GST_SECOND : time - back;
        jumps.insert(i);
      }
      times.push_back(time);
      // The seek reaches both branches at once: what is on its way is dropped.
      if (jumps.count(i) > 0) {
        if (behind > 0 && i > behind && told_before == i - behind - 1) {
          recording.tell(zone_event("cross", "gate", "person", times[i - behind], i - behind));
          events.insert(i - behind);
        }
        recording.flush();
      }
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
    told_before = at;
    if (below(4) == 0) {
      recording.gap(times[at]);
    } else {
      recording.detect(times[at]);
    }
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

// Branches that have nothing to bring say so by gaps: clips do not wait for them, and what was told
// is of that time, also after a seek to what was just shown, and after the last frame.
DVNN_TEST(gaps_stand_for_frames_and_sound) {
  Recording recording("before-ms=400 after-ms=400 late-ms=3600000 trigger=cross", true, true);
  recording.start();
  const auto play = [&](size_t number, size_t place) {
    recording.video(place * kFrameTime, place % 5 == 0, number);
    if (number % 40 == 0) {
      recording.tell(zone_event("cross", "gate", "person", place * kFrameTime, number));
    }
    recording.gap(place * kFrameTime);
    recording.silence(place * kFrameTime);
  };
  for (size_t i = 1; i < 120; ++i) play(i, i);
  ck_assert_uint_eq(recording.wait_for(2).size(), 2);
  recording.flush();
  for (size_t i = 120; i < 180; ++i) play(i, i - 5);
  recording.tell(zone_event("cross", "gate", "person", 174 * kFrameTime, 179));
  recording.end();
  std::map<size_t, GstClockTime> events;
  for (const Told& file : recording.told()) {
    ck_assert(file.complete);
    std::map<size_t, GstClockTime> places;
    for (const Packet& packet : video_of(file.location)) {
      places[number_of(packet.bytes)] = packet.pts;
    }
    for (const auto& [frame, at] : file.events) {
      events[frame] = at;
      ck_assert_msg(places.count(frame) == 1, "no frame %llu",
                    static_cast<unsigned long long>(frame));
      ck_assert_uint_eq(places[frame], at);
    }
  }
  ck_assert_uint_eq(events.size(), 5);
  for (const size_t frame : {40, 80, 120, 160, 179}) ck_assert_uint_eq(events.count(frame), 1);
}

DVNN_TEST(motion_keeps_a_clip_going_until_it_ends) {
  Recording recording("before-ms=400 after-ms=400 trigger=motion");
  recording.start();
  const auto tell = [&](const char* name, size_t frame) {
    recording.tell(gst_structure_new(name, "running-time", G_TYPE_UINT64, frame * kFrameTime,
                                     "frame", G_TYPE_UINT64, guint64{frame}, nullptr));
  };
  for (size_t i = 0; i < 300; ++i) {
    if (i == 100) tell("dvnn-motion-started", i);
    if (i == 200) tell("dvnn-motion-ended", i);
    recording.frame(i, i % 5 == 0);
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  const auto numbers = numbers_of(told[0].location);
  ck_assert_uint_eq(numbers.front(), 90);
  ck_assert_uint_ge(numbers.back(), 209);
  ck_assert_uint_le(numbers.back(), 210);
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
      gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM,
                           gst_structure_new("dvnn-record", "running-time", G_TYPE_UINT64,
                                             320 * kFrameTime, nullptr)));
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

// What demuxers make of text that has no markup but quotation marks.
static std::string unquoted(std::string text) {
  for (size_t at; (at = text.find("&quot;")) != std::string::npos;) text.replace(at, 6, "\"");
  return text;
}

DVNN_TEST(sound_and_documents_go_along) {
  Recording recording("before-ms=1000 after-ms=1000 trigger=object picture-size=64", true, true);
  recording.start();
  for (size_t i = 0; i < 300; ++i) {
    recording.video(i * kFrameTime, i % 25 == 0, i, 20000);
    // The sound stops before the end: the rest has none, and nothing waits for it.
    if (i < 130) recording.sound(i * kFrameTime);
    recording.detect(i * kFrameTime, i >= 100 && i < 200 ? 0.9f : 0);
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
    const auto document = parse_json(unquoted(line.bytes), "a document");
    ck_assert(document.ok());
    ck_assert(document.value()["type"] == "frame" && document.value()["stream"] == "cam");
    const auto pts = document.value()["time"]["pts"].get<guint64>();
    ck_assert_uint_eq(pts - 75 * kFrameTime, line.pts);
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

// Documents of MP4 are a file of WebVTT, which subparse reads without taking labels for markup.
DVNN_TEST(documents_of_mp4_are_beside_it) {
  Recording recording("container=mp4 before-ms=1000 after-ms=1000 trigger=object picture-size=0",
                      true, false,
                      "video/x-h264, stream-format=avc, alignment=au, width=64, height=48, "
                      "framerate=25/1, codec_data=(buffer)014d401effe1000467640028010004");
  recording.start();
  for (size_t i = 0; i < 300; ++i) {
    recording.video(i * kFrameTime, i % 25 == 0, i);
    recording.detect(i * kFrameTime, i >= 100 && i < 200 ? 0.9f : 0, "<b>&amp;</b>-->");
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(told[0].complete);
  const auto files = recording.files();
  ck_assert_uint_eq(files.size(), 2);
  const std::string beside = fs::path(told[0].location).replace_extension("vtt");
  dvnn_assert_text(files[1], beside.c_str());
  ck_assert_uint_eq(video_of(told[0].location).size(), 150);
  const std::vector<Packet> cues = cues_of(files[1]);
  ck_assert_uint_eq(cues.size(), 150);
  for (size_t i = 0; i < cues.size(); ++i) {
    ck_assert_uint_eq(cues[i].pts, i * kFrameTime);
    const auto document = parse_json(unquoted(cues[i].bytes), "a document");
    ck_assert_msg(document.ok(), "%s", cues[i].bytes.c_str());
    const Json& objects = document.value()["objects"];
    ck_assert_uint_eq(objects.size(), i >= 25 && i < 125);
    if (!objects.empty()) ck_assert(objects[0]["label"] == "<b>&amp;</b>-->");
  }
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

// A branch that is linked while the element runs is as one that was there.
DVNN_TEST(detections_may_come_late) {
  Recording recording("before-ms=1000 after-ms=1000 trigger=object picture-size=0", false);
  recording.start();
  recording.frames(0, 100);
  recording.link_detections();
  static std::atomic<int> clips;
  clips = 0;
  gst_pad_add_probe(
      recording.detections(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
      [](GstPad*, GstPadProbeInfo*, gpointer) {
        ++clips;
        return GST_PAD_PROBE_OK;
      },
      nullptr, nullptr);
  recording.begin(1);
  for (size_t i = 100; i < 300; ++i) {
    recording.video(i * kFrameTime, i % 25 == 0, i);
    recording.detect(i * kFrameTime, i == 150 ? 0.9f : 0);
  }
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  auto packets = demuxed(told[0].location);
  ck_assert_uint_eq(packets["video_0"].size(), 51);  // 125 to 175
  ck_assert_uint_eq(packets["subtitle_0"].size(), 51);
  ck_assert_int_eq(clips, 2);
}

// As other sinks, so that a pipeline does not miss the end of another element's change of state.
DVNN_TEST(it_is_paused_when_each_stream_has_come) {
  Recording recording("before-ms=0 after-ms=400");
  recording.start();
  const auto state = [&] {
    GstState now = GST_STATE_NULL;
    (void)gst_element_get_state(recording.get(), &now, nullptr, 0);
    return now;
  };
  ck_assert_int_eq(state(), GST_STATE_READY);
  recording.video(0, true, 0);
  ck_assert_int_eq(state(), GST_STATE_READY);
  recording.detect(0);
  ck_assert_int_eq(state(), GST_STATE_PLAYING);
  recording.frames(1, 10);
  recording.end();
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

// --- the end -----------------------------------------------------------------------------------

// An application plays as soon as it hears of the pause, while the thread that tells of it waits:
// here for the playing, as a busy computer may have it. GstBin forgets that it plays if the change
// to PLAYING is over first, and never tells of an end; basesink's lock keeps others from that.
DVNN_TEST(an_end_is_told_when_playing_begins_while_the_pause_is_told) {
  struct Player {
    GstElement* pipeline;
    std::thread thread;
    std::promise<void> plays;
  };
  char folder[] = "/tmp/dvnn-dvrecord-XXXXXX";
  const std::string line =
      "appsrc name=a format=time caps=\"video/x-vp8,width=64,height=48,framerate=25/1\" ! dvrecord "
      "location=" +
      std::string(mkdtemp(folder));
  Player player{gst_parse_launch(line.c_str(), nullptr), {}, {}};
  ck_assert_ptr_nonnull(player.pipeline);
  GstBus* bus = gst_element_get_bus(player.pipeline);
  const auto hear = +[](GstBus*, GstMessage* message, gpointer data) {
    auto* player = static_cast<Player*>(data);
    if (GST_MESSAGE_SRC(message) != GST_OBJECT(player->pipeline) ||
        GST_MESSAGE_TYPE(message) != GST_MESSAGE_STATE_CHANGED) {
      return GST_BUS_PASS;
    }
    GstState state;
    gst_message_parse_state_changed(message, nullptr, &state, nullptr);
    if (state != GST_STATE_PAUSED) return GST_BUS_PASS;
    std::future<void> plays = player->plays.get_future();
    player->thread = std::thread([player] {
      gst_element_set_state(player->pipeline, GST_STATE_PLAYING);
      player->plays.set_value();
    });
    (void)plays.wait_for(std::chrono::milliseconds(300));
    return GST_BUS_PASS;
  };
  gst_bus_set_sync_handler(bus, hear, &player, nullptr);
  gst_element_set_state(player.pipeline, GST_STATE_PAUSED);
  GstElement* source = gst_bin_get_by_name(GST_BIN(player.pipeline), "a");
  GstBuffer* unit = gst_buffer_new_allocate(nullptr, kUsualBytes, nullptr);
  GST_BUFFER_PTS(unit) = GST_BUFFER_DTS(unit) = 0;
  GstFlowReturn taken = GST_FLOW_ERROR;
  g_signal_emit_by_name(source, "push-buffer", unit, &taken);
  gst_buffer_unref(unit);
  g_signal_emit_by_name(source, "end-of-stream", &taken);
  gst_object_unref(source);
  GstMessage* end = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, GST_MESSAGE_EOS);
  ck_assert_msg(end != nullptr, "the pipeline does not end");
  gst_message_unref(end);
  player.thread.join();
  gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
  gst_element_set_state(player.pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(player.pipeline);
  fs::remove_all(folder);
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

}  // namespace dvnn::test::record_tests
