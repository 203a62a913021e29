// SPDX-License-Identifier: Apache-2.0
// Turns a tensor of a stream into a network's input.
//
// Caps of a stream give the number and dimensions of tensors, not their meaning. A network takes:
//   C:W:H:1  rows of pixels, as tensor_converter makes them: floats in the network's own numbers,
//            or the 8-bit pixels of an RGB or gray picture, which are normalised here.
//   W:H:C:1  planes of floats.
// It also takes the device's own layout, which dvconvert makes and names in the caps field
// `layout`.
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
  const char* layout = nullptr;  // value of the caps field `layout`; null: the field is not needed

  StreamTensor tensor() const { return stream_tensor(desc); }
};

/// Returns the forms of a network's input, the likeliest first. `picture`: how its pixels are
/// normalised.
std::vector<TensorForm> tensor_forms(const TensorDesc& input, const InputSpec& picture);

/// Returns caps of streams that may hold such an input. (transfer full)
GstCaps* tensor_input_caps(const TensorDesc& input, const InputSpec& picture,
                           const GstCaps* filter);

class TensorInput {
 public:
  /// Creates the reader of a stream with these fixed caps. kMalformed if no tensor fits, or several
  /// do.
  static Result<std::unique_ptr<TensorInput>> create(const GstCaps* caps, const TensorDesc& input,
                                                     const InputSpec& picture);
  /// Returns the form of a static stream's tensor. Null for flexible streams: each buffer has its
  /// own.
  const TensorForm* form() const { return stream_.flexible ? nullptr : &forms_[form_]; }
  /// Returns whether the tensor's bytes are the input's, without conversion.
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
  // Reused from buffer to buffer.
  std::vector<uint8_t> bytes_;
  std::vector<float> numbers_;
  std::unique_ptr<image::Converter> converter_;
};

}  // namespace dvnn::gst
