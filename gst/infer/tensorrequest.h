// SPDX-License-Identifier: Apache-2.0
// dvinfer's answer in the ALLOCATION query, which tells dvconvert the tensor it wants. It travels
// as the parameters of a meta API of its own and not in the query's list of pools, where a decoder
// would mistake the slots for a pool of frames.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <optional>

#include "infer/admission.h"
#include "infer/inferstats.h"
#include "infer/latency.h"
#include "infer/slotpool.h"
#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// The state that dvconvert shares with the dvinfer downstream, beside slots.
struct Intake {
  std::atomic<bool> live{false};  // the pipeline shows frames as they come
  Admission admission;
  InferStats stats;
  LatencyMeter latency;
};

struct TensorRequest {
  TensorDesc desc;
  InputSpec input;
  bool takes_pixels = false;    // slots take network::InputKind::kPixels, too
  bool prefers_pixels = false;  // they cost less than a tensor
  std::shared_ptr<SlotPool> pool;
  std::shared_ptr<Intake> intake;

  /// Decides, before any work is done for the frame of that time, whether dvinfer will infer it.
  Verdict decide(GstClockTime running_time) const {
    return intake->admission.decide(running_time, pool->busy());
  }
};

/// Makes `request` the query's only one: one that an element further downstream has added is not
/// for those upstream of this dvinfer.
void set_tensor_request(GstQuery* query, const TensorRequest& request);

/// Removes the query's request, so that upstream makes no tensor.
void remove_tensor_request(GstQuery* query);
/// The query's request, if it has one.
std::optional<TensorRequest> get_tensor_request(GstQuery* query);

/// Goes upstream to dvconvert, which then asks again. RECONFIGURE would go on beyond dvconvert,
/// where nothing has changed: a filter whose caps are set meanwhile, say, fails while it
/// negotiates.
GstEvent* new_request_changed_event();
bool is_request_changed_event(const GstEvent* event);

}  // namespace dvnn::gst
