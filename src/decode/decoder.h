// SPDX-License-Identifier: Apache-2.0
// Decoders convert a network's outputs to objects. They are created by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/span.h"
#include "objects/object.h"
#include "tensor/tensor.h"

namespace dvnn::decode {

/// An output of the network, when a decoder is created and when it runs.
struct NamedOutput {
  std::string name;
  TensorDesc desc;
};

/// A configured decoder. decode() may be called from one thread at a time.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Returns the kind of all objects of this decoder.
  virtual objects::Kind kind() const = 0;
  /// Returns the number of classes including the background, or 0 if it is unknown.
  virtual int class_count() const { return 0; }
  /// Appends objects with confidence >= `threshold` to `out`, best first. Boxes are fractions of
  /// the network's input; labels are not set. The outputs have the descriptions for which the
  /// decoder was created.
  virtual Status decode(Span<const ConstTensorView> outputs, float threshold,
                        objects::Objects* out) = 0;
};

class CustomDecoders;

/// Creates the decoder `name`: one of decoder_names(), or of `library`, or if that is null, of the
/// library in the parameter "library" (custom_decoders.h). Errors name the decoder and the
/// parameter or output that does not fit.
Result<std::unique_ptr<Decoder>> create_decoder(const std::string& name, const Json& params,
                                                Span<const NamedOutput> outputs,
                                                const CustomDecoders* library = nullptr);

/// Adds the size of the network's input in pixels ("image") to parameters that lack it, if the
/// decoder needs it. Decoders of libraries always get it.
void set_input_size(const std::string& name, const image::Size& input, Json* params);

/// Returns the names of our decoders, for --help and error messages.
std::vector<std::string> decoder_names();

/// Least confidences, 0..1, by label: the parameter "class_thresholds" of every decoder, which
/// `dvnet evaluate --keep` has measured. Decoders themselves ignore it, so that a network can be
/// measured again; what shows objects applies it.
using ClassThresholds = std::map<std::string, float>;

/// The least confidence of classes that have none of their own, unless another one is asked for.
constexpr float kUsualThreshold = 0.5f;

/// Returns the least confidence of a label's objects; `others` if it has none of its own.
float threshold_of(const ClassThresholds& thresholds, const std::string& label, float others);
/// Returns the least of all, which keeps whatever a single class keeps.
float least_threshold(const ClassThresholds& thresholds, float others);

/// Reads the thresholds among a decoder's parameters; empty if there are none. Error: kMalformed,
/// naming the label.
Result<ClassThresholds> read_class_thresholds(const Json& params);

/// Replaces the thresholds among a decoder's parameters.
void set_class_thresholds(const std::map<std::string, double>& thresholds, Json* params);

}  // namespace dvnn::decode
