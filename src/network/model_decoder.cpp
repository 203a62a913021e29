// SPDX-License-Identifier: Apache-2.0
#include "network/model_decoder.h"

#include "base/json.h"

namespace dvnn::network {

std::vector<decode::NamedOutput> named_outputs(const Model& model) {
  std::vector<decode::NamedOutput> outputs;
  for (const OutputInfo& output : model.outputs) {
    outputs.push_back({output.name, model.tensor(output.tensor).desc});
  }
  return outputs;
}

Result<std::unique_ptr<decode::Decoder>> create_decoder(const Model& model,
                                                        const decode::CustomDecoders* library) {
  if (model.decoder.name.empty()) return std::unique_ptr<decode::Decoder>();
  return decode::create_decoder(model.decoder.name, model.decoder.params, named_outputs(model),
                                library);
}

}  // namespace dvnn::network
