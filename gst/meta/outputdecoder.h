// SPDX-License-Identifier: Apache-2.0
// Decodes the outputs on a frame into objects in the frame. For one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "decode/custom_decoders.h"
#include "errors.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/networkdesc.h"
#include "objects/object.h"
#include "refs.h"

namespace dvnn::gst {

/// Holds the decoder of the network that the last outputs came from, and makes another one where
/// outputs of another network or of other shapes come.
class OutputDecoder {
 public:
  /// Appends to `objects` what the outputs hold with confidence >= `threshold`: best first,
  /// labelled, in pixels of a frame of size `frame`, and cut at its edges. On failure `topic` says
  /// what the error is about.
  Status decode(const GstDvTensorMeta& outputs, float threshold, const image::Size& frame,
                objects::Objects* objects, Topic* topic);
  /// Lets boxes reach beyond the region of an object that they were found in, up to the frame's
  /// edges: those of networks that correct a box do.
  void set_refining(bool refining) { refining_ = refining; }
  /// Sets how much of their union two boxes may share, instead of what the network says; below 0:
  /// as the network says. Decoders that suppress nothing do not mind.
  void set_nms_threshold(float threshold);
  /// Sets the users' library of decoders; null: the library that the network names.
  void set_library(std::shared_ptr<const decode::CustomDecoders> library);
  /// The kind that the last outputs' decoder finds, detections or classes; nothing without a
  /// decoder.
  std::optional<objects::Kind> kind() const {
    return decoder_ ? std::optional<objects::Kind>(decoder_->kind()) : std::nullopt;
  }
  /// Describes the last outputs, for debugging.
  std::string describe() const;
  void reset();

 private:
  // An output as the decoder was made for it.
  struct Output {
    GQuark id;
    TensorDesc desc;
  };

  Status read(const GstDvTensorMeta& outputs);
  bool fits(const GstDvTensorMeta& outputs) const;
  Status prepare(const GstDvTensorMeta& outputs);
  Status run(const GstDvTensorMeta& outputs, float threshold);

  NetworkInfoPtr network_;
  std::vector<Output> outputs_, read_;         // those of the decoder, and those that came
  std::vector<BufferMap> maps_;                // while the decoder runs
  std::vector<std::vector<uint8_t>> aligned_;  // the same: copies of what begins between numbers
  std::vector<ConstTensorView> views_;
  std::vector<std::string> labels_;
  std::shared_ptr<const decode::CustomDecoders> library_;
  std::unique_ptr<decode::Decoder> decoder_;
  objects::Objects found_;
  float nms_threshold_ = -1;
  bool refining_ = false;
};

}  // namespace dvnn::gst
