// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/float_run.h"

namespace dvnn::tools {

Result<std::unique_ptr<FloatRun>> create_float_run(network::Model, const std::string&,
                                                   const decode::CustomDecoders*) {
  return unsupported("--as: this dvnet was built without the converter, which runs in FP32");
}

}  // namespace dvnn::tools
