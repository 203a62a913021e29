// SPDX-License-Identifier: Apache-2.0
// What dvinfer's two halves share: the element (properties, states; dvinfer.cpp) and its pads (data
// flow, events, queries; dvinferpads.cpp).
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <memory>
#include <string>

#include "elements/dvinfer.h"
#include "frames/frameconverter.h"
#include "infer/inferqueue.h"
#include "network/network.h"
#include "frames/tensorcaps.h"

typedef enum { GST_DV_INFER_ON_ERROR_ERROR, GST_DV_INFER_ON_ERROR_DROP } GstDvInferOnError;

#define GST_DV_INFER_DEFAULT_MAX_IN_FLIGHT 2
#define GST_DV_INFER_DEFAULT_ON_ERROR GST_DV_INFER_ON_ERROR_ERROR
#define GST_DV_INFER_DEFAULT_QOS TRUE

struct GstDvInferState {
  // Properties, under the object lock.
  dvnn::network::NetworkSource source;
  std::string custom_layers, input_size, device;
  guint max_in_flight = GST_DV_INFER_DEFAULT_MAX_IN_FLIGHT;
  GstDvInferOnError on_error = GST_DV_INFER_DEFAULT_ON_ERROR;
  gboolean qos = GST_DV_INFER_DEFAULT_QOS;
  // From READY on.
  std::shared_ptr<dvnn::network::Network> network;
  GstDvNetworkInfo* info = nullptr;
  // From PAUSED on.
  GstBufferPool* pool = nullptr;
  std::unique_ptr<dvnn::gst::InferQueue> queue;
  // Sink streaming thread only.
  GstVideoInfo video;
  bool have_video = false;
  bool tensors_in = false, tensors_out = false;          // streams of tensors (dvinferstream.cpp)
  std::unique_ptr<dvnn::gst::FrameConverter> converter;  // for frames without our tensor
  GstSegment segment;
  // Any thread.
  std::atomic<guint64> inferred{0}, dropped{0}, late{0};
  std::atomic<int64_t> latency_us{0};                       // of one run, smoothed
  std::atomic<int64_t> reported_us{0};                      // what the LATENCY query last said
  std::atomic<GstFlowReturn> flow{GST_FLOW_OK};             // of the source pad's last push
  std::atomic<GstClockTime> earliest{GST_CLOCK_TIME_NONE};  // QoS: running time not worth less
};

struct _GstDvInfer {
  GstElement parent;
  GstPad* sinkpad;
  GstPad* srcpad;
  GstDvInferState* state;
};

/// Caps of the sink pad (`sink`) or the source pad, by what the other side and the network allow.
/// (transfer full)
GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink);
/// Takes the sink pad's new caps and decides what leaves; kMalformed if they do not fit. `out` are
/// the caps of the source pad. (transfer full)
dvnn::Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, GstCaps** out);
/// A slot with a stream's tensor; null where the pool flushes. (transfer full)
dvnn::Status gst_dv_infer_take_tensor(GstDvInfer* self, GstBuffer* tensor, GstBuffer** slot);
/// The outputs in `slot` as a stream's buffer with the times of `from`. (transfer full)
GstBuffer* gst_dv_infer_make_tensors(GstBuffer* slot, GstBuffer* from);
/// Output `i` in `slot`, as memory that keeps the slot. (transfer full)
GstMemory* gst_dv_infer_output_memory(GstBuffer* slot, size_t i);

/// Makes the pads and adds them to the element.
void gst_dv_infer_init_pads(GstDvInfer* self);
void gst_dv_infer_add_pad_templates(GstElementClass* klass);
