// SPDX-License-Identifier: Apache-2.0
// dvread on frames whose codes and objects are known.
#include "drawn_codes.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::dvread_tests {

DVNN_GST_SUITE(gst_dvread);

namespace {

constexpr int kWidth = 320, kHeight = 240;

struct Reader {
  GstHarness* harness;
  std::string format;
  int rows = kHeight;
  guint frames = 0, copies = 1;  // copies: objects in the code's place

  Reader(const std::string& line, const std::string& format)
      : harness(gst_harness_new_parse(line.c_str())), format(format) {
    gst_harness_set_src_caps_str(harness, video_caps(format, kWidth, kHeight).c_str());
  }
  ~Reader() { gst_harness_teardown(harness); }

  // From here on every second row of the picture is shown, as a field.
  void show_fields() {
    rows = kHeight / 2;
    GstVideoInfo info;
    ck_assert(
        gst_video_info_set_interlaced_format(&info, gst_video_format_from_string(format.c_str()),
                                             GST_VIDEO_INTERLACE_MODE_ALTERNATE, kWidth, kHeight));
    gst_harness_set_src_caps_str(harness, caps_text(gst_video_info_to_caps(&info)).c_str());
  }

  // Shows the picture with a code of 4 pixels a module at 100, 60, as that track's object.
  GstBuffer* show(const Modules* code, guint64 track, const char* label = "QR code") {
    dvnn::codes::Luma picture = light_picture(kWidth, kHeight);
    if (code) draw(*code, 100, 60, 4, &picture);
    for (int y = 0; y < rows; ++y) {
      const auto row = picture.pixels.begin() + y * (kHeight / rows) * kWidth;
      std::copy_n(row, kWidth, picture.pixels.begin() + y * kWidth);
    }
    GstVideoInfo grey = video_info("GRAY8", kWidth, rows), info = video_info(format, kWidth, rows);
    GstBuffer* plain = gst_buffer_new_memdup(picture.pixels.data(), picture.pixels.size());
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    GstVideoConverter* converter = gst_video_converter_new(&grey, &info, nullptr);
    GstVideoFrame from, to;
    ck_assert(gst_video_frame_map(&from, &grey, plain, GST_MAP_READ));
    ck_assert(gst_video_frame_map(&to, &info, frame, GST_MAP_WRITE));
    gst_video_converter_frame(converter, &from, &to);
    gst_video_frame_unmap(&to);
    gst_video_frame_unmap(&from);
    gst_video_converter_free(converter);
    gst_buffer_unref(plain);
    GST_BUFFER_PTS(frame) = frames++ * 40 * GST_MSECOND;
    for (guint i = 0; i < copies; ++i) {
      GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                           GST_DV_OBJECT_DETECTION, 1, label, 0.9f);
      gst_dv_object_set_box(object, 100, 60, 200, 160);
      object->track_id = track;
    }
    return gst_harness_push_and_pull(harness, frame);
  }
  // The text and the kind of the object of a frame, which is taken.
  std::string said(GstBuffer* frame) {
    ck_assert_ptr_nonnull(frame);
    const GstDvObject* object =
        gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
    const gchar* text = gst_dv_object_get_text(object);
    const gchar* kind = gst_dv_object_get_text_format(object);
    const std::string all = text ? std::string(text) + " " + (kind ? kind : "?") : "";
    gst_buffer_unref(frame);
    return all;
  }
};

const char kAddress[] = "https://dvnn.example/7 QR-Code";

}  // namespace

DVNN_TEST(objects_get_what_is_written_on_them) {
  for (const std::string& format : video_formats()) {
    Reader reader("dvread", format);
    dvnn_assert_text(reader.said(reader.show(&kAddressCode, 0)), kAddress);
    dvnn_assert_text(reader.said(reader.show(nullptr, 0)), "");
    dvnn_assert_text(reader.said(reader.show(&kAddressCode, 0, "cat")), "");
  }
}

