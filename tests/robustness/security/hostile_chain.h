// SPDX-License-Identifier: Apache-2.0
// A line of elements that gets frames which no honest element makes. Each frame must come out, or
// cause one error in printable text, within seconds. whole_line() has all elements.
#pragma once

#include <string>
#include <utility>

#include "base/format.h"
#include "gst_fixture.h"

namespace dvnn::test {

class HostileChain {
 public:
  HostileChain(const std::string& elements, const std::string& caps)
      : harness_(gst_harness_new_parse(elements.c_str())) {
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, caps.c_str());
  }
  ~HostileChain() {
    gst_clear_buffer(&out_);
    g_clear_pointer(&told_, gst_structure_free);
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  HostileChain(const HostileChain&) = delete;
  HostileChain& operator=(const HostileChain&) = delete;

  GstHarness* harness() { return harness_; }
  /// The last frame that came out.
  GstBuffer* out() { return out_; }

  /// Pushes a frame; returns an empty text if it comes out, else the reason.
  std::string push(GstBuffer* frame) {
    constexpr gint64 kPatience = 20 * G_TIME_SPAN_SECOND;
    const gint64 end = g_get_monotonic_time() + kPatience;
    const GstFlowReturn flow = gst_harness_push(harness_, frame);
    while (g_get_monotonic_time() < end) {
      if (std::string error = take_error(); !error.empty()) return error;
      if (GstBuffer* out = gst_harness_try_pull(harness_)) {
        gst_clear_buffer(&out_);
        out_ = out;
        return "";
      }
      if (flow != GST_FLOW_OK && flow != GST_FLOW_ERROR) return gst_flow_get_name(flow);
      g_usleep(500);
    }
    ck_abort_msg("neither a frame nor an error came");
    return "";
  }

  /// Returns the next error on the bus, if any; element messages and warnings before it are kept.
  std::string take_error() {
    constexpr auto kTypes =
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT);
    while (GstMessage* message = gst_bus_pop_filtered(bus_, kTypes)) {
      const GstMessageType type = GST_MESSAGE_TYPE(message);
      std::string text;
      if (type == GST_MESSAGE_ELEMENT) {
        g_clear_pointer(&told_, gst_structure_free);
        told_ = gst_structure_copy(gst_message_get_structure(message));
      } else {
        text = text_of(message);
      }
      gst_message_unref(message);
      if (type == GST_MESSAGE_ERROR) return text;
      if (type == GST_MESSAGE_WARNING) warning_ = text;
    }
    return "";
  }
  /// Returns the last warning; empty if there was none.
  std::string take_warning() {
    (void)take_error();
    return std::exchange(warning_, {});
  }
  /// Returns the structure of the last element message; null if there was none. (transfer full)
  GstStructure* take_structure() {
    (void)take_error();
    return std::exchange(told_, nullptr);
  }

 private:
  static std::string text_of(GstMessage* message) {
    GError* error = nullptr;
    gchar* debug = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &error, &debug);
    } else {
      gst_message_parse_warning(message, &error, &debug);
    }
    const std::string text = error->message;
    ck_assert_msg(!text.empty() && dvnn::is_printable(text), "no line of text: %s", text.c_str());
    ck_assert(!debug || g_utf8_validate(debug, -1, nullptr));
    g_error_free(error);
    g_free(debug);
    return text;
  }

  GstHarness* harness_;
  GstBus* bus_ = gst_bus_new();
  GstBuffer* out_ = nullptr;
  GstStructure* told_ = nullptr;
  std::string warning_;
};

/// Returns a gray frame in memory that is exactly as large as the caps say.
inline GstBuffer* exact_frame(const GstVideoInfo& info) {
  GstBuffer* frame = gst_buffer_new_wrapped(g_malloc(info.size), info.size);
  gst_buffer_memset(frame, 0, 128, info.size);
  GST_BUFFER_PTS(frame) = 0;
  GST_BUFFER_DURATION(frame) = 40 * GST_MSECOND;
  return frame;
}

inline std::string infer_grid(const std::string& properties = "") {
  return "dvinfer name=infer device=soft network=" + network_path() + " " + properties;
}

/// Makes GLib's criticals fatal: an input that is no error of ours must not be one of GLib's.
inline int run_with_fatal_criticals(const char* name, const std::vector<const TTest*>& tests) {
  setenv("G_DEBUG", "fatal-criticals", FALSE);
  return run_gst_suite(name, tests);
}

inline constexpr int kSize = 64;  // width and height of frames, in pixels

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSlower = 10;
#else
inline constexpr double kSlower = 1;
#endif

// Publishes everything that it can about each frame.
inline const std::string kPublish =
    "dvpublish location=/dev/null mode=frames+events+tracks snapshot=object "
    "details=points+outlines+masks+texts+embeddings+numbers";

/// Returns all elements in one line, for tests of hostile metas.
inline std::string whole_line(const std::string& more = "") {
  return "dvconvert ! " + infer_grid() + " ! dvdecode post-messages=true post-empty=true " + more +
         " ! dvtrack min-evidence=0 ! dvzones "
         "zones=\"{\\\"lines\\\":[{\\\"name\\\":\\\"line\\\",\\\"points\\\":"
         "[[0,0],[1,1]]}]}\" ! dvoverlay";
}

}  // namespace dvnn::test
