// SPDX-License-Identifier: Apache-2.0
// A network as C++ sources, in the shape of the vendor's converter: class CName : CDMP_Network.
#pragma once

#include <string>

#include "base/result.h"
#include "network/model.h"

namespace dvnn::emit {

struct CppSources {
  std::string name;    // prefix of the files: NAME_gen.h and so on
  std::string header;  // NAME_gen.h
  std::string source;  // NAME_gen.cpp
  std::string glue;    // NAME_dvinfer.cpp: makes a library of it a network for dvinfer
};

/// `model.weights` are the packed weights of the sources, NAME_weights.bin. Networks that consist
/// of commands and softmax also compile against the vendor's runtime; others need
/// include/dmp_network.h. kUnsupported: an output is a constant.
Result<CppSources> emit_cpp(const network::Model& model);

}  // namespace dvnn::emit
