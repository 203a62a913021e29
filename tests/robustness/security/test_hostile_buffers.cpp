// SPDX-License-Identifier: Apache-2.0
// Pixels, caps, times and events that other elements may send: none of them is trusted.
// test_hostile_metas.cpp tests the metas on frames. GLib's warnings end the test.
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_chain.h"

namespace dvnn::test::hostile_buffers_tests {

DVNN_SUITE_RUN_BY(run_with_fatal_criticals, hostile_buffers);

namespace {

// Returns every element in a line of its own, in which it is the one that reads the pixels.
std::vector<std::string> readers_of_pixels() {
  return {infer_grid(), "dvconvert ! " + infer_grid(),
          "dvconvert ! capsfilter caps=\"other/tensors,dimensions=(string)3:64:64:1\"",
          "dvoverlay"};
}

void add_box(GstBuffer* frame) {
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_DETECTION, 1, "thing", 0.5f);
  gst_dv_object_set_box(object, 10, 10, 40, 40);
}

GstVideoMeta* add_video_meta(GstBuffer* frame, const GstVideoInfo& info) {
  return gst_buffer_add_video_meta_full(
      frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
      static_cast<guint>(info.width), static_cast<guint>(info.height), info.finfo->n_planes,
      const_cast<gsize*>(info.offset), const_cast<gint*>(info.stride));
}

}  // namespace

// --- pixels ------------------------------------------------------------------------------------

DVNN_TEST(video_metas_that_lie_are_refused) {
  using Lie = void (*)(GstVideoMeta*);
  const struct {
    const char* format;
    Lie lie;
  } lies[] = {
      {"RGB", [](GstVideoMeta* m) { m->stride[0] = 1 << 20; }},
      {"RGB", [](GstVideoMeta* m) { m->stride[0] = G_MAXINT; }},
      {"RGB", [](GstVideoMeta* m) { m->stride[0] = -192; }},
      {"RGB", [](GstVideoMeta* m) { m->stride[0] = G_MININT; }},
      {"RGB", [](GstVideoMeta* m) { m->stride[0] = 0; }},
      {"RGB", [](GstVideoMeta* m) { m->offset[0] = 64 * 64 * 3 - 1; }},
      {"RGB", [](GstVideoMeta* m) { m->n_planes = 0; }},
      {"RGB", [](GstVideoMeta* m) { m->n_planes = 1000000; }},
      {"RGB", [](GstVideoMeta* m) { m->width = 16; }},
      {"RGB", [](GstVideoMeta* m) { m->height = 0; }},
      {"RGB", [](GstVideoMeta* m) { m->width = G_MAXUINT; }},
      {"RGB", [](GstVideoMeta* m) { m->height = G_MAXINT; }},
      {"RGB", [](GstVideoMeta* m) { m->height = 65; }},
      {"RGB", [](GstVideoMeta* m) { m->format = GST_VIDEO_FORMAT_GRAY8; }},
      {"RGB", [](GstVideoMeta* m) { m->format = GST_VIDEO_FORMAT_UNKNOWN; }},
      {"I420", [](GstVideoMeta* m) { m->offset[2] = 64 * 64 * 3 / 2 - 1; }},
      {"I420", [](GstVideoMeta* m) { m->stride[1] = 16; }},
      {"I420", [](GstVideoMeta* m) { m->n_planes = 1; }},
      {"NV12", [](GstVideoMeta* m) { m->stride[1] = 1 << 30; }},
  };
  for (const std::string& elements : readers_of_pixels()) {
    for (const auto& lie : lies) {
      const GstVideoInfo info = video_info(lie.format, kSize, kSize);
      HostileChain chain(elements, video_caps(lie.format, kSize, kSize));
      GstBuffer* frame = exact_frame(info);
      add_box(frame);
      lie.lie(add_video_meta(frame, info));
      const std::string error = chain.push(frame);
      ck_assert_msg(!error.empty(), "%s believes lie %td of a video meta", elements.c_str(),
                    &lie - lies);
    }
  }
}

DVNN_TEST(planes_may_overlap_and_be_short_of_nothing) {
  const GstVideoInfo info = video_info("NV12", kSize, kSize);
  for (const std::string& elements : readers_of_pixels()) {
    HostileChain chain(elements, video_caps("NV12", kSize, kSize));
    GstBuffer* frame = exact_frame(info);
    add_box(frame);
    add_video_meta(frame, info)->offset[1] = 0;
    dvnn_assert_text(chain.push(frame), "");
  }
}

