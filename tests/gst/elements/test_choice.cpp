// SPDX-License-Identifier: Apache-2.0
// dvdecode's choice of the objects that it attaches, and their names.
#include <set>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::test::choice_tests {

DVNN_GST_SUITE(gst_choice);

namespace {

constexpr int kSize = 64;  // of frames, pixels

GstDvNetworkInfo* network() {
  static const gchar* const labels[] = {"background", "cat", "dog: large", "car", nullptr};
  static GstDvNetworkInfo* const info =
      gst_dv_network_info_new("rows", "detection-output", "{}", labels);
  return info;
}

class Line {
 public:
  Line() { gst_harness_set_src_caps_str(decode_.get(), video_caps("RGB", kSize, kSize).c_str()); }
  void set(const char* property, const char* value) {
    gst_util_set_object_arg(G_OBJECT(decode_->element), property, value);
  }
  GstHarness* get() const { return decode_.get(); }
  // Names of what is attached of three objects: of confidences 0.3, 0.5, 0.8, and of 8, 16, 32
  // pixels.
  std::set<std::string> attached(GstDvNetworkInfo* of = network()) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
    GST_BUFFER_PTS(frame) = 0;
    add_output_rows(frame, of, kSize,
                    {{0, 1, 0.3f, 0, 0, 0.125f, 0.0625f},
                     {0, 2, 0.5f, 0.25f, 0, 0.5f, 0.25f},
                     {0, 3, 0.8f, 0.5f, 0.5f, 0.75f, 1}});
    GstBuffer* out = gst_harness_push_and_pull(decode_.get(), frame);
    std::set<std::string> labels;
    GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
    for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
      labels.insert(gst_dv_objects_meta_get_object(meta, i)->label);
    }
    gst_buffer_unref(out);
    return labels;
  }
  int warnings() {
    int n = 0;
    while (GstMessage* message = gst_bus_pop_filtered(decode_.bus(), GST_MESSAGE_WARNING)) {
      gst_message_unref(message);
      ++n;
    }
    return n;
  }
  std::string text(const char* property) {
    gchar* value = nullptr;
    g_object_get(decode_->element, property, &value, nullptr);
    const std::string result = value ? value : "";
    g_free(value);
    return result;
  }

 private:
  DecodeHarness decode_;
};

void add_two_boxes(GstBuffer* frame, GstDvNetworkInfo* network) {
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 2);
  meta->network = gst_dv_network_info_ref(network);
  meta->input_width = meta->input_height = kSize;
  std::vector<float> boxes = {0, 0, 0.5f, 0.5f, 0, 0.25f, 0.5f, 0.75f}, scores = {0.9f, 0.8f};
  boxes.resize(24);  // and four that are nothing
  scores.resize(6);
  set_floats(&meta->tensors[0], "b", {1, 6, 4}, boxes.data());
  set_floats(&meta->tensors[1], "s", {1, 6, 1}, scores.data());
}

using Names = std::set<std::string>;

guint count_objects(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  return meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
}

std::string in_words(const Names& names) {
  std::string words;
  for (const std::string& name : names) words += "[" + name + "]";
  return words;
}

}  // namespace

DVNN_TEST(objects_are_chosen_while_playing) {
  const Names all = {"cat", "dog: large", "car"};
  const struct {
    const char *property, *value, *back;
    Names wanted;
  } cases[] = {{"thresholds", "cat:0.4", "", {"dog: large", "car"}},
               {"thresholds", " cat : 0.3 ,dog: large:0.6,", "", {"cat", "car"}},
               {"thresholds", "nobody:0", "", all},
               {"labels", "cat, dog: large", "", {"cat", "dog: large"}},
               {"labels", "nobody", "", {}},
               {"exclude", "cat,car", "", {"dog: large"}},
               {"min-size", "0.14", "0", {"dog: large", "car"}},
               {"min-size", "0.3", "0", {"car"}},  // of 64 rows: 19.2 pixels
               {"max-size", "0.25", "0", {"cat", "dog: large"}},
               {"max-size", "0.2", "0", {"cat"}},
               {"max-size", "0.52", "0", all},  // wherever it lies
               {"max-detections", "1", "200", {"car"}}};
  Line line;
  line.set("threshold", "0.25");
  for (const auto& c : cases) {
    ck_assert(line.attached() == all);
    line.set(c.property, c.value);
    const Names have = line.attached();
    ck_assert_msg(have == c.wanted, "%s=%s: %s", c.property, c.value, in_words(have).c_str());
    line.set(c.property, c.back);
  }
  // A class may need less than the others.
  line.set("threshold", "0.6");
  ck_assert(line.attached() == Names{"car"});
  line.set("thresholds", "cat:0.2");
  ck_assert(line.attached() == (Names{"cat", "car"}));
  ck_assert_int_eq(line.warnings(), 0);
}

