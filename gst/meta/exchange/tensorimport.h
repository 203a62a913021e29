// SPDX-License-Identifier: Apache-2.0
// Outputs that another element attached as GstTensorMeta (GStreamer >= 1.26), for our decoders.
#pragma once

#include <gst/analytics/analytics.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "meta/networkdesc.h"

namespace dvnn::gst {

/// Knows by a network file what tensors mean. Never changed once it is made.
class TensorImport {
 public:
  explicit TensorImport(const network::Model& model);

  /// If a frame carries the network's outputs as GstTensorMeta, attaches them as GstDvTensorMeta,
  /// without copying, and removes the former. The network is assumed to have seen the whole frame,
  /// whose size is `frame_size`. Nothing happens if the frame already has outputs of the network's
  /// name as GstDvTensorMeta. kNotFound if the frame has no such meta; kUnsupported if its metas
  /// are not the network's outputs.
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