// dvpublish needs pixels only for pictures: it lets the frame pass, and warns.
DVNN_TEST(pictures_are_made_of_no_frame_that_lies) {
  const struct {
    const char *format, *words;
    void (*lie)(GstVideoMeta*);
  } lies[] = {
      {"RGB", "shorter than a row", [](GstVideoMeta* m) { m->stride[0] = -192; }},
      {"RGB", "memory ends", [](GstVideoMeta* m) { m->stride[0] = 1 << 20; }},
      {"RGB", "memory ends", [](GstVideoMeta* m) { m->offset[0] = 64 * 64 * 3 - 1; }},
      {"RGB", "GstVideoMeta describes", [](GstVideoMeta* m) { m->width = 16; }},
      {"RGB", "GstVideoMeta describes", [](GstVideoMeta* m) { m->height = G_MAXINT; }},
      {"RGB", "memory ends", [](GstVideoMeta* m) { m->height = 65; }},
      {"RGB", "GstVideoMeta describes",
       [](GstVideoMeta* m) { m->format = GST_VIDEO_FORMAT_GRAY8; }},
      {"I420", "memory ends", [](GstVideoMeta* m) { m->offset[2] = 64 * 64 * 3 / 2 - 1; }},
  };
  for (const auto& one : lies) {
    for (const char* snapshot : {"object", "frame"}) {
      HostileChain chain(std::string("dvpublish location=/dev/null snapshot=") + snapshot,
                         video_caps(one.format, kSize, kSize));
      const GstVideoInfo info = video_info(one.format, kSize, kSize);
      GstBuffer* frame = exact_frame(info);
      add_box(frame);
      one.lie(add_video_meta(frame, info));
      dvnn_assert_text(chain.push(frame), "");
      const std::string warning = chain.take_warning();
      ck_assert_msg(warning.find(one.words) != std::string::npos, "lie %td: '%s'", &one - lies,
                    warning.c_str());
    }
  }
}

// dvmotion lets a frame pass that it cannot read, as one that is looked at.
DVNN_TEST(motion_is_sought_in_no_frame_that_lies) {
  using Lie = void (*)(GstVideoMeta*);
  const Lie lies[] = {[](GstVideoMeta* m) { m->stride[0] = 1 << 20; },
                      [](GstVideoMeta* m) { m->stride[0] = -192; },
                      [](GstVideoMeta* m) { m->stride[0] = G_MININT; },
                      [](GstVideoMeta* m) { m->offset[0] = 64 * 64 * 3 - 1; },
                      [](GstVideoMeta* m) { m->n_planes = 0; },
                      [](GstVideoMeta* m) { m->width = 16; },
                      [](GstVideoMeta* m) { m->width = G_MAXUINT; },
                      [](GstVideoMeta* m) { m->height = G_MAXINT; },
                      [](GstVideoMeta* m) { m->height = 65; },
                      [](GstVideoMeta* m) { m->format = GST_VIDEO_FORMAT_UNKNOWN; },
                      [](GstVideoMeta* m) { m->offset[m->n_planes - 1] = 64 * 64 * 8; }};
  for (const char* format : {"GRAY8", "NV12", "I420", "RGB", "YUY2", "P010_10LE"}) {
    const GstVideoInfo info = video_info(format, kSize, kSize);
    HostileChain chain("dvmotion name=motion", video_caps(format, kSize, kSize));
    GstElement* motion = gst_bin_get_by_name(GST_BIN(chain.harness()->element), "motion");
    guint64 frames = 0;
    for (const Lie lie : lies) {
      GstBuffer* frame = exact_frame(info);
      lie(add_video_meta(frame, info));
      GST_BUFFER_PTS(frame) = frames++ * GST_SECOND;
      dvnn_assert_text(chain.push(frame), "");
      // An honest one, and one that is cut off.
      frame = exact_frame(info);
      GST_BUFFER_PTS(frame) = frames++ * GST_SECOND;
      dvnn_assert_text(chain.push(frame), "");
      frame = exact_frame(video_info(format, kSize, kSize / 2));
      GST_BUFFER_PTS(frame) = frames++ * GST_SECOND;
      dvnn_assert_text(chain.push(frame), "");
    }
    GstStructure* counts = nullptr;
    g_object_get(motion, "counts", &counts, nullptr);
    gst_object_unref(motion);
    guint64 seen = 0, still = 0;
    ck_assert(gst_structure_get_uint64(counts, "frames", &seen));
    ck_assert(gst_structure_get_uint64(counts, "still", &still));
    gst_structure_free(counts);
    ck_assert_uint_eq(seen, frames);
    ck_assert_uint_eq(still, 0);
  }
}

