// SPDX-License-Identifier: Apache-2.0
// `dvnet bench pipeline`: frames per second of the whole pipeline, time per element, and
// GStreamer's own converter on the same frames as the peer of dvconvert.
#include <gst/gst.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "tools/bench/plot.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

struct PipelineOptions {
  std::string network, device, format;
  int width, height, frames;
  bool json;
  std::string plot;  // a file, or empty
};

// Records when each frame entered an element, and how long it stayed.
struct Stopwatch {
  std::mutex mutex;
  std::map<GstClockTime, gint64> entered;  // by pts
  std::vector<double> milliseconds;
};

GstPadProbeReturn enter(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto* watch = static_cast<Stopwatch*>(data);
  const std::lock_guard<std::mutex> lock(watch->mutex);
  watch->entered[GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info))] = g_get_monotonic_time();
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn leave(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto* watch = static_cast<Stopwatch*>(data);
  const std::lock_guard<std::mutex> lock(watch->mutex);
  const auto it = watch->entered.find(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
  if (it == watch->entered.end()) return GST_PAD_PROBE_OK;
  watch->milliseconds.push_back(static_cast<double>(g_get_monotonic_time() - it->second) / 1e3);
  watch->entered.erase(it);
  return GST_PAD_PROBE_OK;
}

void watch_element(GstElement* pipeline, const char* name, Stopwatch* watch) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  if (!element) return;
  const struct {
    const char* pad;
    GstPadProbeCallback callback;
  } probes[] = {{"sink", enter}, {"src", leave}};
  for (const auto& probe : probes) {
    GstPad* pad = gst_element_get_static_pad(element, probe.pad);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe.callback, watch, nullptr);
    gst_object_unref(pad);
  }
  gst_object_unref(element);
}

GstPadProbeReturn count_frame(GstPad*, GstPadProbeInfo*, gpointer progress) {
  static_cast<Progress*>(progress)->advance();
  return GST_PAD_PROBE_OK;
}

// Runs to the end; seconds from PLAYING to EOS. `progress` counts the frames.
Result<double> run_pipeline(GstElement* pipeline, Progress* progress) {
  GstElement* frames = gst_bin_get_by_name(GST_BIN(pipeline), "frames");
  GstPad* pad = gst_element_get_static_pad(frames, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, progress, nullptr);
  gst_object_unref(pad);
  gst_object_unref(frames);
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

Result<GstElement*> launch(const std::string& description) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  if (error) {
    Error result{ErrorCode::kNotFound,
                 std::string(error->message) + " (is the plugin on GST_PLUGIN_PATH?)"};
    g_error_free(error);
    if (pipeline) gst_object_unref(pipeline);
    return result;
  }
  return pipeline;
}

std::string source(const PipelineOptions& o, int frames) {
  return format(
      "videotestsrc name=frames num-buffers=%d pattern=smpte ! "
      "video/x-raw,format=%s,width=%d,height=%d,framerate=1000/1 ! ",
      frames, o.format.c_str(), o.width, o.height);
}

std::string dvinfer(const PipelineOptions& o) {
  std::string element = "dvinfer name=dvinfer skip-late=false";
  if (!o.network.empty()) element += " network=\"" + o.network + "\"";
  if (!o.device.empty()) element += " device=\"" + o.device + "\"";
  return element;
}

// Median milliseconds that GStreamer's videoconvertscale takes to make 300x300 BGR of a frame.
Result<double> peer_time(const PipelineOptions& o, Progress* progress) {
  DVNN_ASSIGN(
      GstElement * pipeline,
      launch(source(o, o.frames) + "videoconvertscale name=peer n-threads=1 ! "
                                   "video/x-raw,format=BGR,width=300,height=300 ! fakesink"));
  Stopwatch watch;
  watch_element(pipeline, "peer", &watch);
  const auto seconds = run_pipeline(pipeline, progress);
  gst_object_unref(pipeline);
  if (!seconds.ok()) return seconds.error();
  return median(watch.milliseconds);
}

int run_elements_bench(const PipelineOptions& o) {
  static const char* const kElements[] = {"dvconvert", "dvinfer", "dvdecode", "dvoverlay"};
  auto pipeline =
      launch(source(o, o.frames) + "dvconvert name=dvconvert ! " + dvinfer(o) +
             " ! dvdecode name=dvdecode ! dvoverlay name=dvoverlay ! fakesink sync=false");
  if (!pipeline.ok()) return fail(pipeline.error());
  std::map<std::string, Stopwatch> watches;
  for (const char* name : kElements) watch_element(pipeline.value(), name, &watches[name]);
  Progress progress("timing frame", 2 * static_cast<size_t>(o.frames));
  const auto seconds = run_pipeline(pipeline.value(), &progress);
  gst_object_unref(pipeline.value());
  const auto peer = seconds.ok() ? peer_time(o, &progress) : seconds;
  if (!peer.ok()) return fail(peer.error());
  progress.clear();
  const double fps = o.frames / seconds.value();
  const double ours = median(watches["dvconvert"].milliseconds);
  BarPlot plot = {format("%s %dx%d: %.1f frames/s", o.format.c_str(), o.width, o.height, fps),
                  {"median per frame"},
                  {{"", {}}, {"To compare", {}}}};
  for (const char* name : kElements)
    plot.panels[0].rows.push_back({name, {median(watches[name].milliseconds)}});
  plot.panels[1].rows.push_back({"dvconvert", {ours}});
  plot.panels[1].rows.push_back({"videoconvertscale", {peer.value()}});
  if (Status s = write_plot(o.plot, plot); !s.ok()) return fail(s.error());
  if (o.json) {
    OrderedJson out = {{"format", o.format},
                       {"width", o.width},
                       {"height", o.height},
                       {"frames", o.frames},
                       {"fps", fps}};
    for (const char* name : kElements)
      out[std::string(name) + "_ms"] = median(watches[name].milliseconds);
    out["peer"] = "videoconvertscale to 300x300 BGR";
    out["peer_ms"] = peer.value();
    out["ratio"] = ours > 0 ? peer.value() / ours : 0;
    std::printf("%s\n", json_text(out).c_str());
    return 0;
  }
  std::printf("%s %dx%d, %d frames: %.1f frames/s\n", o.format.c_str(), o.width, o.height, o.frames,
              fps);
  for (const char* name : kElements) {
    std::printf("  %-28s %8.3f ms\n", name, median(watches[name].milliseconds));
  }
  std::printf("  %-28s %8.3f ms  (to 300x300 BGR, 8-bit)\n", "peer: videoconvertscale",
              peer.value());
  std::printf("  ratio (peer / dvconvert)     %8.2f\n", ours > 0 ? peer.value() / ours : 0);
  return 0;
}

