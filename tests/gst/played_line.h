// SPDX-License-Identifier: Apache-2.0
// A line of elements that is played to its end, and what it had to say.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace dvnn::test {

struct PlayedLine {
  std::vector<std::string> warnings;
  std::string error;
  int device_notes = 0;                     // notifications of active-device of the element "infer"
  std::string device_before = "?", device;  // active-device in NULL and when playing; "" for none

  /// How many warnings contain `text`.
  int count(const std::string& text) const {
    int found = 0;
    for (const std::string& warning : warnings) found += warning.find(text) != std::string::npos;
    return found;
  }
};

inline std::string active_device(GstElement* element) {
  gchar* text = nullptr;
  g_object_get(element, "active-device", &text, nullptr);
  const std::string device = text ? text : "";
  g_free(text);
  return device;
}

inline void note_message(GstMessage* message, PlayedLine* line) {
  const bool is_warning = GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING;
  if (!is_warning && GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR) return;
  GError* error = nullptr;
  if (is_warning) {
    gst_message_parse_warning(message, &error, nullptr);
    line->warnings.push_back(error->message);
  } else {
    gst_message_parse_error(message, &error, nullptr);
    line->error = error->message;
  }
  g_error_free(error);
}

/// Plays; `prepare` may change the pipeline first.
inline PlayedLine play_line(const std::string& description,
                            void (*prepare)(GstElement* pipeline) = nullptr) {
  PlayedLine line;
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  if (error) g_error("%s: %s", description.c_str(), error->message);
  if (prepare) prepare(pipeline);
  GstElement* infer = gst_bin_get_by_name(GST_BIN(pipeline), "infer");
  if (infer) {
    line.device_before = active_device(infer);
    g_signal_connect(infer, "notify::active-device",
                     G_CALLBACK(+[](GstElement*, GParamSpec*, int* notes) { ++*notes; }),
                     &line.device_notes);
  }
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  const auto types =
      static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  bool ended = false;
  while (!ended) {
    GstMessage* message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, types);
    if (!message) break;
    note_message(message, &line);
    ended = GST_MESSAGE_TYPE(message) != GST_MESSAGE_WARNING;
    gst_message_unref(message);
  }
  if (!ended) line.error = "it does not end";
  if (infer) line.device = active_device(infer);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_clear_object(&infer);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return line;
}

}  // namespace dvnn::test
