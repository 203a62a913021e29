// SPDX-License-Identifier: Apache-2.0
// The state that dvconvert shares with the dvinfer downstream, beside slots.
#pragma once

#include <atomic>

#include "infer/admission.h"
#include "infer/inferstats.h"
#include "infer/latency.h"

namespace dvnn::gst {

struct Intake {
  std::atomic<bool> live{false};  // the pipeline shows frames as they come
  Admission admission;
  InferStats stats;
  LatencyMeter latency;
};

}  // namespace dvnn::gst
