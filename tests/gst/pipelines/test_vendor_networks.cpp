// SPDX-License-Identifier: Apache-2.0
// The vendor's networks through dvdecode: LaneDetection with its weights, where there are reference
// data; YOLOv3-tiny's outputs, which no data here have, as a network of its shapes would give them.
#include <unistd.h>

#include <cmath>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "tensor/tensor.h"

namespace dvnn::test::vendor_networks_tests {

DVNN_GST_SUITE(gst_vendor_networks);

using dvnn::ElementType;
using dvnn::Layout;
using dvnn::Shape;
using dvnn::TensorDesc;

namespace {

constexpr int kWidth = 384, kHeight = 256;  // of both networks' inputs, and of the frames

bool on_road(int x, int y) {
  return y > 110 && std::abs(x - 192) < (y - 105) * 0.7f;
}

// A night: black above, a grey road below that narrows towards the horizon.
GstBuffer* road_frame() {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight * 3, nullptr);
  GstMapInfo map;
  gst_buffer_map(frame, &map, GST_MAP_WRITE);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) map.data[(y * kWidth + x) * 3 + c] = on_road(x, y) ? 64 : 13;
    }
  }
  gst_buffer_unmap(frame, &map);
  GST_BUFFER_PTS(frame) = 0;
  return frame;
}

// Adds an output in the device's own order and half precision.
void fill_tensor(GstDvTensor* tensor, const char* name, const Shape& shape,
                 const std::vector<float>& values) {
  const TensorDesc desc{ElementType::kFloat16, Layout::kWhc8, shape};
  GstBuffer* memory = gst_buffer_new_allocate(nullptr, static_cast<gsize>(desc.bytes()), nullptr);
  GstMapInfo map;
  gst_buffer_map(memory, &map, GST_MAP_WRITE);
  dvnn::write_nchw(values.data(), {desc, map.data});
  gst_buffer_unmap(memory, &map);
  tensor->id = g_quark_from_string(name);
  tensor->layout = GST_DV_TENSOR_LAYOUT_WHC8;
  tensor->data_type = GST_DV_TENSOR_DATA_TYPE_FLOAT16;
  tensor->num_dims = 4;
  for (int i = 0; i < 4; ++i) tensor->dims[i] = static_cast<gsize>(shape[i]);
  tensor->data = memory;
}

}  // namespace

