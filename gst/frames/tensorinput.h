// SPDX-License-Identifier: Apache-2.0
// Turns a tensor of a stream into a network's input.
//
// A stream says of its tensors how many there are and how large, not what they mean; these are the
// forms that a network takes:
//   C:W:H:1  rows of pixels, as tensor_converter makes them. Floats are the network's own numbers,
//            8-bit ones the pixels of an RGB or gray picture, normalised here as the network asks.
//   W:H:C:1  planes of floats.
// and the bytes as the device wants them, which dvconvert makes: caps say so by a field, layout.
#pragma once

#include <memory>

#include "frames/tensorcaps.h"
#include "image/converter.h"
#include "tensor/input_spec.h"

namespace dvnn::gst {

/// One form of a network's input.
struct TensorForm {
  TensorDesc desc;
  bool pixels = false;           // 8-bit pixels of a picture
  const char* layout = nullptr;  // as caps have it; null: they need not say

  StreamTensor tensor() const { return stream_tensor(desc); }
};

/// The forms of an input that is made like `picture`, the most likely first.
std::vector<TensorForm> tensor_forms(const TensorDesc& input, const InputSpec& picture);

/// Caps of streams that may be such an input. (transfer full)
GstCaps* tensor_input_caps(const TensorDesc& input, const InputSpec& picture,
                           const GstCaps* filter);

class TensorInput {
 public:
  /// For a stream of fixed caps. kMalformed if none of its tensors fits, or more than one.
  static Result<std::unique_ptr<TensorInput>> create(const GstCaps* caps, const TensorDesc& input,
                                                     const InputSpec& picture);
  /// The form of a static stream's tensor; null where each buffer says.
  const TensorForm* form() const { return stream_.flexible ? nullptr : &forms_[form_]; }
  /// Returns whether the tensor's bytes can be the input's without conversion.
  bool is_own() const { return form() && form()->desc == input_; }
  /// Writes a buffer's tensor to `to`, the network's input.
  Status read(GstBuffer* buffer, uint8_t* to);

 private:
  struct Place {
    size_t form = 0, offset = 0;
  };
  Result<size_t> find(const std::vector<StreamTensor>& tensors, size_t* form) const;
  Result<Place> find_flexible(GstBuffer* buffer) const;
  Status convert(const TensorForm& form, uint8_t* to);
  Status convert_pixels(const TensorForm& form, uint8_t* to);

  TensorDesc input_;
  InputSpec picture_;
  StreamCaps stream_;
  std::vector<TensorForm> forms_;
  size_t form_ = 0, index_ = 0;  // of a static stream
  // These are reused from buffer to buffer.
  std::vector<uint8_t> bytes_;
  std::vector<float> numbers_;
  std::unique_ptr<image::Converter> converter_;
};

}  // namespace dvnn::gst
