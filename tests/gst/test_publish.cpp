// SPDX-License-Identifier: Apache-2.0
// dvpublish: what becomes a document, once, and what it says when it cannot publish. How documents
// are delivered is tests/publish's.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

using namespace dvnn::test;
using nlohmann::json;

namespace {

constexpr int kWidth = 200, kHeight = 100;
constexpr GstClockTime kFrame = 100 * GST_MSECOND;
constexpr const char* kLine =
    R"(dvzones name=z zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,0.9],[0.5,0.1]]}],)"
    R"(\"areas\":[{\"name\":\"all\",\"points\":[[0,0],[1,0],[1,1],[0,1]]}]}" ! )";

class PublishHarness {
 public:
  explicit PublishHarness(const std::string& settings, const std::string& before = "") {
    char path[] = "/tmp/dvnn-dvpublish-XXXXXX";
    folder_ = mkdtemp(path);
    const std::string line =
        before + "dvpublish name=p stream=cam location=" + file() + " " + settings;
    harness_ = gst_harness_new_parse(line.c_str());
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~PublishHarness() {
    if (harness_) gst_harness_teardown(harness_);
    std::filesystem::remove_all(folder_);
  }
  PublishHarness(const PublishHarness&) = delete;
  PublishHarness& operator=(const PublishHarness&) = delete;
  std::string file() const { return folder_ + "/out"; }

  // A frame with one tracked object, whose foot is at (x, 60).
  void push(int number, double x) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    gst_buffer_memset(frame, 0, 100, kWidth * kHeight);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
    if (x > 0) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
      object->network = 0;
      object->track_id = 7;
      gst_dv_object_set_box(object, x - 5, 20, x + 5, 60);
    }
    gst_buffer_ref(frame);
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    ck_assert_ptr_nonnull(out);
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
  }
  // Ends the stream; the documents.
  std::vector<json> documents() {
    gst_harness_push_event(harness_, gst_event_new_eos());
    gst_harness_teardown(harness_);
    harness_ = nullptr;
    std::vector<json> all;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
    for (size_t i = 0; i < all.size(); ++i)
      ck_assert_int_eq(all[i]["seq"].get<int>(), static_cast<int>(i));
    return all;
  }

 private:
  std::string folder_;
  GstHarness* harness_ = nullptr;
};

std::string kinds(const std::vector<json>& documents) {
  std::string text;
  for (const json& document : documents) {
    text += document.contains("event") ? document["event"]["kind"].get<std::string>()
                                       : document["type"].get<std::string>();
    text += ' ';
  }
  return text;
}

}  // namespace

START_TEST(a_frame_becomes_a_document) {
  PublishHarness harness("fields=\"{\\\"site\\\":\\\"Kyoto\\\"}\"");
  harness.push(0, 50);
  harness.push(1, 0);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 2);
  ck_assert(all[0]["objects"][0]["box"] == json({45, 20, 55, 60}));
  ck_assert(all[0]["objects"][0]["track_id"] == 7);
  ck_assert(all[0]["stream"] == "cam");
  ck_assert(all[0]["fields"]["site"] == "Kyoto");
  ck_assert(all[0]["frame"]["width"] == kWidth);
  ck_assert(all[1]["time"]["pts"] == kFrame);
  ck_assert(all[1]["objects"].empty());
}
END_TEST

START_TEST(each_event_is_published_once_also_the_last) {
  PublishHarness harness("mode=events", kLine);
  harness.push(0, 50);
  harness.push(1, 90);
  harness.push(2, 150);
  // The area is left when the stream ends, and no frame comes with it.
  const auto all = harness.documents();
  dvnn_assert_text(kinds(all), "enter cross leave ");
  ck_assert(all[1]["event"]["line"] == "gate");
  ck_assert(all[1]["event"]["track_id"] == 7);
  const int64_t pts = all[1]["time"]["pts"].get<int64_t>();
  ck_assert(pts > static_cast<int64_t>(kFrame) && pts < static_cast<int64_t>(2 * kFrame));
}
END_TEST

START_TEST(frames_keep_to_interval_and_change) {
  {
    PublishHarness harness("interval=300");
    for (int i = 0; i < 10; ++i) harness.push(i, 50);
    ck_assert_uint_eq(harness.documents().size(), 4);
  }
  PublishHarness harness("min-change=0.1 heartbeat=500");
  // Still, moved by less, by more, gone, still nothing, the heartbeat.
  const double places[] = {50, 50, 55, 62, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 10; ++i) harness.push(i, places[i]);
  std::vector<int> numbers;
  for (const json& one : harness.documents()) {
    numbers.push_back(static_cast<int>(one["time"]["pts"].get<uint64_t>() / kFrame));
  }
  ck_assert((numbers == std::vector<int>{0, 3, 4, 9}));
}
END_TEST

START_TEST(pictures_are_those_of_the_object) {
  PublishHarness harness("mode=events snapshot=object", kLine);
  harness.push(0, 50);
  harness.push(1, 150);
  const auto all = harness.documents();
  dvnn_assert_text(kinds(all), "enter cross leave ");
  for (const json& one : all) {
    ck_assert(one["picture"]["of"] == "object");
    ck_assert(one["picture"]["width"] == 10);
    ck_assert(one["picture"]["height"] == 40);
    ck_assert_int_eq(one["picture"]["base64"].get<std::string>().compare(0, 3, "/9j"), 0);
  }
}
END_TEST

START_TEST(without_a_place_to_publish_to_it_does_not_start) {
  for (const char* settings : {"", "url=mqtt://localhost options=\"qos=7\""}) {
    GstElement* element = gst_parse_launch((std::string("dvpublish ") + settings).c_str(), nullptr);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert(g_error_matches(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS) ||
              g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    g_error_free(error);
    gst_message_unref(message);
    gst_element_set_bus(element, nullptr);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
    gst_object_unref(bus);
  }
}
END_TEST

int main() {
  return run_gst_suite("publish",
                       {a_frame_becomes_a_document, each_event_is_published_once_also_the_last,
                        frames_keep_to_interval_and_change, pictures_are_those_of_the_object,
                        without_a_place_to_publish_to_it_does_not_start});
}
