// SPDX-License-Identifier: Apache-2.0
// Outputs as GstTensorMeta: what dvinfer attaches, and what dvdecode makes of others'.
#include <unistd.h>

#include "analytics_fixture.h"
#include "grid_network.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "network/dvn_file.h"

namespace dvnn::test::tensors_tests {

DVNN_GST_SUITE(gst_tensors);

namespace {

constexpr int kSize = 64;  // of frames, pixels

std::vector<const GstTensorMeta*> tensor_metas(GstBuffer* frame) {
  std::vector<const GstTensorMeta*> list;
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(frame, &state, GST_TENSOR_META_API_TYPE)) {
    list.push_back(reinterpret_cast<const GstTensorMeta*>(meta));
  }
  return list;
}

// The names by which ssdobjectdetector looks for its tensors.
#if GST_CHECK_VERSION(1, 28, 0)
const char* const kSsdBoxes = "ssd-mobilenet-v1-variant-1-out-boxes";
const char* const kSsdClasses = "ssd-mobilenet-v1-variant-1-out-classes";
const char* const kSsdScores = "ssd-mobilenet-v1-variant-1-out-scores";
const char* const kSsdCount = "generic-variant-1-out-count";
#else
const char* const kSsdBoxes = "Gst.Model.ObjectDetector.Boxes";
const char* const kSsdClasses = "Gst.Model.ObjectDetector.Classes";
const char* const kSsdScores = "Gst.Model.ObjectDetector.Scores";
const char* const kSsdCount = "Gst.Model.ObjectDetector.NumDetections";
#endif

void check_tensor(const GstTensor* tensor, const char* id, const std::vector<gsize>& dims) {
  ck_assert_str_eq(g_quark_to_string(tensor->id), id);
  ck_assert_int_eq(tensor->data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
  ck_assert_int_eq(tensor->dims_order, GST_TENSOR_DIM_ORDER_ROW_MAJOR);
  ck_assert_int_eq(tensor->layout, GST_TENSOR_LAYOUT_CONTIGUOUS);
  ck_assert(std::vector<gsize>(tensor->dims, tensor->dims + tensor->num_dims) == dims);
  gsize elements = 1;
  for (const gsize dim : dims) elements *= dim;
  ck_assert_uint_eq(gst_buffer_get_size(tensor->data), elements * sizeof(float));
}

std::vector<float> floats(const GstTensor* tensor) {
  std::vector<float> values(gst_buffer_get_size(tensor->data) / sizeof(float));
  gst_buffer_extract(tensor->data, 0, values.data(), values.size() * sizeof(float));
  return values;
}

// A tensor of a test, one of a frame's.
struct Made {
  const char* id;  // null: none
  std::vector<gsize> dims;
  std::vector<float> values;
  GstTensorDataType type = GST_TENSOR_DATA_TYPE_FLOAT32;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
};

GstBuffer* frame_with(const std::vector<Made>& made) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
  GstTensor** tensors = g_new(GstTensor*, made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    tensors[i] = gst_tensor_alloc(made[i].dims.size());
    tensors[i]->id = made[i].id ? g_quark_from_string(made[i].id) : 0;
    tensors[i]->data_type = made[i].type;
    tensors[i]->dims_order = made[i].order;
    std::copy(made[i].dims.begin(), made[i].dims.end(), tensors[i]->dims);
    tensors[i]->data =
        gst_buffer_new_memdup(made[i].values.data(), made[i].values.size() * sizeof(float));
  }
  gst_tensor_meta_set(gst_buffer_add_tensor_meta(frame), static_cast<guint>(made.size()), tensors);
  return frame;
}

// The grid network's outputs where it sees a square in column 2 of row 1.
Made loc(const char* id) {
  return {id, {1, 4, 4, 4}, std::vector<float>(64, 0.0f)};
}
Made conf(const char* id) {
  Made made = {id, {1, 4, 4, 2}, std::vector<float>(32, 0.0f)};
  made.values[(1 * 4 + 2) * 2 + 1] = 0.75f;
  return made;
}

// dvdecode with the grid network's file, and its messages.
class Decode {
 public:
  Decode() : line_("dvdecode tensor-network=" + network_path(), kSize, kSize) {
    gst_element_set_bus(line_.element(), bus_);
  }
  ~Decode() {
    gst_element_set_bus(line_.element(), nullptr);
    gst_object_unref(bus_);
  }
  Decode(const Decode&) = delete;
  Decode& operator=(const Decode&) = delete;

