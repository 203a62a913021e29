// SPDX-License-Identifier: Apache-2.0
// Decodes the outputs on a frame into objects in frame pixels. For one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "decode/custom_decoders.h"
#include "decode/decoder.h"
#include "errors.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/tensordesc.h"
#include "objects/object.h"
#include "refs.h"

namespace dvnn::gst {

/// Keeps the decoder of the last outputs' network, and replaces it when outputs of another network
/// or other shapes come.
class OutputDecoder {
 public:
  /// Prepares for outputs, which decode() does by itself. On failure, `topic` is set to the error's
  /// topic.
  Status prepare(const GstDvTensorMeta& outputs, Topic* topic);
  /// Returns the confidences that the network's file demands of single classes, once outputs were
  /// prepared for. decode() does not apply them.
  const std::shared_ptr<const decode::ClassThresholds>& class_thresholds() const {
    return class_thresholds_;
  }
  /// Appends to `objects` those with a confidence of at least `threshold`: best first, labelled, in
  /// pixels of a frame of size `frame`, and cut at its edges. On failure, `topic` is set to the
  /// error's topic.
  Status decode(const GstDvTensorMeta& outputs, float threshold, const image::Size& frame,
                objects::Objects* objects, Topic* topic);
  /// Lets boxes reach beyond the object's region that they were found in, up to the frame's edges,
  /// for networks that correct a box.
  void set_refining(bool refining) { refining_ = refining; }
  /// Sets the overlap (IoU) above which suppression drops the weaker box; below 0: the network's
  /// own. Decoders without suppression ignore it.
  void set_nms_threshold(float threshold);
  /// Sets the user's library of decoders; null: the library that the network names.
  void set_library(std::shared_ptr<const decode::CustomDecoders> library);
  /// Returns the kind of object that the last decoder finds, or nothing without a decoder.
  std::optional<objects::Kind> kind() const {
    return decoder_ ? std::optional<objects::Kind>(decoder_->kind()) : std::nullopt;
  }
  /// Describes the last outputs, for debugging.
  std::string describe() const;
  void reset();

 private:
  // An output that the decoder was created for.
  struct Output {
    GQuark id;
    TensorDesc desc;
  };

  Status read(const GstDvTensorMeta& outputs);
  bool fits(const GstDvTensorMeta& outputs) const;
  Status create(const GstDvTensorMeta& outputs);
  Status run(const GstDvTensorMeta& outputs, float threshold);

  NetworkInfoPtr network_;
  std::vector<Output> outputs_, read_;         // the decoder's outputs; the outputs on the frame
  std::vector<BufferMap> maps_;                // valid while the decoder runs
  std::vector<std::vector<uint8_t>> aligned_;  // aligned copies, valid while the decoder runs
  std::vector<ConstTensorView> views_;
  std::vector<std::string> labels_;
  std::shared_ptr<const decode::ClassThresholds> class_thresholds_;
  std::shared_ptr<const decode::CustomDecoders> library_;
  std::unique_ptr<decode::Decoder> decoder_;
  objects::Objects found_;
  float nms_threshold_ = -1;
  bool refining_ = false;
};

}  // namespace dvnn::gst