// As dvnet evaluate --keep writes them.
DVNN_TEST(thresholds_of_the_file_count_unless_others_are_set) {
  static const gchar* const labels[] = {"background", "cat", "dog: large", "car", nullptr};
  GstDvNetworkInfo* keeps = gst_dv_network_info_new(
      "keeps", "detection-output", "{\"class_thresholds\":{\"cat\":0.2,\"car\":0.9}}", labels);
  Line line;
  // cat has 0.3, dog: large 0.5, car 0.8; the element's own threshold is 0.5.
  ck_assert(line.attached(keeps) == (Names{"cat", "dog: large"}));
  ck_assert(line.attached() == (Names{"dog: large", "car"}));
  ck_assert(line.attached(keeps) == (Names{"cat", "dog: large"}));
  line.set("threshold", "0.25");
  ck_assert(line.attached(keeps) == (Names{"cat", "dog: large", "car"}));
  line.set("threshold", "0.5");
  line.set("thresholds", "dog: large:0.1");
  ck_assert(line.attached(keeps) == (Names{"dog: large", "car"}));
  line.set("thresholds", "");
  ck_assert(line.attached(keeps) == (Names{"cat", "dog: large"}));
  // They are for the file's labels, whatever the objects are called.
  gchar* path = nullptr;
  const int file = g_file_open_tmp("labels-XXXXXX", &path, nullptr);
  ck_assert_int_ge(file, 0);
  close(file);
  ck_assert(g_file_set_contents(path, "nothing\ncar\ndog\ncat\n", -1, nullptr));
  line.set("labels-file", path);
  ck_assert(line.attached(keeps) == (Names{"car", "dog"}));
  ck_assert_int_eq(line.warnings(), 0);
  gst_dv_network_info_unref(keeps);
  unlink(path);
  g_free(path);
}

DVNN_TEST(thresholds_that_cannot_be_read_are_refused) {
  Line line;
  line.set("threshold", "0.25");
  line.set("thresholds", "cat:0.4");
  for (const char* bad :
       {"cat", "cat:", ":0.4", "cat:1.5", "cat:-1", "cat:nan", "cat:0.4x", "dog:0.1,cat"}) {
    line.set("thresholds", bad);
    ck_assert_msg(line.warnings() == 1, "%s", bad);
    dvnn_assert_text(line.text("thresholds"), "cat:0.4");
    ck_assert(line.attached() == (Names{"dog: large", "car"}));
  }
}

// The boxes of one class share a third of their union.
DVNN_TEST(suppression_can_be_overridden) {
  GstDvNetworkInfo* network = gst_dv_network_info_new(
      "two", "boxes",
      "{\"parts\":[\"boxes\",\"scores\"],\"box\":\"corners\",\"unit\":\"fractions\","
      "\"num_classes\":1,\"nms_threshold\":0.6}",
      nullptr);
  GstHarness* h = gst_harness_new("dvdecode");
  gst_harness_set_src_caps_str(h, video_caps("RGB", kSize, kSize).c_str());
  const struct {
    float threshold;
    guint objects;
  } cases[] = {{-1, 2}, {0.2f, 1}, {0.4f, 2}, {0.2f, 1}, {-1, 2}};
  for (const auto& c : cases) {
    g_object_set(h->element, "nms-threshold", c.threshold, nullptr);
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
    add_two_boxes(frame, network);
    GstBuffer* out = gst_harness_push_and_pull(h, frame);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(gst_buffer_get_dv_objects_meta(out)),
                      c.objects);
    gst_buffer_unref(out);
  }
  gst_dv_network_info_unref(network);
  gst_harness_teardown(h);
}

DVNN_TEST(labels_come_from_a_file) {
  gchar* path = nullptr;
  const int file = g_file_open_tmp("labels-XXXXXX", &path, nullptr);
  ck_assert_int_ge(file, 0);
  close(file);
  ck_assert(g_file_set_contents(path, "nothing\r\nGata\nC\xc3\xa3o\n", -1, nullptr));
  Line line;
  line.set("threshold", "0.25");
  line.set("labels-file", path);
  ck_assert(line.attached() == (Names{"Gata", "C\xc3\xa3o", "class 3"}));
  line.set("labels", "Gata");  // by the names of the file
  ck_assert(line.attached() == Names{"Gata"});
  line.set("labels-file", "/nowhere/labels.txt");
  ck_assert_int_eq(line.warnings(), 1);
  dvnn_assert_text(line.text("labels-file"), path);
  ck_assert(line.attached() == Names{"Gata"});
  line.set("labels", "");
  line.set("labels-file", "");
  ck_assert(line.attached() == (Names{"cat", "dog: large", "car"}));
  unlink(path);
  g_free(path);
}

// Sizes are told in shares of the frame's height, and things may be wider.
DVNN_TEST(no_object_is_too_large_unless_somebody_says_so) {
  Line line;
  gst_harness_set_src_caps_str(line.get(), video_caps("RGB", 2 * kSize, kSize).c_str());
  for (const bool bounded : {false, true}) {
    if (bounded) line.set("max-size", "1");
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 2 * kSize * kSize * 3, nullptr);
    GST_BUFFER_PTS(frame) = 0;
    add_output_rows(frame, network(), kSize, {{0, 1, 0.9f, 0, 0.25f, 2, 0.75f}});
    GstBuffer* out = gst_harness_push_and_pull(line.get(), frame);
    ck_assert_uint_eq(count_objects(out), bounded ? 0 : 1);
    gst_buffer_unref(out);
  }
}

}  // namespace dvnn::test::choice_tests
