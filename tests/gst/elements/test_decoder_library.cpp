// SPDX-License-Identifier: Apache-2.0
// dvdecode with decoders of users' libraries: docs/examples/cells_decoder.cpp, and one that fails.
#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::test::decoder_library_tests {

DVNN_GST_SUITE(gst_decoder_library);

namespace {

constexpr int kSize = 64;               // of frames, pixels
constexpr int kColumns = 4, kRows = 2;  // of the network's cells
constexpr guint kInput = kSize;         // its input's sides

// dvdecode, its bus, and frames with outputs of one class over the cells.
class Line {
 public:
  explicit Line(const char* library) {
    gst_element_set_state(decode_->element, GST_STATE_NULL);
    g_object_set(decode_->element, "decoder-library", library, nullptr);
    playing_ = gst_element_set_state(decode_->element, GST_STATE_PLAYING);
    gst_harness_set_src_caps_str(decode_.get(), video_caps("RGB", kSize, kSize).c_str());
  }

  bool plays() const { return playing_ != GST_STATE_CHANGE_FAILURE; }
  GstHarness* harness() const { return decode_.get(); }

  GstFlowReturn push(const char* decoder, const std::vector<float>& scores) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
    GST_BUFFER_PTS(frame) = 0;
    GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
    static const gchar* const labels[] = {"crumb", nullptr};
    meta->network = gst_dv_network_info_new("cells", decoder, "{\"reach\": 1}", labels);
    meta->input_width = meta->input_height = kInput;
    ck_assert_uint_eq(scores.size(), kRows * kColumns);
    set_floats(&meta->tensors[0], "out", {1, 1, kRows, kColumns}, scores.data());
    return gst_harness_push(decode_.get(), frame);
  }
  // The next error's text; empty if there is none.
  std::string error() {
    GstMessage* message = gst_bus_pop_filtered(decode_.bus(), GST_MESSAGE_ERROR);
    if (!message) return {};
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }

 private:
  DecodeHarness decode_;
  GstStateChangeReturn playing_;
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

DVNN_TEST(a_library_decodes_into_objects_of_the_frame) {
  Line line(CELLS_MODULE);
  ck_assert(line.plays());
  ck_assert_int_eq(line.push("cells", {0, 0, 0, 0, 0, 0.8f, 0, 0}), GST_FLOW_OK);
  GstBuffer* out = gst_harness_pull(line.harness());
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  ck_assert_ptr_nonnull(meta);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
  const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
  ck_assert_str_eq(object->label, "crumb");
  // Row 1, column 1, where cells are 16 by 32 pixels of the frame.
  ck_assert_double_eq_tol(object->x0, 16, 1e-4);
  ck_assert_double_eq_tol(object->y0, 32, 1e-4);
  ck_assert_double_eq_tol(object->x1, 32, 1e-4);
  ck_assert_double_eq_tol(object->y1, 64, 1e-4);
  double x = 0, y = 0;
  ck_assert(gst_dv_object_get_point(object, 0, &x, &y, nullptr));
  ck_assert_double_eq_tol(x, 24, 1e-4);
  ck_assert_double_eq_tol(y, 48, 1e-4);
  gst_buffer_unref(out);
}

DVNN_TEST(what_a_library_throws_is_an_error_of_the_element) {
  Line line(HOSTILE_MODULE);
  ck_assert_int_eq(line.push("wild", {8, 0, 0, 0, 0, 0, 0, 0}), GST_FLOW_ERROR);
  const std::string error = line.error();
  ck_assert_msg(has(error, "lost"), "%s", error.c_str());
}

DVNN_TEST(a_library_that_is_none_keeps_the_element_from_starting) {
  Line line("/nowhere/libmine.so");
  ck_assert(!line.plays());
  const std::string error = line.error();
  ck_assert_msg(has(error, "decoder library '/nowhere/libmine.so'"), "%s", error.c_str());
}

DVNN_TEST(a_name_that_no_library_has_is_an_error_that_lists_the_names) {
  Line line(CELLS_MODULE);
  ck_assert_int_eq(line.push("shells", std::vector<float>(8)), GST_FLOW_ERROR);
  const std::string error = line.error();
  ck_assert_msg(has(error, "unknown decoder 'shells'") && has(error, ": cells)"), "%s",
                error.c_str());
}

}  // namespace dvnn::test::decoder_library_tests
