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

/// The outputs that are attached.
enum class TensorExport {
  kNone,
  kAuto,    // what costs nothing: outputs that lie in memory as GstTensor can say, by reference
  kAlways,  // all of them as row-major float32, copied where they lie otherwise; and detections
};

/// The tensors that upstream's ssdobjectdetector reads, row-major float32: the number of valid
/// rows, and for each row its confidence, its class, and its box (top, left, bottom, right;
/// fractions of the frame). The best come first. Of `rank` dims, 0 stands for the number of rows.
struct DetectionTensor {
  const char* id;
  size_t rank;
  int dims[3];
};
enum DetectionTensorIndex { kDetectionCount, kDetectionScores, kDetectionClasses, kDetectionBoxes };
#if GST_CHECK_VERSION(1, 28, 0)
#define DVNN_DETECTION_COUNT "generic-variant-1-out-count"
#define DVNN_DETECTION(part, renamed) "ssd-mobilenet-v1-variant-1-out-" renamed
#else
#define DVNN_DETECTION_COUNT "Gst.Model.ObjectDetector.NumDetections"
#define DVNN_DETECTION(part, renamed) "Gst.Model.ObjectDetector." part
#endif
constexpr DetectionTensor kDetectionTensors[] = {
    {DVNN_DETECTION_COUNT, 1, {1}},
    {DVNN_DETECTION("Scores", "scores"), 2, {1, 0}},
    {DVNN_DETECTION("Classes", "classes"), 2, {1, 0}},
    {DVNN_DETECTION("Boxes", "boxes"), 3, {1, 0, 4}},
};
#undef DVNN_DETECTION
#undef DVNN_DETECTION_COUNT

/// For one thread at a time.
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

/// Takes those GstTensorMetas off a frame that refer to memory of `outputs`: what lets go of the
/// outputs lets go of all of them.
void remove_tensor_exports(const GstDvTensorMeta& outputs, GstBuffer* frame);

}  // namespace dvnn::gst
