// SPDX-License-Identifier: Apache-2.0
// dvrecall: each frame leaves with the document of its time, whichever stream comes first and
// whatever the text is.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::recall_tests {

DVNN_GST_SUITE(gst_recall);

namespace {

constexpr GstClockTime kFrameTime = 40 * GST_MSECOND;

// A frame's document with one object, whose class is `number`, in a frame of 64 x 48.
std::string document(int number, const char* more = "") {
  return R"({"version":1,"type":"frame","id":"s-0","session":"s","seq":0,"stream":"cam",)"
         R"("time":{"utc":"2026-11-23T21:50:13.123456Z","utc_from":"clock"},)"
         R"("frame":{"width":64,"height":48},"passes":[{"network":"net","state":"inferred"}],)"
         R"("objects":[{"id":7,"kind":"detection","class_id":)" +
         std::to_string(number) +
         R"(,"label":"cat","confidence":0.5,"network":"net","box":[8,6,16,12])" + more + "}]}";
}

struct Seen {
  GstClockTime pts;
  std::vector<int> classes;
  double x1 = 0;
};

// The element with a pad for each stream, and the frames that have left.
class Recall {
 public:
  explicit Recall(const char* settings = "", bool text = true) {
    recall_ = gst_parse_launch((std::string("dvrecall ") + settings).c_str(), nullptr);
    ck_assert_ptr_nonnull(recall_);
    gst_object_ref_sink(recall_);
    gst_element_set_bus(recall_, bus_);
    video_ = link("video", video_caps("GRAY8", 128, 96));
    if (text) text_ = link("text", "text/x-raw, format=utf8");
    GstPad* src = gst_element_get_static_pad(recall_, "src");
    sink_ = gst_pad_new("sink", GST_PAD_SINK);
    gst_object_ref_sink(sink_);
    gst_pad_set_element_private(sink_, this);
    gst_pad_set_chain_function(
        sink_, +[](GstPad* pad, GstObject*, GstBuffer* frame) {
          static_cast<Recall*>(gst_pad_get_element_private(pad))->take(frame);
          return GST_FLOW_OK;
        });
    gst_pad_set_event_function(
        sink_, +[](GstPad* pad, GstObject*, GstEvent* event) -> gboolean {
          if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
            static_cast<Recall*>(gst_pad_get_element_private(pad))->ended_ = true;
          }
          gst_event_unref(event);
          return TRUE;
        });
    gst_pad_set_active(sink_, TRUE);
    ck_assert_int_eq(gst_pad_link(src, sink_), GST_PAD_LINK_OK);
    gst_object_unref(src);
    gst_element_set_state(recall_, GST_STATE_PLAYING);
    begin(video_, video_caps("GRAY8", 128, 96) + ", framerate=25/1");
    if (text) begin(text_, "text/x-raw, format=utf8");
  }
  ~Recall() {
    stop();
    for (GstPad* pad : {video_, text_, sink_}) {
      if (pad) gst_object_unref(pad);
    }
    gst_element_set_bus(recall_, nullptr);
    gst_object_unref(recall_);
    gst_object_unref(bus_);
  }
  Recall(const Recall&) = delete;
  Recall& operator=(const Recall&) = delete;