  // Returns whether it finds the square; then it has taken the tensors off.
  bool finds_square(const std::vector<Made>& tensors) {
    GstBuffer* out = line_.push(frame_with(tensors));
    const bool found = found_square(out, kSize, kSize, 2, 1, 1e-4);
    ck_assert_uint_eq(tensor_metas(out).size(), found ? 0 : 1);
    ck_assert_uint_eq(detections(out).size(), found ? 1 : 0);
    gst_buffer_unref(out);
    return found;
  }
  // The text of the next warning; empty if there is none.
  std::string warning() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING);
    if (!message) return "";
    GError* error = nullptr;
    gst_message_parse_warning(message, &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }

 private:
  Line line_;
  GstBus* bus_ = gst_bus_new();
};

// The grid network as it leaves the device: outputs in chunks of channels, binary16.
const std::string& raw_network_path() {
  static const std::string path = [] {
    dvnn::network::Model model = grid_network();
    model.outputs = {{"conf_map", 1}};
    model.decoder = {};
    const std::string name = "/tmp/dvnn-raw-grid-" + std::to_string(getpid()) + ".dvn";
    if (!dvnn::network::write_dvn(model, name).ok()) g_error("cannot write %s", name.c_str());
    return name;
  }();
  return path;
}

}  // namespace

