// SPDX-License-Identifier: Apache-2.0
// A network's outputs as GstTensorMeta (GStreamer >= 1.26), for others' decoders.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "base/result.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/outputdecoder.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Which outputs are attached.
enum class TensorExport {
  kNone,
  kAuto,    // what costs nothing: outputs that lie in memory as GstTensor can say, by reference
  kAlways,  // all of them as row-major float32, copied where they lie otherwise; and detections
};

/// One thread at a time.
class TensorExporter {
 public:
  /// Attaches the outputs of `network` that a frame carries as GstDvTensorMeta, one GstTensorMeta
  /// for each region: ids are the names of the outputs, dims theirs. With kAlways, a network that
  /// detects also gets the four tensors of an SSD with its decoder at the end, of all regions, as
  /// upstream's ssdobjectdetector reads them; boxes are fractions of a frame of `frame_size`.
  Status run(TensorExport which, const GstDvNetworkInfo* network, const image::Size& frame_size,
             GstBuffer* frame);
  void reset() { decoder_.reset(); }

 private:
  Status add_detections(const std::vector<GstDvTensorMeta*>& outputs, const image::Size& frame_size,
                        GstBuffer* frame);

  OutputDecoder decoder_;
  objects::Objects found_;
};

/// Takes those GstTensorMetas off a frame that refer to memory of `outputs`: whoever lets go of the
/// outputs lets go of all of them.
void remove_tensor_exports(const GstDvTensorMeta& outputs, GstBuffer* frame);

}  // namespace dvnn::gst