DVNN_TEST(motion_is_sought_in_frames_of_any_shape) {
  const std::pair<int, int> sizes[] = {{1, 1},   {2, 1},     {1, 2},     {63, 64},   {64, 64},
                                       {65, 67}, {32767, 1}, {1, 32767}, {8191, 129}};
  for (const char* format : {"GRAY8", "NV12", "RGB", "UYVY", "P010_10LE", "GRAY16_LE"}) {
    for (const auto& [width, height] : sizes) {
      HostileChain chain("dvmotion", video_caps(format, width, height));
      for (int i = 0; i < 4; ++i) {
        GstBuffer* frame = exact_frame(video_info(format, width, height));
        GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(i) * 300 * GST_MSECOND;
        dvnn_assert_text(chain.push(frame), "");
      }
    }
  }
}

DVNN_TEST(crops_beyond_the_frame_are_refused) {
  const struct {
    guint x, y, width, height;
    bool good;
  } crops[] = {{0, 0, 65, 64, false},
               {1, 0, 64, 64, false},
               {G_MAXUINT, 0, 8, 8, false},
               {0, G_MAXUINT, 8, 8, false},
               {8, 8, G_MAXUINT, 8, false},
               {8, 8, G_MAXUINT - 7, G_MAXUINT - 7, false},
               {G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT, false},
               {8, 8, 8, 0, false},
               {63, 63, 1, 1, true}};
  for (const auto& c : crops) {
    for (const std::string& elements : {infer_grid(), "dvconvert ! " + infer_grid()}) {
      HostileChain chain(elements, video_caps("RGB", kSize, kSize));
      GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
      GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(frame);
      crop->x = c.x, crop->y = c.y, crop->width = c.width, crop->height = c.height;
      const std::string error = chain.push(frame);
      ck_assert_msg(error.empty() == c.good, "%u x %u at %u, %u: %s", c.width, c.height, c.x, c.y,
                    error.c_str());
    }
  }
}

DVNN_TEST(frames_of_any_shape_are_read_within_their_memory) {
  const std::pair<int, int> sizes[] = {{1, 1}, {2, 1}, {1, 2}, {3, 3}, {32767, 1}, {1, 32767}};
  for (const char* format : {"RGB", "BGRx", "GRAY8", "I420", "NV12", "UYVY", "NV16", "P010_10LE",
                             "I420_10LE", "RGB16"}) {
    for (const auto& [width, height] : sizes) {
      for (const char* how : {"method=bilinear", "method=nearest", "method=area",
                              "method=area resize=crop", "resize=letterbox video-direction=90r"}) {
        HostileChain chain(std::string("dvconvert ") + how + " ! " + infer_grid(),
                           video_caps(format, width, height));
        const std::string error = chain.push(exact_frame(video_info(format, width, height)));
        ck_assert_msg(error.empty(), "%s %dx%d: %s", format, width, height, error.c_str());
      }
    }
  }
}

DVNN_TEST(frames_that_are_shorter_than_their_caps_are_refused) {
  for (const char* format : {"RGB", "I420"}) {
    for (const std::string& elements : readers_of_pixels()) {
      HostileChain chain(elements, video_caps(format, 32767, 16384));
      GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
      add_box(frame);
      ck_assert(chain.push(frame) != "");
    }
  }
}

// Three times this width is 5 in 32 bits. Without a GstVideoMeta GStreamer itself sees that memory
// is missing.
DVNN_TEST(rows_longer_than_32_bits_count_are_refused) {
  for (const std::string& elements : readers_of_pixels()) {
    HostileChain chain(elements, video_caps("RGB", 805307993, 1));
    GstVideoInfo info = video_info("RGB", kSize, kSize);
    GstBuffer* frame = exact_frame(info);
    add_box(frame);
    GstVideoMeta* meta = add_video_meta(frame, info);
    meta->width = 805307993, meta->height = 1;
    ck_assert_msg(chain.push(frame) != "", "%s", elements.c_str());
  }
}

// --- caps --------------------------------------------------------------------------------------

