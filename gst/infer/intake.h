// SPDX-License-Identifier: Apache-2.0
// What dvconvert and the dvinfer downstream of it share beside slots.
#pragma once

#include "infer/admission.h"
#include "infer/inferstats.h"
#include "infer/latency.h"

namespace dvnn::gst {

struct Intake {
  Admission admission;
  InferStats stats;
  LatencyMeter latency;
};

}  // namespace dvnn::gst
