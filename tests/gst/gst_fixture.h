// SPDX-License-Identifier: Apache-2.0
// What the element tests share: the grid network in a file, frames with red squares, detections.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "boxes.h"

// Check last: some of its macros have common names.
#include "check_main.h"

namespace dvnn::test {

/// Path of the grid network, written on first use.
const std::string& network_path();

/// Removes it again; call at the end of main's tests.
void remove_network();

inline GstVideoInfo video_info(const std::string& format, int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format.c_str()),
                            static_cast<guint>(width), static_cast<guint>(height));
  info.fps_n = 25;
  info.fps_d = 1;
  return info;
}

/// Caps, which are taken, as text.
inline std::string caps_text(GstCaps* caps) {
  gchar* text = gst_caps_to_string(caps);
  const std::string result = text;
  g_free(text);
  gst_caps_unref(caps);
  return result;
}

inline std::string video_caps(const std::string& format, int width, int height) {
  const GstVideoInfo info = video_info(format, width, height);
  return caps_text(gst_video_info_to_caps(&info));
}

/// A black frame of `format` with a red square over grid cell (column, row) of 4 x 4.
inline GstBuffer* red_square(const std::string& format, int width, int height, int column,
                             int row) {
  GstVideoInfo rgb = video_info("RGB", width, height), info = video_info(format, width, height);
  GstBuffer* picture = gst_buffer_new_allocate(nullptr, rgb.size, nullptr);
  gst_buffer_memset(picture, 0, 0, rgb.size);
  GstVideoFrame frame;
  gst_video_frame_map(&frame, &rgb, picture, GST_MAP_READWRITE);
  for (int y = row * height / 4; y < (row + 1) * height / 4; ++y) {
    for (int x = column * width / 4; x < (column + 1) * width / 4; ++x) {
      static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(
          &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + 3 * x] = 255;
    }
  }
  GstBuffer* result = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(result, 0, 0, info.size);
  GstVideoFrame to;
  gst_video_frame_map(&to, &info, result, GST_MAP_WRITE);
  GstVideoConverter* converter = gst_video_converter_new(&rgb, &info, nullptr);
  gst_video_converter_frame(converter, &frame, &to);
  gst_video_converter_free(converter);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&frame);
  gst_buffer_unref(picture);
  return result;
}

/// True if the only detection is a red square over that cell, within `tolerance` pixels.
inline bool found_square(GstBuffer* buffer, int width, int height, int column, int row,
                         double tolerance = 1) {
  const std::vector<Found> list = detections(buffer);
  auto near = [tolerance](double a, double b) { return std::fabs(a - b) <= tolerance; };
  return list.size() == 1 && list[0].label == "red" && near(list[0].x0, column * width / 4.0) &&
         near(list[0].y0, row * height / 4.0) && near(list[0].x1, (column + 1) * width / 4.0) &&
         near(list[0].y1, (row + 1) * height / 4.0);
}

/// Plays a pipeline, which is `description`, until its end, which must come within `limit`.
inline void play_to_end(GstElement* pipeline, const std::string& description, GstClockTime limit) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* end = gst_bus_timed_pop_filtered(
      bus, limit, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ck_assert_msg(end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS, "%s: no end", description.c_str());
  gst_message_unref(end);
  gst_object_unref(bus);
}

/// Runs a suite with GStreamer's leaks tracer on; objects that are alive after gst_deinit() fail
/// it.
inline int run_gst_suite(const char* name, const std::vector<const TTest*>& tests,
                         void (*after)() = nullptr) {
  setenv("GST_TRACERS", "leaks", FALSE);
  gst_init(nullptr, nullptr);
  int status = dvnn_run_suite(name, tests, after);
  remove_network();
  // A test that failed has left its pipeline behind, for which gst_deinit() would wait.
  if (status != EXIT_SUCCESS) _exit(status);
  // The tracer warns when it is taken down with objects alive, and logs which.
  gst_debug_set_threshold_for_name("GST_TRACER", GST_LEVEL_TRACE);
  g_log_set_default_handler(
      [](const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer result) {
        g_log_default_handler(domain, level, message, nullptr);
        if (g_str_has_prefix(message, "Leaks detected")) *static_cast<int*>(result) = EXIT_FAILURE;
      },
      &status);
  gst_deinit();
  return status;
}

}  // namespace dvnn::test
