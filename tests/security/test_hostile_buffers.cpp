// SPDX-License-Identifier: Apache-2.0
// What other elements, files and applications may write on frames and into caps: nothing of it is
// believed, and nothing of it stays. Warnings of GLib end the test.
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "hostile_chain.h"
#include "output_rows.h"
#include "seconds_of.h"

using namespace dvnn::test;

namespace {

constexpr int kSize = 64;  // of frames, pixels

// Every element, each in a line of its own where it is the one that reads the pixels.
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

// All that it can tell, of frames as they are.
const std::string kPublish =
    "dvpublish location=/dev/null mode=frames+events+tracks snapshot=object "
    "details=points+outlines+masks+texts+embeddings+numbers";

std::string whole_line(const std::string& more = "") {
  return "dvconvert ! " + infer_grid() + " ! dvdecode post-messages=true post-empty=true " + more +
         " ! dvtrack confirm=0 ! dvzones "
         "zones=\"{\\\"lines\\\":[{\\\"name\\\":\\\"line\\\",\\\"points\\\":"
         "[[0,0],[1,1]]}]}\" ! dvoverlay";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlower = 10;
#else
constexpr double kSlower = 1;
#endif

}  // namespace

// --- pixels ------------------------------------------------------------------------------------

START_TEST(video_metas_that_lie_are_refused) {
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
END_TEST

START_TEST(planes_may_overlap_and_be_short_of_nothing) {
  const GstVideoInfo info = video_info("NV12", kSize, kSize);
  for (const std::string& elements : readers_of_pixels()) {
    HostileChain chain(elements, video_caps("NV12", kSize, kSize));
    GstBuffer* frame = exact_frame(info);
    add_box(frame);
    add_video_meta(frame, info)->offset[1] = 0;
    dvnn_assert_text(chain.push(frame), "");
  }
}
END_TEST

// dvpublish needs no pixels but for pictures: it lets the frame pass, and warns.
START_TEST(pictures_are_made_of_no_frame_that_lies) {
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
END_TEST

START_TEST(crops_beyond_the_frame_are_refused) {
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
END_TEST

START_TEST(frames_of_any_shape_are_read_within_their_memory) {
  const std::pair<int, int> sizes[] = {{1, 1}, {2, 1}, {1, 2}, {3, 3}, {32767, 1}, {1, 32767}};
  for (const char* format :
       {"RGB", "BGRx", "GRAY8", "I420", "NV12", "UYVY", "NV16", "P010_10LE", "I420_10LE"}) {
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
END_TEST

START_TEST(frames_that_are_shorter_than_their_caps_are_refused) {
  for (const char* format : {"RGB", "I420"}) {
    for (const std::string& elements : readers_of_pixels()) {
      HostileChain chain(elements, video_caps(format, 32767, 16384));
      GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
      add_box(frame);
      ck_assert(chain.push(frame) != "");
    }
  }
}
END_TEST

// --- caps --------------------------------------------------------------------------------------

START_TEST(absurd_rates_and_pixels_do_no_harm) {
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
END_TEST

// --- regions and objects -----------------------------------------------------------------------

START_TEST(regions_of_interest_may_say_anything) {
  const GQuark types[] = {0, G_MAXUINT, g_quark_from_string("face"),
                          g_quark_from_string(std::string(8 << 20, 'x').c_str()),
                          g_quark_from_string("\xff\xfe\x1b[2J")};
  for (const char* params :
       {"", "detection, label=(int)3, confidence=(string)high, class-id=(double)nan, x0=(string)a;",
        "detection, x0=(double)nan, y0=(double)inf, x1=(double)-inf, y1=(double)1e308;",
        "detection, class-id=(int)-2147483648, confidence=(double)1e308;",
        "classification, label=(string)NULL;", "unknown, x=(int)1;"}) {
    HostileChain chain(whole_line() + " ! " + kPublish, video_caps("RGB", kSize, kSize));
    GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
    for (GQuark type : types) {
      for (guint extent : {0U, 1U, 64U, guint{G_MAXINT}, G_MAXUINT}) {
        for (int i = 0; i < 30; ++i) {
          GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta_id(
              frame, type, extent, extent / 2, extent, G_MAXUINT - extent);
          roi->id = roi->parent_id = i % 2 ? G_MININT : i;
          GstStructure* s = *params ? gst_structure_from_string(params, nullptr) : nullptr;
          if (s) gst_video_region_of_interest_meta_add_param(roi, s);
        }
      }
    }
    dvnn_assert_text(chain.push(frame), "");
  }
}
END_TEST

START_TEST(objects_may_say_anything) {
  HostileChain chain(whole_line() + " ! " + kPublish, video_caps("RGB", kSize, kSize));
  GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  const std::string megabytes(8 << 20, '\x80');
  const double values[] = {0, 1, -1, NAN, INFINITY, -INFINITY, 1e308, -1e308, 63.5};
  for (double a : values) {
    for (double b : values) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, a > 0 ? G_MAXINT : G_MININT,
                                         "\xff\x1b[2J", static_cast<gfloat>(a));
      object->x0 = a, object->y0 = b, object->x1 = b, object->y1 = a;
      object->network = a > 0 ? G_MAXINT : G_MININT;
      object->parent = G_MAXUINT64;
    }
  }
  for (int i = 0; i < 3; ++i) {
    gst_dv_object_set_label(gst_dv_objects_meta_get_object(meta, static_cast<guint>(i)),
                            megabytes.c_str());
  }
  gst_dv_objects_meta_add_pass(meta, nullptr, GST_DV_PASS_SKIPPED);
  gst_dv_objects_meta_add_pass(meta, megabytes.c_str(), GST_DV_PASS_SKIPPED);
  g_clear_pointer(&gst_dv_objects_meta_get_pass(meta, 0)->network, g_free);
  dvnn_assert_text(chain.push(frame), "");
}
END_TEST

START_TEST(many_objects_cost_what_they_are) {
  constexpr int kMany = 200000;
  constexpr double kSeconds = 10 * kSlower;  // minutes before
  const GstVideoInfo from = video_info("RGB", kSize, kSize), to = video_info("RGB", 32, 32);
  GstBuffer* frame = exact_frame(from);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  guint64 last = 0;
  for (int i = 0; i < kMany; ++i) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, i, "x", 0.5f);
    // Of every second one nothing is to be seen.
    const double at = i % 2 ? 10 : -20;
    gst_dv_object_set_box(object, at, at, at + 10, at + 10);
    object->parent = std::exchange(last, object->id);
    if (i % 4 == 0) {
      const std::string network = "n" + std::to_string(i);
      object->network = static_cast<gint>(
          gst_dv_objects_meta_add_pass(meta, network.c_str(), GST_DV_PASS_SKIPPED));
    }
  }
  const double spent = seconds_of([&] {
    GstBuffer* scaled = gst_buffer_new();
    GstVideoMetaTransform scale = {const_cast<GstVideoInfo*>(&from),
                                   const_cast<GstVideoInfo*>(&to)};
    for (int twice = 0; twice < 2; ++twice) {
      meta->meta.info->transform_func(scaled, &meta->meta, frame,
                                      g_quark_from_static_string("gst-video-scale"), &scale);
    }
    GstDvObjectsMeta* moved = gst_buffer_get_dv_objects_meta(scaled);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(moved), kMany / 2);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_passes(moved), kMany / 4);
    ck_assert_uint_eq(gst_dv_objects_meta_get_object(moved, 1)->parent, 0);
    gst_buffer_unref(scaled);
    HostileChain chain(whole_line(), video_caps("RGB", kSize, kSize));
    dvnn_assert_text(chain.push(frame), "");
  });
  ck_assert_msg(spent < kSeconds, "%.1f s for %d objects", spent, kMany);
}
END_TEST

// --- tensors -----------------------------------------------------------------------------------

namespace {

// A detection of class `class_id` in the middle of the frame, by a network of that name and labels.
void add_outputs(GstBuffer* frame, GstDvNetworkInfo* network, const std::vector<int>& classes) {
  std::vector<OutputRow> rows;
  for (int c : classes)
    rows.push_back({0, static_cast<float>(c), 0.9f, 0.25f, 0.25f, 0.75f, 0.75f});
  add_output_rows(frame, network, kSize, rows)->tensors[0].id = 0;
}

GstDvNetworkInfo* network_of(const char* name, const std::vector<std::string>& labels) {
  std::vector<const gchar*> list;
  for (const std::string& label : labels) list.push_back(label.c_str());
  list.push_back(nullptr);
  return gst_dv_network_info_new(name, "detection-output", "{}", list.data());
}

template <typename Enum>
void write_number(Enum* to, guint number) {
  static_assert(sizeof *to == sizeof number, "an enumeration of C");
  std::memcpy(to, &number, sizeof number);
}

}  // namespace

START_TEST(tensor_metas_that_lie_are_refused) {
  using Lie = void (*)(GstDvTensorMeta*);
  const Lie lies[] = {[](GstDvTensorMeta* m) { write_number(&m->tensors[0].layout, 5); },
                      [](GstDvTensorMeta* m) { write_number(&m->tensors[0].layout, G_MAXUINT); },
                      [](GstDvTensorMeta* m) { write_number(&m->tensors[0].layout, 1U << 31); },
                      [](GstDvTensorMeta* m) { write_number(&m->tensors[0].data_type, 4); },
                      [](GstDvTensorMeta* m) { write_number(&m->tensors[0].data_type, G_MAXUINT); },
                      [](GstDvTensorMeta* m) { m->tensors[0].num_dims = 0; },
                      [](GstDvTensorMeta* m) { m->tensors[0].num_dims = G_MAXSIZE; },
                      [](GstDvTensorMeta* m) { m->tensors[0].dims[1] = G_MAXSIZE; },
                      [](GstDvTensorMeta* m) { m->tensors[0].dims[2] = G_MAXSIZE / 28 + 1; },
                      [](GstDvTensorMeta* m) { m->tensors[0].dims[2] = 0; },
                      [](GstDvTensorMeta* m) { m->tensors[0].dims[2] = 3; },
                      [](GstDvTensorMeta* m) { gst_buffer_resize(m->tensors[0].data, 0, 27); }};
  GstDvNetworkInfo* network = network_of("rows", {"a", "b"});
  for (Lie lie : lies) {
    HostileChain chain("dvdecode", video_caps("RGB", kSize, kSize));
    GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
    add_outputs(frame, network, {1});
    lie(gst_buffer_get_dv_tensor_meta(frame));
    ck_assert(chain.push(frame) != "");
  }
  gst_dv_network_info_unref(network);
}
END_TEST

START_TEST(places_of_outputs_may_say_anything) {
  GstDvNetworkInfo* network = network_of("rows", {"a", "b"});
  const double values[] = {0, -1, 1e308, 1e-308, NAN, INFINITY};
  for (double scale : values) {
    for (double offset : values) {
      HostileChain chain("dvdecode post-messages=true ! dvoverlay",
                         video_caps("RGB", kSize, kSize));
      GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
      add_outputs(frame, network, {0, 1, 65535});
      GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame);
      meta->transform = {scale, offset, offset, scale, 7, offset, scale};
      meta->input_width = scale < 0 ? G_MAXUINT : 0;
      meta->input_height = G_MAXUINT;
      meta->region = G_MAXUINT;
      dvnn_assert_text(chain.push(frame), "");
    }
  }
  gst_dv_network_info_unref(network);
}
END_TEST

