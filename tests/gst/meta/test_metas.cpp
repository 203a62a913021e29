// SPDX-License-Identifier: Apache-2.0
// Detections and outputs on their way through other people's elements: they come through right, or
// not at all, never wrong.
#include <algorithm>

#include "gst/dvnn/gstdvnetworkinfo.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "watched_suite.h"

namespace dvnn::test::metas_tests {

DVNN_WATCHED_SUITE(gst_metas);

namespace {

constexpr int kFrames = 20;
const char* const kSink = " ! fakesink name=out async=false";

std::string detect() {
  return painted_source(kFrames, "", "src", 128, 64) + "dvconvert ! " + infer() + " ! ";
}

// A converter that does not change what is seen, to be put anywhere.
const char* const kSamePicture[] = {
    "videoconvert ! video/x-raw,format=BGRx",
    "videoconvert ! video/x-raw,format=I420",
    "videoconvert ! video/x-raw,format=NV12 ! queue ! videoconvert ! video/x-raw,format=RGB",
    "videoconvertscale ! video/x-raw,format=RGBA",
};

const char* const kScaled[] = {
    "videoscale ! video/x-raw,width=64,height=64",
    "videoscale ! video/x-raw,width=256,height=128 ! videoconvert ! video/x-raw,format=I420",
    "videoconvertscale ! video/x-raw,format=BGRx,width=192,height=96",
};

// Boxes that are there are right; some may be missing.
void expect_right_or_gone(const std::string& description, double pixels) {
  Pipeline pipeline(description);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  ck_assert_uint_eq(arrivals.size(), kFrames);
  size_t boxes = 0;
  for (Arrival arrival : arrivals) {
    ck_assert(arrival.readable);
    boxes += arrival.found.size();
    if (arrival.found.empty()) continue;
    const std::string wrong = difference(arrival.found, arrival.expected, pixels, 2);
    ck_assert_msg(wrong.empty(), "%s: %s", description.c_str(), wrong.c_str());
  }
  std::printf("%s: %s\n", description.substr(description.find("dvdecode")).c_str(),
              boxes ? "kept" : "gone");
}

}  // namespace

DVNN_TEST(detections_pass_a_change_of_format) {
  for (const char* between : kSamePicture) {
    play_and_expect_boxes(detect() + "dvdecode ! " + between + kSink, kFrames);
  }
}

DVNN_TEST(detections_are_scaled_with_the_frame) {
  for (const char* between : kScaled) {
    // Within a pixel, as far as regions of interest have whole ones.
    play_and_expect_boxes(detect() + "dvdecode ! " + between + kSink, kFrames, Looks::kRed, 1);
  }
}

DVNN_TEST(detections_keep_confidence_and_class_when_scaled) {
  for (const char* between : kScaled) {
    for (const Arrival& arrival : play(detect() + "dvdecode ! " + between + kSink)) {
      for (const Found& found : arrival.found) {
        ck_assert_double_eq_tol(found.confidence, 1, 1e-3);
        ck_assert_int_eq(found.class_id, 1);
      }
      ck_assert(!arrival.found.empty());
    }
  }
}

DVNN_TEST(detections_pass_a_tee_and_videorate) {
  play_and_expect_boxes(detect() +
                            "dvdecode ! tee name=t t. ! queue ! videorate ! "
                            "video/x-raw,framerate=60/1 ! videoconvert ! video/x-raw,format=BGRx" +
                            kSink + " t. ! queue ! fakesink async=false",
                        2 * kFrames - 1);
}

DVNN_TEST(outputs_pass_a_change_of_format) {
  for (const char* between : kSamePicture) {
    play_and_expect_boxes(detect() + between + " ! dvdecode" + kSink, kFrames);
  }
}

DVNN_TEST(outputs_are_scaled_with_the_frame) {
  for (const char* between : kScaled) {
    play_and_expect_boxes(detect() + between + " ! dvdecode" + kSink, kFrames);
  }
}

DVNN_TEST(frames_without_outputs_are_warned_of_once) {
  constexpr int kMany = 100;
  for (int frames : {kFrames, kMany}) {
    Pipeline pipeline(painted_source(frames) + "dvdecode name=lonely" + kSink);
    demand(&pipeline, pipeline.play_to_end());
    demand(&pipeline, pipeline.stop());
    ck_assert_uint_eq(pipeline.count_messages(GST_MESSAGE_WARNING), 1);
  }
}

DVNN_TEST(frames_that_were_passed_are_not_warned_of) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " + infer(Looks::kRed, "active=false") +
                    " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  ck_assert_uint_eq(pipeline.count_messages(GST_MESSAGE_WARNING), 0);
}

