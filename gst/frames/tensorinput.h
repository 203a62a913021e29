// SPDX-License-Identifier: Apache-2.0
// Turns a tensor of a stream into a network's input.
//
// Caps of a stream give the number and dimensions of tensors, not their meaning. A network takes:
//   C:W:H:1  rows of pixels, as tensor_converter makes them: floats in the network's own numbers,
//            or the 8-bit pixels of an RGB or gray picture, which are normalised here.
//   W:H:C:1  planes of floats.
// A network with live inputs takes a stream of as many tensors as it has inputs, in their order; of
// other streams, it takes the first input.
// It also takes the device's own layout, which dvconvert makes and names in the caps field
// `layout`.
#pragma once

#include <memory>

#include "frames/tensorcaps.h"
#include "image/converter.h"
#include "network/stream_memory.h"
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
  /// Creates the reader of all inputs that each frame brings.
  static Result<std::unique_ptr<TensorInput>> create(const GstCaps* caps,
                                                     const network::Model& model);
  /// Creates the reader of windows of sound (caps.h). kMalformed if the input is no line of
  /// numbers.
  static Result<std::unique_ptr<TensorInput>> of_windows(const TensorDesc& input);
  /// Returns the form of a static stream's tensor. Null for flexible streams: each buffer has its
  /// own.
  const TensorForm* form() const { return stream_.flexible ? nullptr : &forms_[form_]; }
  /// Returns whether the tensor's bytes are the input's, without conversion.
  bool is_own() const { return form() && form()->desc == input_; }
  /// Writes a buffer's tensor to `to`, the network's input.
  Status read(GstBuffer* buffer, uint8_t* to);
  /// Sets the live inputs that the buffer's other tensors are: none, or all.
  Status read_live(GstBuffer* buffer, network::LiveInputs* inputs);

 private:
  struct Place {
    size_t form = 0, offset = 0;
  };
  // An input that each frame brings beside the first.
  struct Live {
    size_t index;  // among the model's extra inputs
    std::string name;
    std::vector<TensorForm> forms;
  };
  // The tensors of a buffer, and where they begin.
  struct Tensors {
    std::vector<StreamTensor> tensors;
    std::vector<size_t> offsets;
  };
  static Result<std::unique_ptr<TensorInput>> create(const GstCaps* caps, const TensorDesc& input,
                                                     const InputSpec& picture,
                                                     std::vector<Live> live);
  bool brings_live(const std::vector<StreamTensor>& tensors) const;
  bool fits(const TensorForm& form, const StreamTensor& tensor) const;
  Result<size_t> find(const std::vector<StreamTensor>& tensors, size_t* form) const;
  Result<Tensors> read_headers(GstBuffer* buffer) const;
  Result<Place> find_flexible(GstBuffer* buffer) const;
  Status convert(const TensorForm& form, uint8_t* to);
  Status convert_pixels(const TensorForm& form, uint8_t* to);

  TensorDesc input_;
  InputSpec picture_;
  StreamCaps stream_;
  std::vector<TensorForm> forms_;
  std::vector<Live> live_;
  size_t form_ = 0, index_ = 0;  // of a static stream
  // Reused from buffer to buffer.
  std::vector<uint8_t> bytes_;
  std::vector<float> numbers_;
  std::unique_ptr<image::Converter> converter_;
};

}  // namespace dvnn::gst
