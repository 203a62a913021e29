// SPDX-License-Identifier: Apache-2.0
// dvconvert's properties, streams of tensors, and what is wrong with some frames.
#include <cstring>

#include "fault_device.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "image/converter.h"
#include "streams.h"

namespace dvnn::test::convert_tests {

DVNN_GST_SUITE(gst_convert);

namespace {

std::string detector(const std::string& properties, const std::string& of_infer = "") {
  return "dvconvert " + properties + " ! dvinfer " + of_infer + " network=" + network_path() +
         " ! dvdecode";
}

dvnn::image::FrameView rgb_view(const std::vector<uint8_t>& pixels, int width) {
  dvnn::image::FrameView view;
  view.planes[0] = pixels.data();
  view.strides[0] = (3 * width + 3) / 4 * 4;  // GStreamer's
  return view;
}

bool mentions(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

DVNN_TEST(boxes_come_back_however_the_picture_was_turned) {
  const char* directions[] = {"identity", "90r", "180", "90l", "horiz", "vert", "ul-lr", "ur-ll"};
  for (const char* direction : directions) {
    for (const char* backend : {"cpu", "device"}) {
      GstHarness* h =
          chain(detector(std::string("video-direction=") + direction + " backend=" + backend),
                video_caps("RGB", 320, 240));
      GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 320, 240, 3, 1));
      ck_assert_msg(found_square(out, 320, 240, 3, 1), "%s %s", direction, backend);
      gst_buffer_unref(out);
      gst_harness_teardown(h);
    }
  }
}

DVNN_TEST(auto_direction_follows_the_tag) {
  auto tensor = [](const char* direction, const char* tag) {
    GstHarness* h = gst_harness_new_parse(
        (std::string("dvconvert video-direction=") + direction + tensors("3:8:8:1", "uint8"))
            .c_str());
    gst_harness_set_src_caps_str(h, video_caps("RGB", 8, 8).c_str());
    if (tag) {
      gst_harness_push_event(
          h, gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, tag, nullptr)));
    }
    GstBuffer* out = gst_harness_push_and_pull(h, noise("RGB", 8, 8));
    const std::vector<uint8_t> bytes = bytes_of(out);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
    return bytes;
  };
  ck_assert(tensor("auto", "rotate-90") == tensor("90r", nullptr));
  ck_assert(tensor("auto", nullptr) == tensor("identity", nullptr));
  ck_assert(tensor("90r", nullptr) != tensor("identity", nullptr));
}

DVNN_TEST(a_region_of_interest_is_all_that_is_seen) {
  GstHarness* h = chain(detector("name=c roi=\"<0.5,0.5,0.5,0.5>\""), video_caps("NV12", 128, 128));
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("NV12", 128, 128, 3, 2));
  std::vector<Found> list = detections(out);
  ck_assert_uint_eq(list.size(), 4);  // a quarter of the picture: the square has four cells
  for (const Found& found : list) {
    ck_assert(found.x0 >= 95 && found.y0 >= 63 && found.x1 <= 129 && found.y1 <= 97);
  }
  gst_buffer_unref(out);
  // It may change while playing.
  GstElement* convert = gst_bin_get_by_name(GST_BIN(h->element), "c");
  gst_util_set_object_arg(G_OBJECT(convert), "roi", "<0,0,0.5,0.5>");
  out = gst_harness_push_and_pull(h, red_square("NV12", 128, 128, 3, 2));
  ck_assert(detections(out).empty());
  gst_buffer_unref(out);
  gst_object_unref(convert);
  gst_harness_teardown(h);
}

DVNN_TEST(letterbox_borders_have_the_colour_asked_for) {
  const std::vector<uint8_t> bytes = output_of(
      "dvconvert resize=letterbox pad-color=0x102030 color-order=bgr" + tensors("3:8:8:1", "uint8"),
      video_caps("RGB", 16, 8), noise("RGB", 16, 8));
  ck_assert(bytes[0] == 0x30 && bytes[1] == 0x20 && bytes[2] == 0x10);
}

