// SPDX-License-Identifier: Apache-2.0
// A dvpublish whose documents come in a file, and frames for it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test {

using json = dvnn::Json;

constexpr int kWidth = 200, kHeight = 100;
constexpr GstClockTime kFrame = 100 * GST_MSECOND;
constexpr const char* kLine =
    R"(dvzones name=z zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,0.9],[0.5,0.1]]}],)"
    R"(\"areas\":[{\"name\":\"all\",\"points\":[[0,0],[1,0],[1,1],[0,1]]}]}" ! )";

inline GstDvObject* add_object(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
  object->network = 0;
  return object;
}

// A tracked one, whose foot is at (x, 60).
inline void add_person(GstBuffer* frame, double x) {
  GstDvObject* object = add_object(frame);
  object->track_id = 7;
  gst_dv_object_set_box(object, x - 5, 20, x + 5, 60);
}

class PublishHarness {
 public:
  explicit PublishHarness(const std::string& settings, const std::string& before = "") {
    char path[] = "/tmp/dvnn-dvpublish-XXXXXX";
    folder_ = mkdtemp(path);
    const std::string line =
        before + "dvpublish name=p stream=cam location=" + file() + " " + settings;
    harness_ = gst_harness_new_parse(line.c_str());
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~PublishHarness() {
    end();
    gst_object_unref(bus_);
    std::filesystem::remove_all(folder_);
  }
  PublishHarness(const PublishHarness&) = delete;
  PublishHarness& operator=(const PublishHarness&) = delete;
  std::string file() const { return folder_ + "/out"; }
  GstHarness* get() const { return harness_; }

  std::string folder() const { return folder_; }
  size_t warnings() const { return warnings_of(bus_); }

  // A frame, each of which is a little brighter than the one before.
  static GstBuffer* frame(int number) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    gst_buffer_memset(frame, 0, brightness(number), kWidth * kHeight);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    return frame;
  }
  static guint8 brightness(int number) { return static_cast<guint8>(60 + 20 * number); }
  void push(GstBuffer* frame) {
    gst_buffer_ref(frame);
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    ck_assert_ptr_nonnull(out);
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
  }
  // A frame with one tracked object, whose foot is at (x, 60).
  void push(int number, double x) {
    GstBuffer* frame = PublishHarness::frame(number);
    if (x > 0) {
      add_person(frame, x);
    } else {
      gst_dv_objects_meta_add_pass(gst_buffer_add_dv_objects_meta(frame), "people",
                                   GST_DV_PASS_INFERRED);
    }
    push(frame);
  }
  // Ends the stream; the documents.
  // Ends the stream, and returns what was published.
  std::vector<std::string> lines() {
    gst_harness_push_event(harness_, gst_event_new_eos());
    end();
    std::vector<std::string> all;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  std::vector<json> documents() {
    std::vector<json> all;
    for (const std::string& line : lines()) all.push_back(json::parse(line));
    for (size_t i = 0; i < all.size(); ++i)
      ck_assert_int_eq(all[i]["seq"].get<int>(), static_cast<int>(i));
    return all;
  }

 private:
  void end() {
    if (!harness_) return;
    gst_element_set_state(harness_->element, GST_STATE_NULL);
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    harness_ = nullptr;
  }
  static size_t warnings_of(GstBus* bus) {
    size_t count = 0;
    while (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING)) {
      gst_message_unref(message);
      ++count;
    }
    return count;
  }

  std::string folder_;
  GstBus* const bus_ = gst_bus_new();
  GstHarness* harness_ = nullptr;
};

inline std::string kinds(const std::vector<json>& documents) {
  std::string text;
  for (const json& document : documents) {
    text += document.contains("event") ? document["event"]["kind"].get<std::string>()
                                       : document["type"].get<std::string>();
    text += ' ';
  }
  return text;
}

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The brightness of a JPEG's middle, by GStreamer's own decoder; -1 where there is none.
inline int middle_of(const std::string& jpeg) {
  GstElementFactory* factory = gst_element_factory_find("jpegdec");
  if (!factory) return -1;
  gst_object_unref(factory);
  GstHarness* decoder =
      gst_harness_new_parse("jpegdec ! videoconvert ! capsfilter caps=video/x-raw,format=GRAY8");
  gst_harness_set_src_caps_str(decoder, "image/jpeg");
  gst_harness_push(decoder, gst_buffer_new_memdup(jpeg.data(), jpeg.size()));
  gst_harness_push_event(decoder, gst_event_new_eos());
  GstBuffer* frame = gst_harness_pull(decoder);
  ck_assert_ptr_nonnull(frame);
  guint8 middle = 0;
  gst_buffer_extract(frame, gst_buffer_get_size(frame) / 2, &middle, 1);
  gst_buffer_unref(frame);
  gst_harness_teardown(decoder);
  return middle;
}

}  // namespace dvnn::test