DVNN_TEST(detections_are_right_or_gone_behind_elements_that_move_pixels) {
  // Cells are 32 x 16 pixels: what is cut away is whole halves, so the grid is another one, and the
  // pixels say which boxes of it are right only where the picture is turned or mirrored.
  for (const char* between :
       {"videoflip method=none", "videoflip method=horizontal-flip", "videoflip method=rotate-180",
        "videoflip method=vertical-flip", "aspectratiocrop", "videobox", "videocrop",
        "videobalance hue=0.0", "gamma", "deinterlace mode=disabled", "identity"}) {
    expect_right_or_gone(detect() + "dvdecode ! " + between + kSink, 1);
  }
}

namespace {

// Each box still holds red pixels only: what a crop or a border leaves of it.
void expect_red_boxes(const std::string& between, int dx, int dy) {
  const std::string head = detect() + "dvdecode ! ";
  const std::vector<Arrival> whole = play(head + "fakesink name=out async=false");
  const std::vector<Arrival> part = play(head + between + kSink);
  ck_assert_uint_eq(part.size(), whole.size());
  size_t boxes = 0;
  for (size_t i = 0; i < part.size(); ++i) {
    for (const Found& found : part[i].found) {
      ++boxes;
      bool known = false;
      for (const Found& f : whole[i].found) {
        // Inside the moved box, and not empty.
        known |= found.x0 >= f.x0 - dx - 1 && found.x1 <= f.x1 - dx + 1 &&
                 found.y0 >= f.y0 - dy - 1 && found.y1 <= f.y1 - dy + 1 && found.x1 > found.x0 &&
                 found.y1 > found.y0;
      }
      ck_assert_msg(known, "%s: frame %zu: a box <%f,%f,%f,%f> of nothing", between.c_str(), i,
                    found.x0, found.y0, found.x1, found.y1);
    }
  }
  std::printf("%s: %s\n", between.c_str(), boxes ? "kept" : "gone");
}

}  // namespace

DVNN_TEST(detections_move_with_a_crop_or_a_border_or_go) {
  expect_red_boxes("videocrop left=32 top=16", 32, 16);
  expect_red_boxes("videocrop right=64", 0, 0);
  expect_red_boxes("aspectratiocrop aspect-ratio=1/1", 32, 0);
  expect_red_boxes("videobox left=-32 top=-16", -32, -16);
  expect_red_boxes("videobox left=32", 32, 0);
}

DVNN_TEST(detections_survive_a_compositor_or_go) {
  expect_red_boxes("compositor name=c sink_0::xpos=16 sink_0::ypos=8", -16, -8);
}

namespace {

guint checksum_of_frames(const std::string& description) {
  Pipeline pipeline(description);
  static guint sum;
  sum = 0;
  GstPad* pad = gst_element_get_static_pad(pipeline["out"], "sink");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        GstMapInfo map;
        if (gst_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), &map, GST_MAP_READ)) {
          for (gsize i = 0; i < map.size; ++i) sum = 31 * sum + map.data[i];
          gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
        }
        return GST_PAD_PROBE_OK;
      },
      nullptr, nullptr);
  gst_object_unref(pad);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  return sum;
}

}  // namespace

DVNN_TEST(boxes_are_drawn_behind_videoconvert_and_videoscale) {
  for (const char* between :
       {"videoconvert ! video/x-raw,format=BGRx", "videoscale ! video/x-raw,width=64,height=64",
        "videoconvertscale ! video/x-raw,format=I420,width=192,height=96"}) {
    const std::string head = detect() + "dvdecode ! " + between;
    ck_assert_msg(
        checksum_of_frames(head + " ! dvoverlay" + kSink) != checksum_of_frames(head + kSink),
        "%s: nothing is drawn", between);
  }
}

// What bindings and gst-inspect-1.0 call them.
DVNN_TEST(values_of_enumerations_have_names) {
  const struct {
    GType type;
    int value;
    const char* nick;
  } cases[] = {{GST_TYPE_DV_REGION_KIND, GST_DV_REGION_FRAME, "frame"},
               {GST_TYPE_DV_REGION_KIND, GST_DV_REGION_LIST, "list"},
               {GST_TYPE_DV_REGION_KIND, GST_DV_REGION_TILE, "tile"},
               {GST_TYPE_DV_REGION_KIND, GST_DV_REGION_OBJECT, "object"},
               {GST_TYPE_DV_TENSOR_LAYOUT, GST_DV_TENSOR_LAYOUT_WHC8, "whc8"},
               {GST_TYPE_DV_OBJECT_KIND, GST_DV_OBJECT_ATTRIBUTES, "attributes"}};
  for (const auto& c : cases) {
    auto* all = static_cast<GEnumClass*>(g_type_class_ref(c.type));
    const GEnumValue* value = g_enum_get_value(all, c.value);
    ck_assert_msg(value && std::string(value->value_nick) == c.nick, "%s", c.nick);
    g_type_class_unref(all);
  }
}