DVNN_TEST(row_major_outputs_are_attached_uncopied) {
  Line line(grid_infer(), kSize, kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
  const auto metas = tensor_metas(out);
  ck_assert_uint_eq(metas.size(), 1);
  ck_assert_uint_eq(metas[0]->num_tensors, 2);
  check_tensor(metas[0]->tensors[0], "loc", {1, 4, 4, 4});
  check_tensor(metas[0]->tensors[1], "conf", {1, 4, 4, 2});
  const GstDvTensorMeta* ours = gst_buffer_get_dv_tensor_meta(out);
  for (gsize i = 0; i < 2; ++i) {
    ck_assert_ptr_eq(metas[0]->tensors[i]->data, ours->tensors[i].data);
  }
  ck_assert_float_gt(floats(metas[0]->tensors[1])[(1 * 4 + 2) * 2 + 1], 0.9f);
  gst_buffer_unref(out);
}

DVNN_TEST(tensor_meta_says_what_is_attached) {
  for (const char* properties : {"tensor-meta=none", "active=false"}) {
    Line none(grid_infer(properties), kSize, kSize);
    GstBuffer* out = none.push(red_square("RGB", kSize, kSize, 2, 1));
    ck_assert_uint_eq(tensor_metas(out).size(), 0);
    gst_buffer_unref(out);
  }
}

DVNN_TEST(other_layouts_are_laid_anew_where_that_is_asked) {
  for (const char* which : {"auto", "always"}) {
    Line line("dvinfer watchdog-ms=60000 network=" + raw_network_path() + " tensor-meta=" + which,
              kSize, kSize);
    GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
    ck_assert_int_eq(gst_buffer_get_dv_tensor_meta(out)->tensors[0].layout,
                     GST_DV_TENSOR_LAYOUT_WHC8);
    const auto metas = tensor_metas(out);
    ck_assert_uint_eq(metas.size(), std::string(which) == "always" ? 1 : 0);
    if (!metas.empty()) {
      check_tensor(metas[0]->tensors[0], "conf_map", {1, 2, 4, 4});
      const std::vector<float> values = floats(metas[0]->tensors[0]);
      for (size_t i = 0; i < values.size(); ++i) {
        // Class 1 is +32 where the square is and -32 elsewhere; class 0 is 0.
        const float want = i < 16 ? 0.0f : i == 16 + 1 * 4 + 2 ? 32.0f : -32.0f;
        ck_assert_msg(std::fabs(values[i] - want) < 0.5f, "value %zu: %g", i,
                      static_cast<double>(values[i]));
      }
    }
    gst_buffer_unref(out);
  }
  unlink(raw_network_path().c_str());
}

DVNN_TEST(detections_are_attached_as_ssd_decoders_read_them) {
  Line line(grid_infer("tensor-meta=always"), kSize, kSize);
  for (const bool square : {true, false}) {
    GstBuffer* frame = red_square("RGB", kSize, kSize, 2, 1);
    if (!square) gst_buffer_memset(frame, 0, 0, kSize * kSize * 3);
    GstBuffer* out = line.push(frame);
    const auto metas = tensor_metas(out);
    ck_assert_uint_eq(metas.size(), 2);
    const GstTensorMeta* meta = metas[1];
    ck_assert_uint_eq(meta->num_tensors, 4);
    check_tensor(meta->tensors[0], kSsdBoxes, {1, 1, 4});
    check_tensor(meta->tensors[1], kSsdClasses, {1, 1});
    check_tensor(meta->tensors[2], kSsdScores, {1, 1});
    check_tensor(meta->tensors[3], kSsdCount, {1});
    ck_assert_float_eq(floats(meta->tensors[3])[0], square ? 1 : 0);
    if (square) {
      const std::vector<float> box = floats(meta->tensors[0]), want = {0.25f, 0.5f, 0.5f, 0.75f};
      for (size_t i = 0; i < 4; ++i) ck_assert_float_eq_tol(box[i], want[i], 1e-5f);
      ck_assert_float_eq(floats(meta->tensors[1])[0], 1);
      ck_assert_float_gt(floats(meta->tensors[2])[0], 0.9f);
    }
    gst_buffer_unref(out);
  }
}

DVNN_TEST(dvdecode_lets_go_of_outputs_in_both_metas) {
  const struct {
    const char* which;
    size_t left;  // number of tensor metas
  } cases[] = {{"auto", 0}, {"always", 1}};
  for (const auto& c : cases) {
    Line line(grid_infer(std::string("tensor-meta=") + c.which) + " ! dvdecode", kSize, kSize);
    GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
    ck_assert(found_square(out, kSize, kSize, 2, 1));
    ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
    ck_assert_uint_eq(tensor_metas(out).size(), c.left);
    gst_buffer_unref(out);
  }
}

DVNN_TEST(tensors_of_others_are_decoded_by_their_ids) {
  Decode decode;
  ck_assert(decode.finds_square({loc("loc"), conf("conf")}));
  ck_assert(decode.finds_square({conf("conf"), loc("loc")}));
  ck_assert(decode.finds_square({conf("conf"), conf("another"), loc("loc")}));
  dvnn_assert_text(decode.warning(), "");
}

DVNN_TEST(tensors_without_names_are_decoded_by_their_order) {
  Decode decode;
  ck_assert(decode.finds_square({loc(nullptr), conf(nullptr)}));
  ck_assert(decode.finds_square({loc("boxes"), conf("scores")}));
  Made flat = conf(nullptr);  // the same numbers in another shape
  flat.dims = {16, 2};
  ck_assert(decode.finds_square({loc(nullptr), flat}));
  dvnn_assert_text(decode.warning(), "");
}

DVNN_TEST(outputs_of_dvinfer_are_decoded_once) {
  Line line(grid_infer() + " ! dvdecode tensor-network=" + network_path() +
                " ! dvdecode tensor-network=" + network_path() + " ! dvdecode",
            kSize, kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
  ck_assert(found_square(out, kSize, kSize, 2, 1));
  ck_assert_uint_eq(tensor_metas(out).size(), 0);
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  gst_buffer_unref(out);
}

DVNN_TEST(tensors_that_do_not_fit_are_named_once) {
  Made integers = conf("conf"), columns = conf("conf"), small = conf(nullptr);
  integers.type = GST_TENSOR_DATA_TYPE_INT32;
  columns.order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
  small.dims = {1, 4, 4, 1};
  const struct {
    std::vector<Made> tensors;
    const char* word;
  } cases[] = {
      {{conf(nullptr), loc(nullptr)}, "it has loc 1x4x4x4, conf 1x4x4x2"},
      {{loc(nullptr), small}, "1x4x4x1"},
      {{loc("loc"), conf("scores")}, "scores 1x4x4x2"},
      {{conf("conf")}, "conf 1x4x4x2"},
      {{loc("loc"), integers}, "float32"},
      {{loc("loc"), columns}, "row-major"},
  };
  for (const auto& c : cases) {
    Decode decode;
    ck_assert(!decode.finds_square(c.tensors));
    const std::string warning = decode.warning();
    ck_assert_msg(warning.find(c.word) != std::string::npos, "'%s' says nothing of %s",
                  warning.c_str(), c.word);
    ck_assert(!decode.finds_square(c.tensors));
    dvnn_assert_text(decode.warning(), "");
    ck_assert(decode.finds_square({loc("loc"), conf("conf")}));
  }
}

DVNN_TEST(a_network_file_that_cannot_be_read_is_named) {
  GstElement* decode = gst_element_factory_make("dvdecode", nullptr);
  gst_object_ref_sink(decode);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(decode, bus);
  g_object_set(decode, "tensor-network", "/nowhere/grid.dvn", nullptr);
  ck_assert_int_eq(gst_element_set_state(decode, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ck_assert_ptr_nonnull(message);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  ck_assert(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  ck_assert_ptr_nonnull(std::strstr(error->message, "/nowhere/grid.dvn"));
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_state(decode, GST_STATE_NULL);
  gst_element_set_bus(decode, nullptr);
  gst_object_unref(bus);
  gst_object_unref(decode);
}

}  // namespace dvnn::test::tensors_tests
