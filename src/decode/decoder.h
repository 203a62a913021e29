// SPDX-License-Identifier: Apache-2.0
// Network outputs -> objects, by decoders that are found by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/span.h"
#include "objects/object.h"
#include "tensor/tensor.h"

namespace dvnn::decode {

/// An output of the network, as the decoder is shown it when it is made and when it runs.
struct NamedOutput {
  std::string name;
  TensorDesc desc;
};

/// One configured decoder. decode() may be called from one thread at a time.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// The kind of every object that this decoder returns.
  virtual objects::Kind kind() const = 0;
  /// Returns how many classes it tells apart, the background included; 0: it does not know.
  virtual int class_count() const { return 0; }
  /// Appends to `out` the objects with confidence >= `threshold`, best first. Boxes are fractions
  /// of the network's input, and labels are not set. The outputs have the descriptions that the
  /// decoder was made for.
  virtual Status decode(Span<const ConstTensorView> outputs, float threshold,
                        objects::Objects* out) = 0;
};

class CustomDecoders;

/// Makes the decoder called `name`: one of decoder_names(), or of `library`, or, where that is
/// null, of the library that the parameter "library" names (custom_decoders.h). Errors name the
/// decoder and the parameter or output that does not fit.
Result<std::unique_ptr<Decoder>> create_decoder(const std::string& name, const Json& params,
                                                Span<const NamedOutput> outputs,
                                                const CustomDecoders* library = nullptr);

/// Writes the size of the network's input, in pixels, into parameters that have none ("image") and
/// whose decoder needs it; a library's may always need it.
void set_input_size(const std::string& name, const image::Size& input, Json* params);

/// Names for --help and error messages.
std::vector<std::string> decoder_names();

}  // namespace dvnn::decode
