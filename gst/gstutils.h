// SPDX-License-Identifier: Apache-2.0
// Our errors as GStreamer messages, and conversions between our types and GStreamer's.
#pragma once

#include <gst/gst.h>

#include "base/result.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// Posts `error` as an element error of the domain that fits its code.
void post_error(GstElement* element, const Error& error);

/// Copies a description into a tensor of a meta.
void describe_tensor(const TensorDesc& desc, const char* name, GstDvTensor* tensor);

/// The description of a meta's tensor; kMalformed if its fields make no sense.
Result<TensorDesc> tensor_desc(const GstDvTensor& tensor);

}  // namespace dvnn::gst
