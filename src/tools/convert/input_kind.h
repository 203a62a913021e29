// SPDX-License-Identifier: Apache-2.0
// The kinds of files that `dvnet convert` takes, listed once.
#pragma once

#include <string>
#include <vector>

#include "convert/convert.h"

namespace dvnn::tools {

struct InputKind {
  const char* name;                  // as --from has it
  std::vector<const char*> endings;  // of its files' names
  size_t files;                      // how many of them make a model
  bool network;  // it is one already, whose picture, layout and weights stay as they are
  Result<network::Model> (*convert)(const std::vector<std::string>& files,
                                    const convert::ConvertOptions& options,
                                    convert::Report* report);
};

/// Finds a kind by its name; null: there is none.
const InputKind* find_input_kind(const std::string& name);
/// Guesses the kind by the files' names; what has no known ending is ONNX.
const InputKind* guess_input_kind(const std::vector<std::string>& files);
/// "caffe, keras, onnx and dvn".
std::string input_kind_names();

}  // namespace dvnn::tools
