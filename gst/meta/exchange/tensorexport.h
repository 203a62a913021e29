// SPDX-License-Identifier: Apache-2.0
// A network's outputs as GstTensorMeta (GStreamer >= 1.26), for others' decoders, and how these ask
// for them.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "base/result.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/outputdecoder.h"
#include "network/model.h"
#include "objects/object.h"
#include "refs.h"

namespace dvnn::gst {

/// Which outputs are attached as GstTensorMeta.
enum class TensorExport {
  kNone,
  kAuto,    // all, by reference, if GstTensor can describe them as they lie in memory
  kAlways,  // all, as row-major float32 (copied if needed); and detections
};

/// A tensor that upstream's ssdobjectdetector reads, row-major float32. There are four: the number
/// of valid rows, and for each row its confidence, its class and its box (top, left, bottom, right;
/// fractions of the frame), best first. `dims` has `rank` numbers; 0 stands for the number of rows.
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
  /// Attaches the outputs of `network`, which a frame carries as GstDvTensorMeta: one GstTensorMeta
  /// for each region, with the outputs' names as ids and their dims. With kAlways, a network that
  /// detects also gets the tensors of kDetectionTensors, for all regions together; boxes are
  /// fractions of `frame_size`.
  Status run(TensorExport which, const GstDvNetworkInfo* network, const image::Size& frame_size,
             GstBuffer* frame);
  void reset() { decoder_.reset(); }

 private:
  Status add_detections(const std::vector<GstDvTensorMeta*>& outputs, const image::Size& frame_size,
                        GstBuffer* frame);

  OutputDecoder decoder_;
  objects::Objects found_;
};

/// Removes those GstTensorMetas from a frame that share memory with `outputs`, so that no reference
/// to that memory stays.
void remove_tensor_exports(const GstDvTensorMeta& outputs, GstBuffer* frame);

// The tensors that decoders ask for in the field 'tensors' of their caps (GStreamer >= 1.28): a
// structure 'tensorgroups' whose fields are groups, each a unique list of the 'tensor/strided' caps
// that the decoder wants on every frame. No decoder asks with an older GStreamer, and these
// functions do nothing there.

/// Returns the caps of each tensor that dvinfer can attach for `model`: its outputs as row-major
/// float32 and, if it detects, those that ssdobjectdetector reads. A dimension of 0 varies.
std::vector<CapsPtr> attachable_tensors(const network::Model& model);

/// Adds to `caps` of frames those groups of `beyond` that `attachable` fills.
CapsPtr announce_tensor_groups(CapsPtr caps, const GstCaps* beyond,
                               const std::vector<CapsPtr>& attachable);

/// Removes those groups from the caps `beyond`, because upstream need not bring them.
CapsPtr without_tensor_groups(CapsPtr beyond, const std::vector<CapsPtr>& attachable);

/// Returns whether caps of frames name groups.
bool has_tensor_groups(const GstCaps* caps);

}  // namespace dvnn::gst