DVNN_TEST(the_lane_is_a_mask_and_its_tensor_has_its_true_shape) {
  const std::string weights = std::string(DVNN_TEST_DATA) + "/models/LaneDetection_weights.bin";
  if (access(weights.c_str(), R_OK) != 0) {
    std::printf("skipped: no reference data in '%s'\n", DVNN_TEST_DATA);
    return;
  }
  const std::string infer =
      "dvinfer device=soft network=" LANE_MODULE " weights-file=\"" + weights + "\" when-busy=wait";
  GstHarness* h = gst_harness_new_parse(infer.c_str());
  gst_harness_set_src_caps_str(h, video_caps("RGB", kWidth, kHeight).c_str());
  GstBuffer* out = gst_harness_push_and_pull(h, road_frame());
  const GstDvTensorMeta* outputs = gst_buffer_get_dv_tensor_meta(out);
  ck_assert_ptr_nonnull(outputs);
  ck_assert_uint_eq(outputs->num_tensors, 1);
  const GstDvTensor& tensor = outputs->tensors[0];
  ck_assert_uint_eq(tensor.num_dims, 4);
  ck_assert(tensor.dims[0] == 1 && tensor.dims[1] == 2 && tensor.dims[2] == kHeight &&
            tensor.dims[3] == kWidth);
  gst_buffer_unref(out);
  gst_harness_teardown(h);

  h = gst_harness_new_parse((infer + " ! dvdecode").c_str());
  gst_harness_set_src_caps_str(h, video_caps("RGB", kWidth, kHeight).c_str());
  out = gst_harness_push_and_pull(h, road_frame());
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  ck_assert_ptr_nonnull(meta);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
  const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
  ck_assert_int_eq(object->kind, GST_DV_OBJECT_SEGMENTATION);
  guint width = 0, height = 0;
  double x0, y0, x1, y1;
  ck_assert(gst_dv_object_get_mask(object, &x0, &y0, &x1, &y1, &width, &height));
  ck_assert(x0 == 0 && y0 == 0 && x1 == kWidth && y1 == kHeight);
  ck_assert(width == kWidth && height == kHeight);
  const auto* cells =
      static_cast<const guint8*>(g_bytes_get_data(gst_dv_object_get_mask_cells(object), nullptr));
  int road = 0, road_cells = 0, sky = 0, sky_cells = 0;
  for (int y = 0; y < 250; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int cell = cells[y * kWidth + x];
      if (y > 160 && std::abs(x - 192) < (y - 105) * 0.4f) road += cell, ++road_cells;
      if (y < 90) sky += cell, ++sky_cells;
    }
  }
  std::printf("lane: %d of %d cells of the road, %d of %d of the sky\n", road, road_cells, sky,
              sky_cells);
  ck_assert(10 * road > 8 * road_cells && 20 * sky < sky_cells);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(yolov3_tinys_outputs_are_boxes) {
  constexpr int kColumns = 12, kRows = 8, kOutputs = 255, kNumbers = 85;
  const auto logit = [](float p) { return std::log(p / (1 - p)); };
  std::vector<float> coarse(kOutputs * kRows * kColumns, -10.0f);
  std::vector<float> fine(kOutputs * 4 * kRows * kColumns, -10.0f);
  // A car (2) at the coarse grid's cell (5, 3), of the anchor 135 x 169.
  auto at = [&](int anchor, int number) -> float& {
    return coarse[static_cast<size_t>(((anchor * kNumbers + number) * kRows + 3) * kColumns + 5)];
  };
  at(1, 0) = 0;  // the cell's middle
  at(1, 1) = logit(0.25f);
  at(1, 2) = 0;
  at(1, 3) = std::log(0.5f);
  at(1, 4) = logit(0.9f);
  at(1, 5 + 2) = logit(0.8f);
  GstDvNetworkInfo* network = gst_dv_network_info_new(
      "yolov3-tiny", "anchors",
      R"({"image": [384, 256], "strides": [16, 32], "box": "yolo", "objectness_score": "sigmoid",
          "score": "sigmoid", "anchors": [[10, 14, 23, 27, 37, 58], [81, 82, 135, 169, 344, 319]]})",
      nullptr);
  GstBuffer* frame = road_frame();
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 2);
  meta->network = network;
  meta->input_width = kWidth;
  meta->input_height = kHeight;
  fill_tensor(&meta->tensors[0], "layer15", {1, kOutputs, kRows, kColumns}, coarse);
  fill_tensor(&meta->tensors[1], "layer22", {1, kOutputs, 2 * kRows, 2 * kColumns}, fine);
  GstHarness* h = gst_harness_new("dvdecode");
  gst_harness_set_src_caps_str(h, video_caps("RGB", kWidth, kHeight).c_str());
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  GstDvObjectsMeta* objects = gst_buffer_get_dv_objects_meta(out);
  ck_assert_ptr_nonnull(objects);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(objects), 1);
  const GstDvObject* car = gst_dv_objects_meta_get_object(objects, 0);
  ck_assert_int_eq(car->class_id, 2);
  ck_assert_float_eq_tol(car->confidence, 0.72f, 0.002f);
  const double cx = (5 + 0.5) * 32, cy = (3 + 0.25) * 32;
  ck_assert_double_eq_tol(car->x0, cx - 135 / 2.0, 0.2);
  ck_assert_double_eq_tol(car->y0, cy - 169 / 4.0, 0.2);
  ck_assert_double_eq_tol(car->x1, cx + 135 / 2.0, 0.2);
  ck_assert_double_eq_tol(car->y1, cy + 169 / 4.0, 0.2);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::vendor_networks_tests
