// SPDX-License-Identifier: Apache-2.0
// Converts a GstVideoFrame to a tensor, for dvconvert, and for dvinfer if no dvconvert did it
// before.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <optional>
#include <vector>

#include "image/converter.h"
#include "network/network.h"
#include "tensor/dlhdl.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// The tensor that dvconvert makes: one of ours, or a buffer of MathWorks' processor.
struct TensorTarget {
  TensorDesc desc;  // the layout counts only without `dlhdl`
  std::optional<DlhdlLayout> dlhdl;

  size_t bytes() const {
    if (!dlhdl) return desc.bytes();
    return dlhdl->elements(desc.shape) * element_size(desc.type);
  }
};

class FrameConverter {
 public:
  /// Creates a converter for frames of `info`; errors say what does not fit.
  static Result<std::unique_ptr<FrameConverter>> create(const GstVideoInfo& info,
                                                        const TensorTarget& target,
                                                        const InputSpec& input,
                                                        const image::View& view);
  /// Writes the tensor of `frame`, or of the part that its GstVideoCropMeta shows, to `tensor`,
  /// `bytes` of them. Pixels are only read, and DMA-BUFs told so.
  Status convert(GstBuffer* frame, uint8_t* tensor, size_t bytes);
  /// Writes the tensor into a slot's input.
  Status convert(GstBuffer* frame, network::Slot* slot, network::InputKind kind);
  /// The part of the last frame that its tensor shows, in pixels of the frame; a field's, too.
  const image::Shown& shown() const { return shown_; }
  /// The view that the converter was made for; another view needs another converter.
  const image::View& view() const { return view_; }

 private:
  Status make_converter(const image::FrameFormat& format);
  Status follow_crop(GstBuffer* frame);

  GstVideoInfo info_;
  TensorTarget target_;
  InputSpec input_;
  image::View view_;
  image::FrameFormat format_;  // of a frame or, with interlace-mode=alternate, a field
  int frame_height_ = 0;       // in lines of the whole frame, for fields too
  image::Shown shown_;
  std::unique_ptr<image::Converter> converter_;
};

/// The converters of a frame's regions: each keeps its own as long as its view stays the same.
class RegionConverters {
 public:
  /// Forgets all converters, because the frames' or the tensor's format has changed.
  void reset() { kept_.clear(); }
  /// Returns the converter of region `region` of the frame. It is valid until the next call.
  Result<FrameConverter*> get(size_t region, const GstVideoInfo& info, const TensorTarget& target,
                              const InputSpec& input, const image::View& view);

 private:
  std::vector<std::unique_ptr<FrameConverter>> kept_;
};

}  // namespace dvnn::gst