// Milliseconds per frame of a pipeline in which `elements` stand before dvinfer.
Result<double> frame_time(const PipelineOptions& o, int frames, const std::string& elements,
                          Progress* progress) {
  DVNN_ASSIGN(GstElement * pipeline, launch(source(o, frames) + elements + dvinfer(o) +
                                            " ! dvdecode ! fakesink sync=false"));
  const auto seconds = run_pipeline(pipeline, progress);
  gst_object_unref(pipeline);
  if (!seconds.ok()) return seconds.error();
  return seconds.value() * 1e3 / frames;
}

// Measures the time of a frame by the number of regions, each a quarter of its width and height,
// beside the time of as many frames that videocrop cuts to such a part.
int run_regions_bench(const PipelineOptions& o) {
  constexpr int kCounts[] = {0, 1, 8, 64}, kLeastFrames = 5;
  const auto frames_for = [&](int regions) {
    return std::max(kLeastFrames, o.frames / std::max(1, regions));
  };
  int total = o.frames;
  for (int count : kCounts) total += frames_for(count);
  Progress progress("timing frame", static_cast<size_t>(total));
  const auto crop = frame_time(o, o.frames,
                               format("videocrop right=%d bottom=%d ! dvconvert ! ",
                                      o.width - o.width / 4, o.height - o.height / 4),
                               &progress);
  if (!crop.ok()) return fail(crop.error());
  OrderedJson rows = OrderedJson::array();
  for (int count : kCounts) {
    // Metas of a type that nobody attaches are a list without entries.
    std::string list = count == 0 ? "region-metas=none" : "region-list=\"[";
    for (int i = 0; i < count; ++i) {
      list += format("[%g,%g,0.25,0.25]%s", i % 8 * 0.1, i / 8 * 0.1, i + 1 < count ? "," : "]\"");
    }
    const auto ms =
        frame_time(o, frames_for(count), "dvconvert regions=list " + list + " ! ", &progress);
    if (!ms.ok()) return fail(ms.error());
    rows.push_back({{"regions", count}, {"ms", ms.value()}});
    if (count > 0) rows.back()["ratio"] = count * crop.value() / ms.value();
  }
  progress.clear();
  if (o.json) {
    const OrderedJson out = {
        {"peer", "videocrop, a frame for each region"}, {"peer_ms", crop.value()}, {"rows", rows}};
    std::printf("%s\n", json_text(out).c_str());
    return 0;
  }
  std::printf("%s %dx%d, regions of a quarter of its width and height\n", o.format.c_str(), o.width,
              o.height);
  std::printf("  peer: videocrop ! dvconvert  %8.3f ms for each\n", crop.value());
  for (const auto& row : rows) {
    std::printf("  %2d regions                   %8.3f ms", row.at("regions").get<int>(),
                row.at("ms").get<double>());
    if (row.contains("ratio"))
      std::printf("  ratio (peer / ours) %.2f", row.at("ratio").get<double>());
    std::printf("\n");
  }
  return 0;
}

int bench_pipeline(const Arguments& arguments) {
  const PipelineOptions options = {arguments.text("network"),  arguments.text("device"),
                                   arguments.text("format"),   arguments.number("width"),
                                   arguments.number("height"), arguments.number("frames"),
                                   arguments.given("json"),    arguments.text("plot")};
  if (!arguments.files().empty() || options.frames < 1) {
    return wrong_usage(arguments.command(), "takes no files, and --frames must be positive");
  }
  gst_init(nullptr, nullptr);
  return arguments.given("regions") ? run_regions_bench(options) : run_elements_bench(options);
}

constexpr Option kBenchPipelineOptions[] = {
    {"network", 0, Takes::kFile, "FILE.dvn", "Network file (default: the installed one)"},
    kDeviceOption,
    {"format", 0, Takes::kText, "F", "Video format", "NV12"},
    {"width", 0, Takes::kNumber, "PIXELS", "Frame width", "1280"},
    {"height", 0, Takes::kNumber, "PIXELS", "Frame height", "720"},
    {"frames", 'n', Takes::kNumber, "N", "Frames to run", "200"},
    {"regions", 0, Takes::kNothing, nullptr,
     "Time frames with 0, 1, 8 and 64 regions, beside videocrop"},
    kPlotOption,
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"}};

}  // namespace

const Command kBenchPipelineCommand = {
    "bench pipeline",
    "time the GStreamer pipeline and its elements",
    "",
    "Times the pipeline on a test picture, and each element in it.",
    kBenchPipelineOptions,
    bench_pipeline};

}  // namespace dvnn::tools