START_TEST(names_and_labels_are_texts_in_messages) {
  HostileChain chain("dvdecode post-messages=true", video_caps("RGB", kSize, kSize));
  const std::string megabytes(8 << 20, 'x');
  GstDvNetworkInfo* network =
      network_of("\xff\xfe\x1b[2J", {"\xff", "\x1b[2J\n", megabytes, "\xed\xa0\x80"});
  GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
  add_outputs(frame, network, {0, 1, 2, 3, 4});
  dvnn_assert_text(chain.push(frame), "");
  GstStructure* message = chain.take_structure();
  ck_assert_ptr_nonnull(message);
  const gchar* name = gst_structure_get_string(message, "network");
  ck_assert(name && g_utf8_validate(name, -1, nullptr));
  const GValue* list = gst_structure_get_value(message, "objects");
  ck_assert_uint_eq(gst_value_list_get_size(list), 5);
  for (guint i = 0; i < 5; ++i) {
    const GstStructure* object = gst_value_get_structure(gst_value_list_get_value(list, i));
    const gchar* label = gst_structure_get_string(object, "label");
    ck_assert(label && dvnn::is_printable(label) && std::strlen(label) <= 1024);
  }
  gst_structure_free(message);
  gst_dv_network_info_unref(network);
}
END_TEST

