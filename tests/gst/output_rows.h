// SPDX-License-Identifier: Apache-2.0
// Outputs of a network that ends in a DetectionOutput layer, without the network.
#pragma once

#include <vector>

#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::test {

/// One object of the layer; corners in fractions of the network's input.
struct OutputRow {
  float image = 0, label = 1, confidence = 1, x0 = 0, y0 = 0, x1 = 1, y1 = 1;
};

/// Adds them to a frame as the outputs of `network`, whose input is a square of `size` pixels.
inline GstDvTensorMeta* add_output_rows(GstBuffer* frame, GstDvNetworkInfo* network, guint size,
                                        const std::vector<OutputRow>& rows) {
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
  meta->network = gst_dv_network_info_ref(network);
  meta->input_width = meta->input_height = size;
  GstDvTensor& tensor = meta->tensors[0];
  tensor.id = g_quark_from_static_string("out");
  tensor.layout = GST_DV_TENSOR_LAYOUT_NCHW;
  tensor.data_type = GST_DV_TENSOR_DATA_TYPE_FLOAT32;
  tensor.num_dims = 4;
  tensor.dims[0] = tensor.dims[1] = 1;
  tensor.dims[2] = rows.size();
  tensor.dims[3] = sizeof(OutputRow) / sizeof(float);
  tensor.data = gst_buffer_new_memdup(rows.data(), rows.size() * sizeof(OutputRow));
  return meta;
}

}  // namespace dvnn::test
