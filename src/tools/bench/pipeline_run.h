// SPDX-License-Identifier: Apache-2.0
// Pipelines that are timed: made of a description, run to their end, watched frame by frame.
#pragma once

#include <gst/gst.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/progress.h"

namespace dvnn::tools {

struct PipelineOptions {
  std::string network, device, format;
  int width, height, frames;
  bool json;
  std::string plot;  // file name, or empty
  int rate;          // frames a second of each stream; 0: as many as there can be
};

/// How long frames stayed between two places, which know them by their times.
class Stopwatch {
 public:
  void enter(GstClockTime pts);
  void leave(GstClockTime pts);
  /// Has a pad of `element` call enter() or leave() for each buffer; false if there is no such pad.
  bool enter_at(GstElement* element, const char* pad);
  bool leave_at(GstElement* element, const char* pad);
  std::vector<double> milliseconds() const;

 private:
  mutable std::mutex mutex_;
  std::map<GstClockTime, gint64> entered_;
  std::vector<double> milliseconds_;
};

struct PipelineDeleter {
  void operator()(GstElement* pipeline) const;
};
using PipelinePtr = std::unique_ptr<GstElement, PipelineDeleter>;

/// kNotFound with GStreamer's own words, also where an element is missing.
Result<PipelinePtr> launch(const std::string& description);

/// Times the elements called `name` from their sink to their source pad; ignores other names.
void watch_element(GstElement* pipeline, const char* name, Stopwatch* watch);

/// Runs a pipeline to its end; returns the seconds from PLAYING to EOS. `progress`, if given,
/// counts the buffers of the element called "frames". kInternal with the pipeline's error.
Result<double> run_pipeline(GstElement* pipeline, Progress* progress);

/// "videotestsrc name=frames … ! caps ! " and "dvinfer …" as the options say.
std::string source_of(const PipelineOptions& options, int frames);
std::string dvinfer_of(const PipelineOptions& options);

/// `dvnet bench pipeline --peer`: prints frames per second, processor time and latency of a frame
/// and memory, of `streams` streams through dvconvert and dvinfer, and of the same streams through
/// what an application without us would have: videoconvertscale, appsink and ONNX Runtime on
/// `model`. Each measurement is a process of its own. Returns dvnet's status.
int run_streams_bench(const PipelineOptions& options, const std::string& model, int streams);

}  // namespace dvnn::tools
