// SPDX-License-Identifier: Apache-2.0
#include "elements/convertjob.h"

#include "base/format.h"

namespace dvnn::gst {

// Whether the caps' buffers are what dvinfer wants.
static Status check_caps(const GstCaps* caps, const TensorRequest& request) {
  DVNN_ASSIGN(const CapsTensor tensor, parse_tensor_caps(caps));
  if (tensor.type == request.desc.type && tensor.bytes() == request.desc.bytes()) return {};
  const std::string wanted = format_dimensions(caps_dimensions(request.desc));
  return Error{ErrorCode::kMalformed,
               format("the stream's caps do not fit the network's input, which is "
                      "dimensions=%s,types=%s",
                      wanted.c_str(), to_string(request.desc.type))};
}

Result<ConvertJob> plan_request(const ConvertSettings& settings, const TensorRequest& request,
                                const GstCaps* stream) {
  if (stream) DVNN_TRY(check_caps(stream, request));
  ConvertJob job;
  job.target.desc = request.desc;
  job.input = request.input;
  const bool can = request.takes_pixels && !stream;
  if (can && settings.backend != Backend::kCpu) {
    // The device's table has the mean and the scale.
    job.kind = network::InputKind::kPixels;
    job.target.desc.type = ElementType::kUint8;
    job.input.mean = {{0, 0, 0}};
    job.input.scale = {{1, 1, 1}};
  } else if (settings.backend == Backend::kDevice) {
    return Error{ErrorCode::kUnsupported,
                 "backend=device: this device, or this network's first layer, takes no 8-bit "
                 "pixels; use backend=auto or cpu"};
  }
  return job;
}

Result<ConvertJob> plan_stream(const ConvertSettings& settings, const GstCaps* caps) {
  ConvertJob job;
  DVNN_ASSIGN(job.target, settings.stream_target(caps));
  job.input = settings.stream_input();
  if (settings.backend == Backend::kDevice) {
    return Error{ErrorCode::kUnsupported,
                 "backend=device: a stream of tensors is made by the CPU; use backend=auto or cpu"};
  }
  return job;
}

}  // namespace dvnn::gst
