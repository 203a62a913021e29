// SPDX-License-Identifier: Apache-2.0
// "This is the tensor I want": what dvinfer says to dvconvert in the ALLOCATION query, as the
// parameters of the GstDvTensorMeta API. The pool travels there, too, and not in the query's list
// of pools, where a decoder would take it for a pool of frames.
#pragma once

#include <gst/gst.h>

#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

struct TensorRequest {
  TensorDesc desc;
  InputSpec picture;
  bool takes_pixels = false;      // the pool's slots take InputKind::kPixels, too
  GstBufferPool* pool = nullptr;  // of slots; not owned
};

/// Adds the request to an ALLOCATION query.
void add_tensor_request(GstQuery* query, const TensorRequest& request);

/// Finds a request; `pool` stays owned by the query. False if there is none that makes sense.
bool get_tensor_request(GstQuery* query, TensorRequest* request);

}  // namespace dvnn::gst
