// SPDX-License-Identifier: Apache-2.0
// Collects what the page of `dvnet inspect --html` shows, as the JSON that its script reads.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

/// Facts that were measured or found out beside the model.
struct PageFacts {
  device::Hardware hardware;    // of the estimate
  std::vector<double> step_ms;  // measured here, by step; empty: not measured
  std::string measured_on;      // the device's name
  std::string decoder_error;    // why the decoder cannot be made; empty: it can
  bool generated = false;       // a library of C++ sources, whose steps are not known
};

OrderedJson page_data(const network::Model& model, const PageFacts& facts);

}  // namespace dvnn::tools
