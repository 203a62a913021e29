// SPDX-License-Identifier: Apache-2.0
// Outputs that another element attached as GstTensorMeta (GStreamer >= 1.26), for our decoders.
#pragma once

#include <gst/analytics/analytics.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "meta/tensordesc.h"

namespace dvnn::gst {

/// Recognises a network's outputs by its file. Immutable.
class TensorImport {
 public:
  explicit TensorImport(const network::Model& model);

  /// Turns the network's outputs on a frame from GstTensorMeta into GstDvTensorMeta, without
  /// copying. The network is assumed to have seen the whole frame, of size `frame_size`. Does
  /// nothing if the frame has outputs of the network's name as GstDvTensorMeta. kNotFound if the
  /// frame has no GstTensorMeta; kUnsupported if none holds the network's outputs.
  Status run(GstBuffer* frame, const image::Size& frame_size) const;

  struct Output {
    std::string name;
    Shape shape;
  };

 private:
  bool has_ours(GstBuffer* frame) const;
  Status attach(const std::vector<const GstTensor*>& tensors, const image::Size& frame_size,
                GstBuffer* frame) const;

  NetworkInfoPtr info_;
  std::vector<Output> outputs_;  // as the file lists them
  guint input_width_, input_height_;
};

}  // namespace dvnn::gst
