// SPDX-License-Identifier: Apache-2.0
// Network outputs -> detections, by decoders that are found by name.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "tensor/tensor.h"

namespace dvnn::decode {

/// A rectangle, normalised to the network's input picture: (0, 0) is its top left corner, (1, 1)
/// its bottom right one. Not clipped.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct Detection {
  Box box;               // meaningless for classifications
  float confidence = 0;  // 0..1
  int class_id = 0;      // index into the network's labels
  float logit = 0;       // classifications: the raw score
};

enum class ResultKind { kDetections, kClassification };

/// An output of the network, as the decoder is shown it when it is made and when it runs.
struct NamedOutput {
  std::string name;
  TensorDesc desc;
};

/// One configured decoder. decode() may be called from one thread at a time.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual ResultKind kind() const = 0;
  /// Appends to `out` what the outputs hold with confidence >= `threshold`, best first.
  virtual Status decode(Span<const ConstTensorView> outputs, float threshold,
                        std::vector<Detection>* out) = 0;
};

/// Makes the decoder called `name` ("detection-output", "ssd", "classification"). Errors name the
/// decoder and the parameter or output that does not fit.
Result<std::unique_ptr<Decoder>> create_decoder(const std::string& name,
                                                const nlohmann::json& params,
                                                Span<const NamedOutput> outputs);

/// Names for --help and error messages.
std::vector<std::string> decoder_names();

}  // namespace dvnn::decode
