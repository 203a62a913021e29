// SPDX-License-Identifier: Apache-2.0
// The kinds of files that `dvnet convert` takes, and advice on those that it cannot take.
#pragma once

#include <string>
#include <vector>

#include "convert/convert.h"

namespace dvnn::tools {

struct InputKind {
  const char* name;                  // for --from
  std::vector<const char*> endings;  // of file names
  size_t files;                      // number of files per model
  bool network;  // a network already, whose picture, layout and weights are kept
  Result<network::Model> (*convert)(const std::vector<std::string>& files,
                                    const convert::ConvertOptions& options,
                                    convert::Report* report);
};

/// Returns the kind of this name, or null.
const InputKind* find_input_kind(const std::string& name);
/// Guesses the kind from the files' names; unknown endings count as ONNX.
const InputKind* guess_input_kind(const std::vector<std::string>& files);
/// Returns a list for messages: "caffe, keras, onnx and dvn".
std::string input_kind_names();

/// Puts prototxt and caffemodel in this order.
void order_caffe_files(std::vector<std::string>* files);

/// Returns what to do with files of unsupported kinds, or an empty string if none is recognised.
std::string advice_on(const std::vector<std::string>& files);

/// Returns what to give instead of an unknown decoder's name that begins the names of presets, or
/// an empty string.
std::string advice_on_decoder(const std::string& name);

}  // namespace dvnn::tools
