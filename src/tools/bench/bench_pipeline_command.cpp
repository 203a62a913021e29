// SPDX-License-Identifier: Apache-2.0
// `dvnet bench pipeline`: frames per second of a whole pipeline, time per element, and GStreamer's
// converter on the same frames, as the peer of dvconvert.
#include <cstdio>
#include <map>
#include <string>

#include "base/format.h"
#include "base/json.h"
#include "tools/bench/pipeline_run.h"
#include "tools/bench/plot.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

// Returns the median milliseconds that GStreamer's videoconvertscale takes from a frame to 300x300
// BGR.
Result<double> peer_time(const PipelineOptions& o, Progress* progress) {
  DVNN_ASSIGN(
      const PipelinePtr pipeline,
      launch(source_of(o, o.frames) + "videoconvertscale name=peer n-threads=1 ! "
                                      "video/x-raw,format=BGR,width=300,height=300 ! fakesink"));
  Stopwatch watch;
  watch_element(pipeline.get(), "peer", &watch);
  const auto seconds = run_pipeline(pipeline.get(), progress);
  if (!seconds.ok()) return seconds.error();
  return median(watch.milliseconds());
}

int run_elements_bench(const PipelineOptions& o) {
  static const char* const kElements[] = {"dvconvert", "dvinfer", "dvdecode", "dvoverlay"};
  auto pipeline = launch(
      source_of(o, o.frames) + "dvconvert name=dvconvert ! " + dvinfer_of(o) +
      " name=dvinfer ! dvdecode name=dvdecode ! dvoverlay name=dvoverlay ! fakesink sync=false");
  if (!pipeline.ok()) return fail(pipeline.error());
  std::map<std::string, Stopwatch> watches;
  for (const char* name : kElements) watch_element(pipeline.value().get(), name, &watches[name]);
  Progress progress("timing frame", 2 * static_cast<size_t>(o.frames));
  const auto seconds = run_pipeline(pipeline.value().get(), &progress);
  pipeline.value().reset();
  const auto peer = seconds.ok() ? peer_time(o, &progress) : seconds;
  if (!peer.ok()) return fail(peer.error());
  progress.clear();
  const double fps = o.frames / seconds.value();
  const double ours = median(watches["dvconvert"].milliseconds());
  BarPlot plot = {format("%s %dx%d: %.1f frames/s", o.format.c_str(), o.width, o.height, fps),
                  {"median per frame"},
                  {{"", {}}, {"To compare", {}}}};
  for (const char* name : kElements)
    plot.panels[0].rows.push_back({name, {median(watches[name].milliseconds())}});
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
      out[std::string(name) + "_ms"] = median(watches[name].milliseconds());
    out["peer"] = "videoconvertscale to 300x300 BGR";
    out["peer_ms"] = peer.value();
    out["ratio"] = ours > 0 ? peer.value() / ours : 0;
    std::printf("%s\n", json_text(out).c_str());
    return 0;
  }
  std::printf("%s %dx%d, %d frames: %.1f frames/s\n", o.format.c_str(), o.width, o.height, o.frames,
              fps);
  for (const char* name : kElements) {
    std::printf("  %-28s %8.3f ms\n", name, median(watches[name].milliseconds()));
  }
  std::printf("  %-28s %8.3f ms  (to 300x300 BGR, 8-bit)\n", "peer: videoconvertscale",
              peer.value());
  std::printf("  ratio (peer / dvconvert)     %8.2f\n", ours > 0 ? peer.value() / ours : 0);
  return 0;
}

// Returns the milliseconds per frame of a pipeline with `elements` before dvinfer.
Result<double> frame_time(const PipelineOptions& o, int frames, const std::string& elements,
                          Progress* progress) {
  DVNN_ASSIGN(const PipelinePtr pipeline, launch(source_of(o, frames) + elements + dvinfer_of(o) +
                                                 " ! dvdecode ! fakesink sync=false"));
  const auto seconds = run_pipeline(pipeline.get(), progress);
  if (!seconds.ok()) return seconds.error();
  return seconds.value() * 1e3 / frames;
}

// Measures the time per frame by the number of regions, each a quarter of its width and height, and
// for comparison that of as many frames cut to such a part by videocrop.
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
    // Metas of a type that nothing attaches give an empty list.
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
  const PipelineOptions options = {
      arguments.text("network"), arguments.text("device"),   arguments.text("format"),
      arguments.number("width"), arguments.number("height"), arguments.number("frames"),
      arguments.given("json"),   arguments.text("plot"),     arguments.number("rate")};
  const int streams = arguments.number("streams");
  if (!arguments.files().empty() || options.frames < 1 || streams < 1 || options.rate < 0) {
    return wrong_usage(arguments.command(),
                       "takes no files, and --frames, --streams and --rate must be positive");
  }
  const std::string peer = arguments.text("peer");
  if (!peer.empty()) return run_streams_bench(options, peer, streams);
  if (streams > 1 || options.rate > 0) {
    return wrong_usage(arguments.command(), "--streams and --rate are for --peer");
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
    {"peer", 0, Takes::kFile, "MODEL.onnx",
     "Compare with videoconvertscale, appsink and ONNX Runtime on the network's model"},
    {"streams", 0, Takes::kNumber, "N", "For --peer: how many streams run side by side", "1"},
    {"rate", 0, Takes::kNumber, "FPS",
     "For --peer: frames a second of each stream, as from cameras; 0: as many as can be", "0"},
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
