// SPDX-License-Identifier: Apache-2.0
// Outputs of a network that ends in a DetectionOutput layer, without the network.
#pragma once

#include <initializer_list>
#include <vector>

#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::test {

/// One object of the layer; corners in fractions of the network's input.
struct OutputRow {
  float image = 0, label = 1, confidence = 1, x0 = 0, y0 = 0, x1 = 1, y1 = 1;
};

/// Fills one tensor of outputs with floats in planes; `dims` outermost first.
inline void set_floats(GstDvTensor* tensor, const char* name, std::initializer_list<gsize> dims,
                       const void* values) {
  tensor->id = g_quark_from_string(name);
  tensor->layout = GST_DV_TENSOR_LAYOUT_NCHW;
  tensor->data_type = GST_DV_TENSOR_DATA_TYPE_FLOAT32;
  gsize bytes = sizeof(float);
  for (gsize dim : dims) {
    tensor->dims[tensor->num_dims++] = dim;
    bytes *= dim;
  }
  tensor->data = gst_buffer_new_memdup(values, bytes);
}

/// Adds them to a frame as the outputs of `network`, whose input is a square of `size` pixels.
inline GstDvTensorMeta* add_output_rows(GstBuffer* frame, GstDvNetworkInfo* network, guint size,
                                        const std::vector<OutputRow>& rows) {
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
  meta->network = gst_dv_network_info_ref(network);
  meta->input_width = meta->input_height = size;
  set_floats(&meta->tensors[0], "out", {1, 1, rows.size(), sizeof(OutputRow) / sizeof(float)},
             rows.data());
  return meta;
}

}  // namespace dvnn::test