DVNN_TEST(codes_on_fields_are_read) {
  for (const char* format : {"GRAY8", "NV12", "RGB16"}) {
    Reader reader("dvread", format);
    reader.show_fields();
    dvnn_assert_text(reader.said(reader.show(&kAddressCode, 0)), kAddress);
  }
}

DVNN_TEST(a_text_stays_with_its_track) {
  Reader reader("dvread", "GRAY8");
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 7)), kAddress);
  dvnn_assert_text(reader.said(reader.show(nullptr, 7)), kAddress);
  dvnn_assert_text(reader.said(reader.show(nullptr, 8)), "");
  // A flush is another stream.
  gst_harness_push_event(reader.harness, gst_event_new_flush_start());
  gst_harness_push_event(reader.harness, gst_event_new_flush_stop(FALSE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(reader.harness, gst_event_new_segment(&segment));
  dvnn_assert_text(reader.said(reader.show(nullptr, 7)), "");
}

DVNN_TEST(a_track_is_read_again_after_refresh) {
  Reader reader("dvread refresh-ms=100", "GRAY8");
  dvnn_assert_text(reader.said(reader.show(nullptr, 7)), "");
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 7)), "");        // 40 ms
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 7)), "");        // 80 ms
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 7)), kAddress);  // 120 ms
}

namespace {

// The kept object's looks, and whether they agree: "3 yes".
std::string looks_of(GstBuffer* frame) {
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
  gboolean agreed = FALSE;
  const gfloat sure = gst_dv_object_get_agreement(object, &agreed);
  ck_assert(!agreed || sure >= 0.99f);
  return std::to_string(gst_dv_object_get_looks(object)) + (agreed ? " yes" : " no");
}

}  // namespace

DVNN_TEST(a_text_that_looks_agree_on_is_not_read_again) {
  Reader reader("dvread agree=2", "GRAY8");
  const auto look = [&](const Modules* code, const char* looks, const char* text) {
    GstBuffer* frame = reader.show(code, 7);
    dvnn_assert_text(looks_of(frame), looks);
    dvnn_assert_text(reader.said(frame), text);
  };
  look(nullptr, "0 no", "");
  look(&kAddressCode, "1 no", kAddress);
  look(nullptr, "1 no", kAddress);
  look(&kAddressCode, "2 yes", kAddress);
  for (int i = 0; i < 20; ++i) look(&kAddressCode, "2 yes", kAddress);
  // Without a track there is nothing to compare.
  GstBuffer* frame = reader.show(&kAddressCode, 0);
  dvnn_assert_text(looks_of(frame), "1 no");
  gst_buffer_unref(frame);
}

DVNN_TEST(a_text_that_does_not_match_its_pattern_is_not_agreed) {
  Reader reader("dvread agree=2 pattern=[0-9]+", "GRAY8");
  for (int i = 1; i <= 16; ++i) {
    GstBuffer* frame = reader.show(&kAddressCode, 7);
    const std::string wanted = std::to_string(i) + " no";
    dvnn_assert_text(looks_of(frame), wanted.c_str());
    dvnn_assert_text(reader.said(frame), kAddress);
  }
  // It is given up.
  GstBuffer* frame = reader.show(&kAddressCode, 7);
  dvnn_assert_text(looks_of(frame), "16 no");
  gst_buffer_unref(frame);
}