START_TEST(labels_do_not_fill_the_memory_for_ever) {
  HostileChain chain("dvdecode", video_caps("RGB", kSize, kSize));
  auto type_of = [&](const std::vector<std::string>& labels, int class_id) -> std::string {
    GstDvNetworkInfo* network = network_of("rows", labels);
    GstBuffer* frame = exact_frame(video_info("RGB", kSize, kSize));
    std::vector<int> classes;
    for (int i = 0; i < static_cast<int>(labels.size()); ++i) classes.push_back(i);
    add_outputs(frame, network, classes);
    gst_dv_network_info_unref(network);
    dvnn_assert_text(chain.push(frame), "");
    const GstDvObject* object = gst_dv_objects_meta_get_object(
        gst_buffer_get_dv_objects_meta(chain.out()), static_cast<guint>(class_id));
    dvnn_assert_text(object->label, labels[static_cast<size_t>(class_id)].c_str());
    return g_quark_to_string(gst_buffer_get_video_region_of_interest_meta_id(
                                 chain.out(), static_cast<gint>(object->id & G_MAXINT))
                                 ->roi_type);
  };
  dvnn_assert_text(type_of({"cat"}, 0), "cat");
  dvnn_assert_text(type_of({std::string(300, 'l')}, 0), "object");
  for (int i = 0; i < 330; ++i) {  // 66,000
    std::vector<std::string> labels;
    for (int k = 0; k < 200; ++k) labels.push_back("t" + std::to_string(i * 200 + k));
    (void)type_of(labels, 199);
  }
  dvnn_assert_text(type_of({"one more"}, 0), "object");
  dvnn_assert_text(type_of({"cat"}, 0), "cat");
}
END_TEST

