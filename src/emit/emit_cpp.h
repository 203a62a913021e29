// SPDX-License-Identifier: Apache-2.0
// Writes a network as C++ sources in the form of the vendor's converter: class CName :
// CDMP_Network.
#pragma once

#include <string>

#include "base/result.h"
#include "network/model.h"

namespace dvnn::emit {

struct CppSources {
  std::string name;    // prefix of the files: NAME_gen.h and so on
  std::string header;  // NAME_gen.h
  std::string source;  // NAME_gen.cpp
  std::string glue;    // NAME_dvinfer.cpp: makes a network for dvinfer of a library of the sources
};

/// Returns the sources; `model.weights` are their packed weights, NAME_weights.bin. Networks of
/// only commands and softmax also compile against the vendor's runtime; others need
/// include/dmp_network.h. Returns kUnsupported if an output is a constant.
Result<CppSources> emit_cpp(const network::Model& model);

}  // namespace dvnn::emit
