// SPDX-License-Identifier: Apache-2.0
// One frame through a line of elements, and the bytes that come out.
#pragma once

#include <string>
#include <vector>

#include "gst_fixture.h"

namespace dvnn::test {

inline GstHarness* chain(const std::string& description, const std::string& caps) {
  GstHarness* h = gst_harness_new_parse(description.c_str());
  gst_harness_set_src_caps_str(h, caps.c_str());
  return h;
}

/// A stage that asks for tensors.
inline std::string tensors(const std::string& dimensions, const std::string& type) {
  return " ! capsfilter caps=\"other/tensors,dimensions=(string)" + dimensions + ",types=(string)" +
         type + "\"";
}

inline std::vector<uint8_t> bytes_of(GstBuffer* buffer) {
  std::vector<uint8_t> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

/// What `description` makes of one frame.
inline std::vector<uint8_t> output_of(const std::string& description, const std::string& caps,
                                      GstBuffer* frame) {
  GstHarness* h = chain(description, caps);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_msg(out, "%s", description.c_str());
  const std::vector<uint8_t> bytes = bytes_of(out);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  return bytes;
}

/// The error that pushing `frame` through `description` posts; empty if none does.
inline std::string error_of(const std::string& description, const std::string& caps,
                            GstBuffer* frame, GstFlowReturn* flow = nullptr,
                            GstClockTime wait = GST_SECOND) {
  GstHarness* h = gst_harness_new_parse(description.c_str());
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(h->element, bus);
  gst_harness_set_src_caps_str(h, caps.c_str());
  GstFlowReturn result = gst_harness_push(h, frame);
  std::string text;
  // dvinfer's errors come from its own thread.
  GstMessage* message = gst_bus_timed_pop_filtered(bus, wait, GST_MESSAGE_ERROR);
  if (message && result == GST_FLOW_OK) result = GST_FLOW_ERROR;
  if (flow) *flow = result;
  if (message) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_element_set_bus(h->element, nullptr);
  gst_object_unref(bus);
  gst_harness_teardown(h);
  return text;
}

inline GstBuffer* noise(const std::string& format, int width, int height) {
  const GstVideoInfo info = video_info(format, width, height);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  GRand* random = g_rand_new_with_seed(1);
  for (gsize i = 0; i < map.size; ++i) map.data[i] = static_cast<guint8>(g_rand_int(random));
  g_rand_free(random);
  gst_buffer_unmap(buffer, &map);
  return buffer;
}

}  // namespace dvnn::test