DVNN_TEST(messages_tell_what_was_read) {
  for (const bool wanted : {true, false}) {
    Reader reader(wanted ? "dvread post-messages=true" : "dvread", "GRAY8");
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(reader.harness->element, bus);
    for (int i = 0; i < 2; ++i) gst_buffer_unref(reader.show(&kAddressCode, 7));
    for (guint64 i = 0; i < (wanted ? 2 : 0); ++i) {
      GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
      ck_assert_ptr_nonnull(message);
      const GstStructure* fields = gst_message_get_structure(message);
      ck_assert(gst_structure_has_name(fields, "dvnn-objects"));
      guint64 time = 0, track = 0;
      ck_assert(gst_structure_get_uint64(fields, "timestamp", &time));
      ck_assert_uint_eq(time, i * 40 * GST_MSECOND);
      const GValue* list = gst_structure_get_value(fields, "objects");
      ck_assert_uint_eq(gst_value_list_get_size(list), 1);
      const GstStructure* object = gst_value_get_structure(gst_value_list_get_value(list, 0));
      ck_assert_str_eq(gst_structure_get_string(object, "label"), "QR code");
      ck_assert_str_eq(gst_structure_get_string(object, "text"), "https://dvnn.example/7");
      ck_assert_str_eq(gst_structure_get_string(object, "text-format"), "QR-Code");
      ck_assert(gst_structure_get_uint64(object, "track-id", &track));
      ck_assert_uint_eq(track, 7);
      gst_message_unref(message);
    }
    ck_assert_ptr_null(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT));
    gst_element_set_bus(reader.harness->element, nullptr);
    gst_object_unref(bus);
  }
}

DVNN_TEST(so_many_objects_are_read_in_a_second) {
  Reader reader("dvread max-rate=2", "GRAY8");
  // A second's at once, and then none until time has passed.
  for (const char* text : {kAddress, kAddress, "", ""}) {
    dvnn_assert_text(reader.said(reader.show(&kAddressCode, 0)), text);
  }
  reader.frames += 13;  // half a second, of 40 ms each
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 0)), kAddress);
}

DVNN_TEST(so_many_objects_of_a_frame_are_read) {
  Reader reader("dvread max-per-frame=2", "GRAY8");
  reader.copies = 5;
  for (int round = 0; round < 3; ++round) {
    GstBuffer* frame = reader.show(&kAddressCode, 0);
    const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
    guint read = 0;
    for (guint i = 0; i < reader.copies; ++i) {
      read += gst_dv_object_get_text(gst_dv_objects_meta_get_object(meta, i)) != nullptr;
    }
    ck_assert_uint_eq(read, 2);
    gst_buffer_unref(frame);
  }
}

#ifdef DVNN_HAVE_MARKERS
DVNN_TEST(markers_get_their_numbers_and_corners) {
  Reader reader("dvread", "NV12");
  // 8 modules of 4 pixels at 100, 60, in a box of 100 pixels: not in its middle, but within it.
  GstBuffer* frame = reader.show(&kTag586, 7, "marker");
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
  ck_assert_uint_eq(gst_dv_object_get_n_corners(object), 4);
  const double corners[][2] = {{100, 60}, {132, 60}, {132, 92}, {100, 92}};
  for (guint i = 0; i < 4; ++i) {
    gdouble x = 0, y = 0;
    gst_dv_object_get_corner(object, i, &x, &y);
    ck_assert_double_eq_tol(x, corners[i][0], 1);
    ck_assert_double_eq_tol(y, corners[i][1], 1);
  }
  dvnn_assert_text(reader.said(frame), "586 apriltag-36h11");
  dvnn_assert_text(reader.said(reader.show(nullptr, 7, "marker")), "586 apriltag-36h11");
  dvnn_assert_text(reader.said(reader.show(&kAruco17, 8, "marker")), "17 aruco-4x4");
  dvnn_assert_text(reader.said(reader.show(&kAddressCode, 9, "marker")), "");
  dvnn_assert_text(reader.said(reader.show(&kTag586, 0, "QR code")), "");
}

DVNN_TEST(families_of_markers_are_chosen) {
  Reader reader("dvread marker-class=tag,target marker-families=aruco-4x4", "GRAY8");
  dvnn_assert_text(reader.said(reader.show(&kAruco17, 0, "target")), "17 aruco-4x4");
  dvnn_assert_text(reader.said(reader.show(&kAruco321, 0, "target")), "");
  dvnn_assert_text(reader.said(reader.show(&kAruco17, 0, "marker")), "");
}
#endif

}  // namespace dvnn::test::dvread_tests