  void frame(int number) { frame_at(number * kFrameTime); }
  void frame_at(GstClockTime time, bool may_stop = false) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 128 * 96, nullptr);
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrameTime;
    const GstFlowReturn flow = gst_pad_push(video_, buffer);
    ck_assert(flow == GST_FLOW_OK || may_stop);
  }
  void text(int number) { text(number, document(number)); }
  void text(int number, const std::string& lines, GstClockTime duration = kFrameTime) {
    text_at(number * kFrameTime, lines, duration);
  }
  void text_at(GstClockTime time, const std::string& lines, GstClockTime duration) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, lines.size(), nullptr);
    gst_buffer_fill(buffer, 0, lines.data(), lines.size());
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = duration;
    ck_assert_int_eq(gst_pad_push(text_, buffer), GST_FLOW_OK);
  }
  void gap(int number) {
    gst_pad_push_event(text_, gst_event_new_gap(number * kFrameTime, kFrameTime));
  }
  void end_text() { gst_pad_push_event(text_, gst_event_new_eos()); }
  void end_video() { gst_pad_push_event(video_, gst_event_new_eos()); }
  // As a seek does.
  void flush() {
    for (GstPad* pad : {video_, text_}) {
      gst_pad_push_event(pad, gst_event_new_flush_start());
      gst_pad_push_event(pad, gst_event_new_flush_stop(TRUE));
    }
  }
  void segments(GstClockTime start) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = segment.time = segment.position = start;
    for (GstPad* pad : {video_, text_}) gst_pad_push_event(pad, gst_event_new_segment(&segment));
  }
  void stop() { gst_element_set_state(recall_, GST_STATE_NULL); }

  bool ended() const { return ended_; }
  std::vector<Seen> seen() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_;
  }
  // The classes of the frames that have left, in their order; -1: no object.
  std::vector<int> classes() {
    std::vector<int> all;
    for (const Seen& one : seen()) all.push_back(one.classes.empty() ? -1 : one.classes[0]);
    return all;
  }
  size_t warnings() {
    size_t count = 0;
    while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING)) {
      ++count;
      gst_message_unref(message);
    }
    return count;
  }

 private:
  GstPad* link(const char* name, const std::string&) {
    GstPad* to = gst_element_get_static_pad(recall_, name);
    GstPad* pad = gst_pad_new(name, GST_PAD_SRC);
    gst_object_ref_sink(pad);
    ck_assert_int_eq(gst_pad_link(pad, to), GST_PAD_LINK_OK);
    gst_object_unref(to);
    gst_pad_set_active(pad, TRUE);
    return pad;
  }
  static void begin(GstPad* pad, const std::string& text) {
    gst_pad_push_event(pad, gst_event_new_stream_start(GST_PAD_NAME(pad)));
    GstCaps* caps = gst_caps_from_string(text.c_str());
    ck_assert(gst_pad_push_event(pad, gst_event_new_caps(caps)));
    gst_caps_unref(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
  }
  void take(GstBuffer* frame) {
    Seen one{GST_BUFFER_PTS(frame), {}, 0};
    const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
    for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
      const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
      one.classes.push_back(object->class_id);
      one.x1 = object->x1;
    }
    gst_buffer_unref(frame);
    const std::lock_guard<std::mutex> lock(mutex_);
    seen_.push_back(one);
  }

  GstBus* const bus_ = gst_bus_new();
  GstElement* recall_ = nullptr;
  GstPad *video_ = nullptr, *text_ = nullptr, *sink_ = nullptr;
  std::mutex mutex_;
  std::vector<Seen> seen_;
  std::atomic<bool> ended_{false};
};

using Classes = std::vector<int>;

}  // namespace

// --- one thread brings both --------------------------------------------------------------------

// As a demuxer does whose file has the text behind the video, or before it.
DVNN_TEST(each_frame_has_its_own_document_whichever_comes_first) {
  for (const int ahead : {-2, -1, 0, 1, 30}) {
    Recall recall;
    Classes all;
    for (int i = -40; i < 60; ++i) {
      if (i >= 0) {
        recall.frame(i);
        all.push_back(i);
      }
      if (i + ahead >= 0) recall.text(i + ahead);
    }
    recall.end_video();
    const Classes classes = recall.classes();
    // Frames whose text would have come after the end leave without.
    ck_assert_uint_eq(classes.size(), 60);
    for (int i = 0; i < 60 + std::min(ahead, 0); ++i) {
      ck_assert_msg(classes[static_cast<size_t>(i)] == i, "%d ahead: frame %d has %d", ahead, i,
                    classes[static_cast<size_t>(i)]);
    }
    ck_assert(recall.ended());
  }
}

DVNN_TEST(no_more_than_three_frames_are_held_for_a_text_that_does_not_come) {
  Recall recall;
  for (int i = 0; i < 20; ++i) {
    recall.frame(i);
    ck_assert_int_ge(static_cast<int>(recall.seen().size()), i - 2);
  }
  ck_assert_uint_ge(recall.seen().size(), 19);
  // It has caught up: frames are held for it again.
  recall.text(19);
  recall.text(20);
  recall.frame(20);
  recall.frame(21);
  recall.text(21);
  recall.end_video();
  ck_assert_int_eq(recall.classes()[20], 20);
  ck_assert_int_eq(recall.classes()[21], 21);
}

DVNN_TEST(a_gap_and_an_end_are_as_good_as_a_text) {
  Recall recall;
  recall.frame(0);
  ck_assert_uint_eq(recall.seen().size(), 0);
  recall.gap(0);
  ck_assert_uint_eq(recall.seen().size(), 1);
  recall.frame(1);
  ck_assert_uint_eq(recall.seen().size(), 1);
  recall.end_text();
  ck_assert_uint_eq(recall.seen().size(), 2);
  recall.frame(2);
  ck_assert(recall.classes() == (Classes{-1, -1, -1}));
}

DVNN_TEST(without_a_text_frames_pass) {
  Recall recall("", false);
  for (int i = 0; i < 5; ++i) recall.frame(i);
  ck_assert_uint_eq(recall.seen().size(), 5);
}

// --- two threads -------------------------------------------------------------------------------

DVNN_TEST(a_frame_waits_for_a_text_of_another_thread) {
  Recall recall("max-wait-ms=60000");
  std::thread frames([&] {
    for (int i = 0; i < 50; ++i) recall.frame(i);
  });
  Classes all;
  for (int i = 0; i < 50; ++i) {
    // The frame before has left, this one cannot have.
    while (recall.seen().size() < static_cast<size_t>(i)) g_usleep(1000);
    ck_assert_uint_eq(recall.seen().size(), static_cast<size_t>(i));
    recall.text(i);
    all.push_back(i);
  }
  frames.join();
  ck_assert(recall.classes() == all);
}

