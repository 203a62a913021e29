// SPDX-License-Identifier: Apache-2.0
// Creates a page of HTML about a network that needs nothing but a browser: its contents as JSON,
// which the page's script reads.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/span.h"
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

/// Puts the parts of a page together: `html` has marks for its style, its script and its data,
/// which is JSON.
std::string assemble_page(const std::string& html, Span<const char* const> styles,
                          Span<const char* const> scripts, const std::string& data);

std::string page_of(const network::Model& model, const PageFacts& facts);

}  // namespace dvnn::tools
