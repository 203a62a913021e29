// SPDX-License-Identifier: Apache-2.0
// Collects the contents of the page of `dvnet inspect --html` as JSON for its script.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

/// Facts beside the model, measured or found out.
struct PageFacts {
  device::Hardware hardware;    // for the estimate
  std::vector<double> step_ms;  // measured on this machine, by step; empty: not measured
  std::string measured_on;      // name of the device
  std::string decoder_error;    // why the decoder cannot be created; empty: it can
  bool generated = false;       // a library of C++ sources, whose steps are unknown
};

OrderedJson page_data(const network::Model& model, const PageFacts& facts);

}  // namespace dvnn::tools
