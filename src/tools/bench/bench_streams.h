// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/bench/pipeline_run.h"

namespace dvnn::tools {

/// `dvnet bench pipeline --peer`: prints frames per second, processor time and latency of a frame
/// and memory, of `streams` streams through dvconvert and dvinfer, and of the same streams through
/// what an application without us would have: videoconvertscale, appsink and ONNX Runtime on
/// `model`. Each measurement is a process of its own. Returns dvnet's status.
int run_streams_bench(const PipelineOptions& options, const std::string& model, int streams);

}  // namespace dvnn::tools
