// SPDX-License-Identifier: Apache-2.0
// A network with a slot and its decoder, for tools that process pictures one after the other; and
// the options of commands that open one. Their tables include these rows and kDeviceOption.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "decode/custom_decoders.h"
#include "image/converter.h"
#include "network/finite_watch.h"
#include "tools/npy.h"
#include "tools/options.h"
#include "tools/pictures.h"

namespace dvnn::tools {

class Session {
 public:
  /// `decoders` has a user's decoder; it may be null.
  static Result<std::unique_ptr<Session>> open(const network::NetworkSource& source,
                                               const std::string& device,
                                               const decode::CustomDecoders* decoders = nullptr);
  /// Creates a session for a loaded network.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<network::Network> network,
                                                 const decode::CustomDecoders* decoders = nullptr);
  const network::Model& model() const { return network_->model(); }
  const device::Device& device() const { return network_->device(); }
  network::Slot& slot() { return *slot_; }
  /// Returns the decoder, or null if the network names none.
  decode::Decoder* decoder() { return decoder_.get(); }

  /// Converts an 8-bit BGR picture to the slot's input, like dvconvert.
  Status load(const Bitmap& bgr);
  /// The same for a part of the picture.
  Status load(const Bitmap& bgr, const image::View& part);
  /// Keeps states from one run to the next from now on: the inputs are frames of one stream. At
  /// first each input begins anew.
  void follow_frames() { follows_ = true; }
  /// Writes numbers to the input of that name, the first or another live one. Errors name `path`.
  Status load(const std::string& path, const std::string& input, NpyArray* array);
  /// Writes numbers, which are the input as the model defines it, to the slot's input. Errors name
  /// `path`.
  Status load(const std::string& path, NpyArray* array);
  /// Runs on the loaded input. If a result is not finite, warns on stderr, once per session, where
  /// that begins; `path` names the picture.
  Status run(const std::string& path);
  /// Runs on the loaded input as one more frame of a stream, without a look at the results: what is
  /// to be timed.
  Status run_next(network::RunTimes* times);
  /// Decodes the last run. Boxes are in pixels of the loaded picture, not clipped.
  Result<objects::Objects> decode(float threshold);

 private:
  Status check_live_inputs() const;

  std::shared_ptr<network::Network> network_;
  std::unique_ptr<network::Slot> slot_;
  std::unique_ptr<decode::Decoder> decoder_;
  std::unique_ptr<image::Converter> converter_;
  std::unique_ptr<network::StreamMemory> memory_;
  std::unique_ptr<network::LiveInputs> live_;
  bool follows_ = false;        // inputs are frames of one stream
  int width_ = 0, height_ = 0;  // of the pictures that converter_ was created for
  network::FiniteWatch watch_{network::FiniteWatch::Keeps::kEvery};
};

/// Creates a converter for 8-bit BGR pictures of this one's size; also makes a view of the picture
/// for it.
Result<std::unique_ptr<image::Converter>> create_converter(const Bitmap& bgr,
                                                           const TensorDesc& tensor,
                                                           const InputSpec& picture,
                                                           const image::View& view = {});
image::FrameView view_of(const Bitmap& bgr);

/// Sets labels of what a network has found, and maps it from the input to the pixels of the picture
/// that the converter has converted.
void place_in_picture(const network::Model& model, const image::Converter& converter,
                      objects::Objects* found);

/// unfold() undoes, in row-major values of an input tensor, the affine layers that planning moved
/// into the input's mean and scale; fold() applies them.
void unfold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values);
void fold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values);

inline constexpr Option kWeightsOption = {
    "weights", 0, Takes::kFile, "FILE",
    "Packed weights, where the network is a library of generated sources"};
inline constexpr Option kCustomLayersOption = {"custom-layers", 0, Takes::kFile, "LIBRARY",
                                               "A library of CPU layers that the network names"};
inline constexpr Option kDecoderLibraryOption = {
    "decoder-library", 0, Takes::kFile, "LIBRARY",
    "A library with the decoder that the network names"};
inline constexpr Option kSizeOption = {
    "size", 0, Takes::kText, "WxH",
    "Size of the network's input in pixels, instead of the file's own"};

/// Opens the network at `path` with these options, ready to run.
Result<std::unique_ptr<Session>> open_session(const std::string& path, const Arguments& arguments);
/// The same on another device than the one that the options name.
Result<std::unique_ptr<Session>> open_session(const std::string& path, const std::string& device,
                                              const Arguments& arguments);

}  // namespace dvnn::tools