// The fault device is no software device: what it looks up costs no time of the CPU.
DVNN_TEST(a_device_takes_pixels_where_that_saves_the_cpu_time) {
  struct Case {
    std::string device;
    const char *backend, *active;
  };
  const std::string soft = "device=soft", board = FaultPlan::device();
  const Case cases[] = {{soft, "auto", "cpu"},      {soft, "cpu", "cpu"},
                        {soft, "device", "device"}, {board, "auto", "device"},
                        {board, "cpu", "cpu"},      {board, "device", "device"}};
  for (const Case& c : cases) {
    GstHarness* h = chain(detector(std::string("name=c backend=") + c.backend, c.device),
                          video_caps("I420", 320, 240));
    GstBuffer* out = gst_harness_push_and_pull(h, red_square("I420", 320, 240, 2, 2));
    ck_assert_msg(found_square(out, 320, 240, 2, 2), "%s %s", c.device.c_str(), c.backend);
    GstElement* convert = gst_bin_get_by_name(GST_BIN(h->element), "c");
    gchar* active = nullptr;
    g_object_get(convert, "active-backend", &active, nullptr);
    ck_assert_msg(g_strcmp0(active, c.active) == 0, "%s %s: %s", c.device.c_str(), c.backend,
                  active);
    g_free(active);
    gst_object_unref(convert);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(a_stream_has_the_converters_bytes_in_every_layout) {
  struct Case {
    const char* name;
    dvnn::Layout layout;
    const char* dimensions;
  };
  const Case cases[] = {{"nchw", dvnn::Layout::kNchw, "13:9:3:1"},
                        {"nhwc", dvnn::Layout::kNhwc, "3:13:9:1"},
                        {"nwhc", dvnn::Layout::kNwhc, "3:9:13:1"},
                        {"whc8", dvnn::Layout::kWhc8, "3:9:13:1"},
                        {"hwc8", dvnn::Layout::kHwc8, "3:13:9"}};
  for (const Case& c : cases) {
    for (const char* type : {"float16", "float32", "uint8", "int8"}) {
      GstBuffer* frame = noise("RGB", 31, 17);
      dvnn::image::FrameFormat format;
      format.format = dvnn::image::PixelFormat::kRgb;
      format.width = 31;
      format.height = 17;
      dvnn::InputSpec picture;
      picture.mean = {{10, 20, 30}};
      picture.scale = {{0.5f, 0.25f, 1}};
      picture.quant_scale = 0.75f;
      picture.zero_point = -3;
      const dvnn::TensorDesc desc = {
          dvnn::parse_element_type(type).value(), c.layout, {1, 3, 9, 13}};
      auto converter = dvnn::image::Converter::create(format, desc, picture);
      ck_assert(converter.ok());
      std::vector<uint8_t> want(static_cast<size_t>(desc.bytes()));
      converter.value()->convert(rgb_view(bytes_of(frame), 31), want.data());
      const std::vector<uint8_t> have = output_of(
          std::string("dvconvert mean=\"<10.,20.,30.>\" scale=\"<0.5,0.25,1.>\" quant-scale=0.75 "
                      "zero-point=-3 layout=") +
              c.name + tensors(c.dimensions, type),
          video_caps("RGB", 31, 17), frame);
      ck_assert_msg(have == want, "%s %s", c.name, type);
    }
  }
}

DVNN_TEST(a_dlhdl_stream_is_the_processors_buffer) {
  for (int threads : {1, 4, 9, 16, 25, 64}) {
    auto layout = dvnn::DlhdlLayout::create(threads);
    ck_assert(layout.ok());
    const dvnn::Shape shape = {1, 3, 9, 13};
    const int values = layout.value().values_per_transfer();
    const int blocks = static_cast<int>(layout.value().elements(shape)) / (9 * 13 * values);
    const std::string dimensions = std::to_string(values) + ":9:13:" + std::to_string(blocks);
    // Row-major values, packed by src/tensor.
    const std::vector<uint8_t> plain =
        output_of("dvconvert layout=nchw scale=\"<0.4>\"" + tensors("13:9:3:1", "float32"),
                  video_caps("RGB", 31, 17), noise("RGB", 31, 17));
    for (dvnn::ElementType type : {dvnn::ElementType::kFloat32, dvnn::ElementType::kInt8}) {
      std::vector<uint8_t> want(static_cast<size_t>(layout.value().elements(shape)) *
                                dvnn::element_size(type));
      std::vector<float> values_of(plain.size() / sizeof(float));
      std::memcpy(values_of.data(), plain.data(), plain.size());
      ck_assert(layout.value().pack(values_of.data(), shape, type, want.data()).ok());
      const std::vector<uint8_t> have =
          output_of("dvconvert layout=dlhdl conv-threads=" + std::to_string(threads) +
                        " scale=\"<0.4>\"" + tensors(dimensions, dvnn::to_string(type)),
                    video_caps("RGB", 31, 17), noise("RGB", 31, 17));
      ck_assert_msg(have == want, "%d threads, %s", threads, dvnn::to_string(type));
    }
  }
}

DVNN_TEST(streams_of_tensors_give_the_outputs_of_frames) {
  const std::string caps = video_caps("RGB", 320, 240), infer = "dvinfer network=" + network_path();
  GstHarness* h = chain("dvconvert ! " + infer, caps);
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 320, 240, 1, 2));
  const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(out);
  std::vector<uint8_t> want;
  for (gsize i = 0; i < meta->num_tensors; ++i) {
    const std::vector<uint8_t> part = bytes_of(meta->tensors[i].data);
    want.insert(want.end(), part.begin(), part.end());
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  auto same = [&](const std::string& description) {
    const std::vector<uint8_t> have =
        output_of(description, caps, red_square("RGB", 320, 240, 1, 2));
    ck_assert_msg(have == want, "%s", description.c_str());
  };
  same("dvconvert ! " + infer + " ! capsfilter caps=other/tensors");
  same("dvconvert ! capsfilter caps=other/tensors ! " + infer);
  // The properties say it all where dvinfer's request does not come through, and the tensor is
  // copied.
  same("dvconvert layout=nwhc scale=\"<0.00392156862745098>\"" + tensors("3:16:16:1", "float16") +
       " ! identity drop-allocation=true ! " + infer);
}

DVNN_TEST(a_stream_keeps_times) {
  GstHarness* h =
      chain("dvconvert ! capsfilter caps=other/tensors ! dvinfer network=" + network_path(),
            video_caps("RGB", 64, 64));
  GstBuffer* frame = red_square("RGB", 64, 64, 0, 0);
  GST_BUFFER_PTS(frame) = 3 * GST_SECOND;
  GST_BUFFER_DURATION(frame) = GST_SECOND;
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_uint_eq(GST_BUFFER_PTS(out), 3 * GST_SECOND);
  ck_assert_uint_eq(GST_BUFFER_DURATION(out), GST_SECOND);
  ck_assert_uint_eq(gst_buffer_n_memory(out), 2);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(wrong_streams_are_refused_by_name) {
  const std::string caps = video_caps("RGB", 64, 64);
  auto refused = [&](const std::string& description, const char* word) {
    const std::string text = error_of(description, caps, noise("RGB", 64, 64));
    ck_assert_msg(mentions(text, word), "%s: '%s'", description.c_str(), text.c_str());
  };
  refused("dvconvert" + tensors("5:8:8:1", "uint8"), "3:8:8:1");
  refused("dvconvert" + tensors("3:0:8:1", "uint8"), "3:0:8:1");
  refused("dvconvert" + tensors("3:8:8:1", "complex"), "complex");
  refused("dvconvert layout=dlhdl conv-threads=7" + tensors("4:8:8:1", "float32"),
          "ConvThreadNumber");
  refused("dvconvert layout=dlhdl conv-threads=9" + tensors("4:8:8:1", "float16"),
          "float32 or int8");
  refused("dvconvert backend=device" + tensors("3:8:8:1", "uint8"), "backend=device");
}

// Applications look at the domain: a stream of another kind is the source's concern, settings that
// cannot be are the user's.
DVNN_TEST(errors_say_whether_the_stream_or_a_setting_is_wrong) {
  const struct {
    std::string line;
    GQuark domain;
    gint code;
  } cases[] = {
      {"dvconvert" + tensors("5:8:8:1", "uint8"), GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE},
      {"dvconvert backend=device" + tensors("3:8:8:1", "uint8"), GST_RESOURCE_ERROR,
       GST_RESOURCE_ERROR_SETTINGS}};
  for (const auto& c : cases) {
    GstHarness* h = gst_harness_new_parse(c.line.c_str());
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(h->element, bus);
    gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
    gst_harness_push(h, noise("RGB", 64, 64));
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ck_assert_msg(message, "%s", c.line.c_str());
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert_msg(g_error_matches(error, c.domain, c.code), "%s: %s %d", c.line.c_str(),
                  g_quark_to_string(error->domain), error->code);
    g_error_free(error);
    gst_message_unref(message);
    gst_element_set_bus(h->element, nullptr);
    gst_object_unref(bus);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(frames_that_are_too_short_are_refused) {
  const std::string caps = video_caps("NV12", 64, 64);
  const gsize offsets[] = {0, 64 * 64};
  auto with_meta = [&](gsize size, gint stride_y, gint stride_uv) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, size, nullptr);
    gst_buffer_memset(frame, 0, 0, size);
    gsize at[4] = {offsets[0], offsets[1], 0, 0};
    gint strides[4] = {stride_y, stride_uv, 0, 0};
    gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 64,
                                   2, at, strides);
    return frame;
  };
  GstFlowReturn flow = GST_FLOW_OK;
  std::string text = error_of(detector(""), caps, with_meta(64 * 96, 64, 63), &flow);
  ck_assert_msg(flow == GST_FLOW_ERROR && mentions(text, "stride of 63 bytes in plane 1"), "%s",
                text.c_str());
  text = error_of(detector(""), caps, with_meta(64 * 96 - 1, 64, 64), &flow);
  ck_assert_msg(flow == GST_FLOW_ERROR && mentions(text, "plane 1"), "%s", text.c_str());
  GstBuffer* plain = gst_buffer_new_allocate(nullptr, 1000, nullptr);
  gst_buffer_memset(plain, 0, 0, 1000);
  text = error_of(detector(""), caps, plain, &flow);
  ck_assert_msg(flow == GST_FLOW_ERROR && mentions(text, "1000 bytes"), "%s", text.c_str());
  // A last row that ends with its pixels is enough.
  ck_assert(error_of(detector(""), caps, with_meta(64 * 96, 64, 64), &flow).empty());
  ck_assert_int_eq(flow, GST_FLOW_OK);
}

DVNN_TEST(interlaced_frames_are_seen_as_they_are_woven) {
  const std::string caps = video_caps("I420", 320, 240);
  std::string interlaced = caps;
  const std::string mode = "interlace-mode=(string)progressive";
  interlaced.replace(interlaced.find(mode), mode.size(),
                     "interlace-mode=(string)interleaved, field-order=(string)top-field-first");
  GstHarness* h = chain(detector(""), interlaced);
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("I420", 320, 240, 2, 1));
  ck_assert(out && found_square(out, 320, 240, 2, 1));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::convert_tests