// --- times -------------------------------------------------------------------------------------

START_TEST(times_may_be_anything) {
  const GstClockTime times[] = {GST_CLOCK_TIME_NONE, 0,          1, G_MAXUINT64 - 1,
                                G_MAXINT64,          GST_SECOND, 0, GST_CLOCK_TIME_NONE};
  for (const char* how : {"", "interval=1000", "max-rate=1e-300", "max-rate=1000 when-busy=pass"}) {
    for (double rate : {1.0, -1.0, 1e300, -1e-300}) {
      HostileChain chain("dvconvert ! " + infer_grid(how) +
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
END_TEST

START_TEST(qos_may_say_anything) {
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
END_TEST

START_TEST(queries_and_events_may_come_at_any_time) {
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
END_TEST

int main() {
  // What is no error of ours must not be one of GLib's.
  setenv("G_DEBUG", "fatal-criticals", FALSE);
  return run_gst_suite(
      "hostile_buffers",
      {video_metas_that_lie_are_refused, planes_may_overlap_and_be_short_of_nothing,
       pictures_are_made_of_no_frame_that_lies, crops_beyond_the_frame_are_refused,
       frames_of_any_shape_are_read_within_their_memory,
       frames_that_are_shorter_than_their_caps_are_refused, absurd_rates_and_pixels_do_no_harm,
       regions_of_interest_may_say_anything, objects_may_say_anything,
       many_objects_cost_what_they_are, tensor_metas_that_lie_are_refused,
       places_of_outputs_may_say_anything, names_and_labels_are_texts_in_messages,
       labels_do_not_fill_the_memory_for_ever, times_may_be_anything, qos_may_say_anything,
       queries_and_events_may_come_at_any_time});
}