// As bindings use them: a copy lives on when its frame has gone, and its bytes when the copy has.
DVNN_TEST(copies_of_tensors_outlive_their_frames) {
  constexpr gsize kDims[] = {1, 2, 3};
  constexpr guint8 kNumbers[] = {1, 2, 3, 4, 5, 6};
  GstBuffer* data = gst_buffer_new_memdup(kNumbers, sizeof kNumbers);
  GstDvTensor* made = gst_dv_tensor_new("scores", GST_DV_TENSOR_DATA_TYPE_UINT8,
                                        GST_DV_TENSOR_LAYOUT_NCHW, kDims, 3, data);
  gst_buffer_unref(data);
  GstBuffer* frame = gst_buffer_new();
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 2);
  GstDvTensor* moved = static_cast<GstDvTensor*>(g_boxed_copy(gst_dv_tensor_get_type(), made));
  meta->tensors[1] = *moved;
  g_free(moved);  // the frame has its reference
  gst_dv_tensor_free(made);
  ck_assert_ptr_null(gst_dv_tensor_meta_get_tensor(meta, 2));
  ck_assert_ptr_eq(gst_dv_tensor_meta_get_tensor(meta, 1),
                   gst_dv_tensor_meta_find_tensor(meta, "scores"));
  GstDvTensor* copy = gst_dv_tensor_copy(gst_dv_tensor_meta_get_tensor(meta, 1));
  GstDvTensor* nothing = gst_dv_tensor_copy(gst_dv_tensor_meta_get_tensor(meta, 0));
  gst_buffer_unref(frame);

  ck_assert_ptr_null(nothing->data);
  ck_assert_ptr_null(gst_dv_tensor_get_name(nothing));
  gst_dv_tensor_free(nothing);
  ck_assert_str_eq(gst_dv_tensor_get_name(copy), "scores");
  gsize count = 0;
  const gsize* dims = gst_dv_tensor_get_dims(copy, &count);
  ck_assert_uint_eq(count, 3);
  ck_assert(std::equal(dims, dims + count, kDims));
  GBytes* bytes = gst_dv_tensor_get_bytes(copy);
  gst_dv_tensor_free(copy);
  gsize size = 0;
  const auto* numbers = static_cast<const guint8*>(g_bytes_get_data(bytes, &size));
  ck_assert_uint_eq(size, sizeof kNumbers);
  ck_assert(std::equal(numbers, numbers + size, kNumbers));
  g_bytes_unref(bytes);
}

DVNN_TEST(descriptions_of_networks_and_passes_outlive_what_they_are_of) {
  const gchar* const labels[] = {"one", "two", nullptr};
  GstDvNetworkInfo* info = gst_dv_network_info_new("net", "yolo", "{\"a\":1}", labels);
  auto* other = static_cast<GstDvNetworkInfo*>(g_boxed_copy(gst_dv_network_info_get_type(), info));
  gst_dv_network_info_unref(info);
  ck_assert_str_eq(gst_dv_network_info_get_name(other), "net");
  ck_assert_str_eq(gst_dv_network_info_get_decoder(other), "yolo");
  ck_assert_str_eq(gst_dv_network_info_get_decoder_params(other), "{\"a\":1}");
  ck_assert_str_eq(gst_dv_network_info_get_labels(other)[1], "two");
  ck_assert_ptr_null(gst_dv_network_info_get_labels(other)[2]);
  g_boxed_free(gst_dv_network_info_get_type(), other);
  GstDvNetworkInfo* none = gst_dv_network_info_new(nullptr, nullptr, nullptr, nullptr);
  ck_assert_str_eq(gst_dv_network_info_get_name(none), "");
  ck_assert_ptr_null(gst_dv_network_info_get_labels(none)[0]);
  gst_dv_network_info_unref(none);

  GstBuffer* frame = gst_buffer_new();
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_PREDICTED);
  gst_dv_objects_meta_get_pass(meta, 0)->regions = 3;
  GstDvPass* pass = gst_dv_pass_copy(gst_dv_objects_meta_get_pass(meta, 0));
  auto* again = static_cast<GstDvPass*>(g_boxed_copy(gst_dv_pass_get_type(), pass));
  gst_dv_object_add_corner(
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 0, "one", 1), 3, 4);
  GstDvObject* object = static_cast<GstDvObject*>(
      g_boxed_copy(gst_dv_object_get_type(), gst_dv_objects_meta_get_object(meta, 0)));
  gst_buffer_unref(frame);
  ck_assert_str_eq(pass->network, "net");
  gst_dv_pass_free(pass);
  ck_assert_uint_eq(again->regions, 3);
  ck_assert_str_eq(again->network, "net");
  gst_dv_pass_free(again);
  ck_assert_str_eq(object->label, "one");
  gst_dv_object_set_box(object, 1, 1, 2, 2);
  gst_dv_object_forget_places(object);
  ck_assert(!gst_dv_object_has_box(object));
  g_boxed_free(gst_dv_object_get_type(), object);
}

}  // namespace dvnn::test::metas_tests
