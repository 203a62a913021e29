// SPDX-License-Identifier: Apache-2.0
// dvrecall before dvoverlay: documents of anybody at any times, gaps, ends, flushes and segments of
// either stream. Each frame leaves, and in its order.
#include <cstring>

#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvrecall_target {

using fuzz::expect;
using fuzz::FuzzedData;

namespace {

guint64 pushed = 0, left = 0;  // frames since the last flush

// Frames are counted by the end of their offset.
GstPadProbeReturn count(GstPad*, GstPadProbeInfo* probe, gpointer) {
  const guint64 number = GST_BUFFER_OFFSET_END(GST_PAD_PROBE_INFO_BUFFER(probe));
  expect(number >= left && number < pushed, "a frame leaves out of its order");
  left = number + 1;
  return GST_PAD_PROBE_OK;
}

// A line that is a document, more or less.
std::string any_line(FuzzedData* in) {
  static const char* const kObjects[] = {
      R"({"id":1,"kind":"detection","class_id":1,"label":"a","confidence":0.5,"box":[1,2,30,40]})",
      R"({"id":2,"parent":1,"kind":"attributes","class_id":0,"label":"","confidence":1,)"
      R"("points":[[1,2,0.5],[1e300,-1e300,2]],"outline":[[0,0],[9,9],[3,4]],"network":"other"})",
      R"({"id":2,"kind":"segmentation","class_id":0,"label":"b","confidence":1,"region":"gate",)"
      R"("mask":{"box":[0,0,8,8],"width":2,"height":2,"cells":"AP8AAQ=="},"text":"x"})",
      R"({"id":3,"track_id":9,"kind":"detection","class_id":-5,"label":"c","confidence":-3,)"
      R"("box":[-1e12,0,1e12,5],"numbers":{"age":1e300},"embedding":[1,2],)"
      R"("ground":{"x":1,"y":2,"deviation":3},"agreement":{"looks":2,"probability":1,"agreed":true}})",
      R"({"id":"x"})",
      "7"};
  static const char* const kSizes[] = {R"("frame":{"width":64,"height":48},)", "",
                                       R"("frame":{"width":1,"height":2147483647},)",
                                       R"("frame":{"width":-1,"height":0},)"};
  const uint8_t how = in->byte();
  if (how >= 240) return in->text(60);
  std::string line =
      R"({"version":1,"type":"frame","id":"s-0","session":"s","seq":0,"stream":"cam",)"
      R"("time":{"utc":"2026-11-23T21:50:13.123456Z","utc_from":"clock"},)";
  line += in->one_of(kSizes);
  line += R"("passes":[{"network":"net","state":"inferred"}],"objects":[)";
  for (int i = 0; i < how % 5; ++i) line += (i > 0 ? "," : "") + std::string(in->one_of(kObjects));
  line += "]}";
  if (how >= 220 && !line.empty())
    line[in->any<uint16_t>() % line.size()] = static_cast<char>(in->byte());
  if (how >= 160 && how < 200) {
    for (size_t at = 0; (at = line.find('"', at)) != std::string::npos; at += 6) {
      line.replace(at, 1, "&quot;");
    }
  }
  return line;
}

GstClockTime any_time(FuzzedData* in, GstClockTime now) {
  if (in->rarely()) return in->any<uint64_t>();
  return now + in->byte() * 2 * GST_MSECOND;
}

struct Line {
  Line() : harness(gst_harness_new_with_element(element(), "video", "src")) {
    GstPad* pad = gst_element_get_static_pad(recall, "text");
    text = gst_pad_new("text", GST_PAD_SRC);
    gst_object_ref_sink(text);
    gst_pad_set_active(text, TRUE);
    if (gst_pad_link(text, pad) != GST_PAD_LINK_OK) std::abort();
    gst_object_unref(pad);
    GstPad* src = gst_element_get_static_pad(recall, "src");
    gst_pad_add_probe(src, GST_PAD_PROBE_TYPE_BUFFER, count, nullptr, nullptr);
    gst_object_unref(src);
  }
  GstElement* element() {
    recall = gst_element_factory_make("dvrecall", nullptr);
    return recall ? GST_ELEMENT(gst_object_ref_sink(recall)) : nullptr;
  }
  void begin_text(FuzzedData* in) {
    gst_pad_push_event(text, gst_event_new_stream_start("text"));
    GstCaps* caps = gst_caps_from_string(in->flag() ? "text/x-raw, format=pango-markup"
                                                    : "text/x-raw, format=utf8");
    gst_pad_push_event(text, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    segment(text, in);
  }
  static void segment(GstPad* pad, FuzzedData* in) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    if (in->rarely()) {
      segment.start = segment.time = in->byte() * 100 * GST_MSECOND;
      segment.base = in->byte() * 100 * GST_MSECOND;
      segment.rate = in->flag() ? -1 : 2;
      if (segment.rate < 0) segment.stop = segment.start + 10 * GST_SECOND;
    }
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
  }