DVNN_TEST(a_text_that_never_comes_is_waited_for_once) {
  Recall recall("max-wait-ms=50");
  std::thread frames([&] {
    for (int i = 0; i < 1000; ++i) recall.frame(i);
  });
  frames.join();  // not after 50 s
  ck_assert_uint_eq(recall.seen().size(), 1000);
}

DVNN_TEST(a_flush_and_a_stop_end_the_wait) {
  for (const bool stop : {false, true}) {
    Recall recall("max-wait-ms=60000");
    std::thread frames([&] { recall.frame_at(0, true); });
    g_usleep(10000);  // it waits, mostly
    if (stop) {
      recall.stop();
    } else {
      recall.end_text();
    }
    frames.join();
  }
}

// --- times -------------------------------------------------------------------------------------

// Matroska's times are whole milliseconds, and detections may have a lower rate.
DVNN_TEST(times_need_not_be_exact_and_a_document_lasts) {
  Recall recall;
  recall.text_at(1 * GST_MSECOND, document(1), 199 * GST_MSECOND);
  recall.text_at(201 * GST_MSECOND, document(2), 80 * GST_MSECOND);
  recall.text_at(900 * GST_MSECOND, document(3), 40 * GST_MSECOND);
  for (int i = 0; i < 10; ++i) recall.frame(i);
  ck_assert(recall.classes() == (Classes{1, 1, 1, 1, 1, 2, 2, -1, -1, -1}));
}

DVNN_TEST(places_are_scaled_to_the_frame) {
  Recall recall;
  recall.text(0);
  recall.frame(0);
  ck_assert_double_eq(recall.seen().at(0).x1, 32);
}

DVNN_TEST(a_seek_forgets_what_was_there) {
  Recall recall;
  for (int i = 0; i < 30; ++i) recall.text(i);
  for (int i = 0; i < 10; ++i) recall.frame(i);
  recall.frame(40);  // held
  recall.flush();
  recall.segments(2 * kFrameTime);
  // A document that begins before the segment lasts into it.
  recall.text_at(kFrameTime, document(1), 2 * kFrameTime);
  recall.text(5);
  for (int i = 2; i < 6; ++i) recall.frame(i);
  recall.end_video();
  const Classes classes = recall.classes();
  ck_assert_uint_eq(classes.size(), 14);
  ck_assert(Classes(classes.begin() + 10, classes.end()) == (Classes{1, -1, -1, 5}));
}

// --- hostile documents -------------------------------------------------------------------------

DVNN_TEST(what_cannot_be_read_is_told_once_and_the_frame_passes) {
  Recall recall;
  const std::string wrong[] = {
      "",
      "{",
      "nonsense",
      "{&quot;version&quot;:1",
      "[]",
      "{\"version\":2}",
      document(0).substr(9),
      std::string(100, '['),
      document(1, ",\"box\":[1e999,0,0,0]"),
      document(2, ",\"mask\":{\"box\":[0,0,1,1],\"width\":2,\"height\":2,\"cells\":\"AAAA\"}"),
      "\xff\xfe\x01",
      "{&quot;" + std::string(4 << 20, '&'),
      std::string(5, '\0')};
  int number = 0;
  for (const std::string& text : wrong) {
    recall.text(number, text);
    recall.frame(number);
    ++number;
  }
  // One that can be read stands behind one that cannot, and behind another kind.
  recall.text(number, "nonsense\n\n" + document(number) + "\n" + document(99));
  recall.frame(number);
  const Classes classes = recall.classes();
  ck_assert_uint_eq(classes.size(), std::size(wrong) + 1);
  for (int i = 0; i < number; ++i) ck_assert_int_eq(classes[static_cast<size_t>(i)], -1);
  ck_assert_int_eq(classes.back(), number);
  ck_assert_uint_eq(recall.warnings(), 1);
}

DVNN_TEST(markup_is_undone) {
  Recall recall;
  std::string text = document(0, R"(,"text":"<b>&amp; 'x' caf\u00e9")");
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"&", "&amp;"}, {"\"", "&quot;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}}) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += strlen(to)) {
      text.replace(at, 1, to);
    }
  }
  recall.text(0, text);
  recall.frame(0);
  ck_assert(recall.classes() == Classes{0});
  ck_assert_uint_eq(recall.warnings(), 0);
}

// Text that comes long before its frames takes a bounded memory.
DVNN_TEST(too_many_documents_are_left_out) {
  Recall recall;
  const std::string large(4 << 20, ' ');
  for (int i = 0; i < 30; ++i) recall.text(i, document(i) + large);
  ck_assert_uint_eq(recall.warnings(), 1);
  for (int i = 0; i < 30; ++i) recall.frame(i);
  recall.end_video();
  const Classes classes = recall.classes();
  ck_assert_int_eq(classes[0], 0);
  ck_assert_int_eq(classes[10], 10);
  ck_assert_int_eq(classes[29], -1);
}

}  // namespace dvnn::test::recall_tests