DVNN_TEST(absurd_rates_and_pixels_do_no_harm) {
  for (const char* more :
       {"framerate=2147483647/1", "framerate=1/2147483647", "framerate=0/1",
        "framerate=25/1,pixel-aspect-ratio=1/2147483647",
        "framerate=25/1,pixel-aspect-ratio=2147483647/1",
        "framerate=25/1,pixel-aspect-ratio=2147483647/2147483646", "framerate=0/1,views=2147483647",
        "framerate=25/1,colorimetry=9:9:9:9", "framerate=25/1,interlace-mode=alternate"}) {
    for (const char* how : {"", "resize=letterbox", "resize=crop", "resize=crop method=area"}) {
      HostileChain chain(
          std::string("dvconvert ") + how + " ! " + infer_grid() + " ! dvdecode ! dvoverlay",
          std::string("video/x-raw,format=RGB,width=64,height=64,") + more);
      GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
      add_box(frame);
      (void)chain.push(frame);
    }
  }
}

// --- times -------------------------------------------------------------------------------------

DVNN_TEST(times_may_be_anything) {
  const GstClockTime times[] = {GST_CLOCK_TIME_NONE, 0,          1, G_MAXUINT64 - 1,
                                G_MAXINT64,          GST_SECOND, 0, GST_CLOCK_TIME_NONE};
  for (const char* how :
       {"", "interval-ms=1000", "max-rate=1e-300", "max-rate=1000 when-busy=pass"}) {
    for (double rate : {1.0, -1.0, 1e300, -1e-300}) {
      HostileChain chain("dvmotion ! dvconvert ! " + infer_grid(how) +
                             " ! dvdecode post-messages=true post-empty=true ! dvoverlay ! " +
                             kPublish,
                         video_caps("RGB", kSize, kSize));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      segment.rate = rate;
      segment.base = rate < 0 ? G_MAXUINT64 / 2 : 0;
      segment.stop = G_MAXINT64;
      gst_harness_push_event(chain.harness(), gst_event_new_segment(&segment));
      for (GstClockTime pts : times) {
        for (GstClockTime duration : {GST_CLOCK_TIME_NONE, GstClockTime{0}, G_MAXUINT64 - 1}) {
          GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
          GST_BUFFER_PTS(frame) = pts;
          GST_BUFFER_DTS(frame) = duration;
          GST_BUFFER_DURATION(frame) = duration;
          dvnn_assert_text(chain.push(frame), "");
        }
      }
    }
  }
}

DVNN_TEST(qos_may_say_anything) {
  HostileChain chain("dvconvert ! " + infer_grid(), video_caps("RGB", kSize, kSize));
  for (GstClockTimeDiff late : {G_MININT64, G_MAXINT64, gint64{0}}) {
    for (GstClockTime time : {GstClockTime{0}, G_MAXUINT64 - 1}) {
      gst_harness_push_upstream_event(
          chain.harness(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1e300, late,
                                             late < 0 && time == 0 ? G_MAXUINT64 - 1 : time));
      dvnn_assert_text(chain.push(exact_frame(video_info("RGB", kSize, kSize))), "");
    }
  }
}

DVNN_TEST(queries_and_events_may_come_at_any_time) {
  GstElement* infer = gst_element_factory_make("dvinfer", nullptr);
  g_object_set(infer, "device", "soft", "network", network_path().c_str(), nullptr);
  GstPad* sink = gst_element_get_static_pad(infer, "sink");
  GstPad* src = gst_element_get_static_pad(infer, "src");
  GstCaps* caps = gst_caps_from_string(video_caps("RGB", kSize, kSize).c_str());
  for (GstState state : {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_READY}) {
    gst_element_set_state(infer, state);
    // As from an element upstream that plays already, or still.
    for (GstQuery* query : {gst_query_new_allocation(caps, TRUE), gst_query_new_drain(),
                            gst_query_new_caps(caps), gst_query_new_latency()}) {
      gst_pad_query(GST_QUERY_TYPE(query) == GST_QUERY_LATENCY ? src : sink, query);
      gst_query_unref(query);
    }
    gst_pad_send_event(src, gst_event_new_reconfigure());
    gst_pad_send_event(sink, gst_event_new_caps(caps));
    gst_pad_send_event(sink, gst_event_new_eos());
  }
  gst_element_set_state(infer, GST_STATE_NULL);
  gst_caps_unref(caps);
  gst_object_unref(sink);
  gst_object_unref(src);
  gst_object_unref(infer);
}

}  // namespace dvnn::test::hostile_buffers_tests
