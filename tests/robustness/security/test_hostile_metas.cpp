// SPDX-License-Identifier: Apache-2.0
// Metas that other elements and applications may write on frames: regions of interest, objects,
// tensors, and networks' names and labels. None of them is trusted, and none stays.
#include <cstring>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "hostile_chain.h"
#include "seconds_of.h"

namespace dvnn::test::hostile_metas_tests {

DVNN_SUITE_RUN_BY(run_with_fatal_criticals, hostile_buffers);

DVNN_TEST(regions_of_interest_may_say_anything) {
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

DVNN_TEST(objects_may_say_anything) {
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

DVNN_TEST(many_objects_cost_what_they_are) {
  constexpr int kMany = 200000;
  constexpr double kSeconds = 10 * kSlower;  // minutes before
  const GstVideoInfo from = video_info("RGB", kSize, kSize), to = video_info("RGB", 32, 32);
  GstBuffer* frame = exact_frame(from);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  guint64 last = 0;
  for (int i = 0; i < kMany; ++i) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, i, "x", 0.5f);
    // Every second region lies outside the frame.
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

namespace {

// Adds a detection of class `class_id` in the middle of the frame, from a network of that name and
// with these labels.
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

DVNN_TEST(tensor_metas_that_lie_are_refused) {
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

DVNN_TEST(places_of_outputs_may_say_anything) {
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

DVNN_TEST(names_and_labels_are_texts_in_messages) {
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

DVNN_TEST(labels_do_not_fill_the_memory_for_ever) {
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

}  // namespace dvnn::test::hostile_metas_tests
