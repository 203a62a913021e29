// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/pipeline_run.h"

#include "base/format.h"

namespace dvnn::tools {
namespace {

// Has `call(watch, pts)` for each buffer of a pad.
template <void (Stopwatch::*kCall)(GstClockTime)>
bool at_pad(GstElement* element, const char* name, Stopwatch* watch) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  if (!pad) return false;
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        (static_cast<Stopwatch*>(data)->*kCall)(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
        return GST_PAD_PROBE_OK;
      },
      watch, nullptr);
  gst_object_unref(pad);
  return true;
}

GstPadProbeReturn count_frame(GstPad*, GstPadProbeInfo*, gpointer progress) {
  static_cast<Progress*>(progress)->advance();
  return GST_PAD_PROBE_OK;
}

}  // namespace

void Stopwatch::enter(GstClockTime pts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entered_[pts] = g_get_monotonic_time();
}

void Stopwatch::leave(GstClockTime pts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entered_.find(pts);
  if (it == entered_.end()) return;
  milliseconds_.push_back(static_cast<double>(g_get_monotonic_time() - it->second) / 1e3);
  entered_.erase(it);
}

bool Stopwatch::enter_at(GstElement* element, const char* pad) {
  return at_pad<&Stopwatch::enter>(element, pad, this);
}

bool Stopwatch::leave_at(GstElement* element, const char* pad) {
  return at_pad<&Stopwatch::leave>(element, pad, this);
}

std::vector<double> Stopwatch::milliseconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return milliseconds_;
}

void PipelineDeleter::operator()(GstElement* pipeline) const {
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

Result<PipelinePtr> launch(const std::string& description) {
  GError* error = nullptr;
  PipelinePtr pipeline(gst_parse_launch(description.c_str(), &error));
  if (!error) return pipeline;
  Error result{ErrorCode::kNotFound,
               std::string(error->message) + " (is the plugin on GST_PLUGIN_PATH?)"};
  g_error_free(error);
  return result;
}

void watch_element(GstElement* pipeline, const char* name, Stopwatch* watch) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  if (!element) return;
  watch->enter_at(element, "sink");
  watch->leave_at(element, "src");
  gst_object_unref(element);
}

Result<double> run_pipeline(GstElement* pipeline, Progress* progress) {
  GstElement* frames = gst_bin_get_by_name(GST_BIN(pipeline), "frames");
  if (frames && progress) {
    GstPad* pad = gst_element_get_static_pad(frames, "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, progress, nullptr);
    gst_object_unref(pad);
  }
  if (frames) gst_object_unref(frames);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_get_state(pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  const gint64 start = g_get_monotonic_time();
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const double seconds = static_cast<double>(g_get_monotonic_time() - start) / 1e6;
  Result<double> result = seconds;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    result = Error{ErrorCode::kInternal, error->message};
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return result;
}

std::string source_of(const PipelineOptions& o, int frames) {
  return format(
      "videotestsrc name=frames num-buffers=%d pattern=smpte ! "
      "video/x-raw,format=%s,width=%d,height=%d,framerate=1000/1 ! ",
      frames, o.format.c_str(), o.width, o.height);
}

std::string dvinfer_of(const PipelineOptions& o) {
  std::string element = "dvinfer skip-late=false";
  if (!o.network.empty()) element += " network=\"" + o.network + "\"";
  if (!o.device.empty()) element += " device=\"" + o.device + "\"";
  return element;
}

}  // namespace dvnn::tools