  GstElement* recall = nullptr;
  fuzz::Harness harness;
  GstPad* text = nullptr;
};

void push_text(FuzzedData* in, GstPad* pad, GstClockTime time) {
  std::string lines = any_line(in);
  if (in->rarely()) lines += "\n" + any_line(in);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, lines.size(), nullptr);
  gst_buffer_fill(buffer, 0, lines.data(), lines.size());
  GST_BUFFER_PTS(buffer) = any_time(in, time);
  GST_BUFFER_DURATION(buffer) = in->rarely() ? in->any<uint64_t>() : in->byte() * GST_MSECOND;
  gst_pad_push(pad, buffer);
}

void flush_text(FuzzedData* in, Line* line) {
  gst_pad_push_event(line->text, gst_event_new_flush_start());
  gst_pad_push_event(line->text, gst_event_new_flush_stop(TRUE));
  Line::segment(line->text, in);
}

}  // namespace

static void prepare() {
  fuzz::start_gstreamer();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostSteps = 30;
  static auto* const line = new Line();
  FuzzedData in(data, size);
  line->harness.begin_anew();
  pushed = left = 0;
  GstVideoInfo info;
  const gst::CapsPtr caps = fuzz::any_video_caps(&in, &info);
  line->begin_text(&in);
  const bool taken = line->harness.begin(caps.get());
  GstClockTime time = 0;
  for (int i = 0; i < kMostSteps && in.left() > 0; ++i) {
    const uint8_t what = in.byte();
    if (what < 110) {
      push_text(&in, line->text, time);
    } else if (what < 220) {
      GstBuffer* frame = fuzz::any_frame(&in, info);
      GST_BUFFER_PTS(frame) = in.rarely() ? any_time(&in, time) : time;
      GST_BUFFER_DURATION(frame) = in.flag() ? 40 * GST_MSECOND : GST_CLOCK_TIME_NONE;
      GST_BUFFER_OFFSET_END(frame) = pushed++;
      time += 40 * GST_MSECOND;
      if (line->harness.push(frame) == GST_FLOW_OK && taken) ++accepted;
    } else if (what < 230) {
      const GstClockTime start = any_time(&in, time);
      const auto duration = in.any<GstClockTime>();
      // Of no time, GStreamer makes no gap.
      if (GST_CLOCK_TIME_IS_VALID(start)) {
        gst_pad_push_event(line->text, gst_event_new_gap(start, duration));
      }
    } else if (what < 236) {
      gst_pad_push_event(line->text, gst_event_new_eos());
    } else if (what < 242) {
      flush_text(&in, line);
    } else if (what < 248) {
      line->begin_text(&in);
    } else {
      Line::segment(line->harness.get()->srcpad, &in);
    }
  }
  line->harness.drain();
  if (taken) expect(left == pushed, "a frame has not left");
}

DVNN_FUZZ_TARGET(dvrecall)

}  // namespace dvnn::fuzz::dvrecall_target
