// SPDX-License-Identifier: Apache-2.0
// The .ini files of the dv-sdk converter: which model, how, and where to.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::convert {

struct IniFile {
  std::string name;              // of the network
  bool keras = false;            // else Caffe
  std::string definition, data;  // paths; of Keras models, `data` alone is read
  int width = 0, height = 0;     // of the input instead of the model's own; 0: the model's
  std::string output_folder;     // where the folder `name` is made
  bool quantise = true;
  bool hwc = true;  // the device's buffers are rows of pixels (kHwc8)
  bool generates_source = false, generates_dot = false, verbose = false;
  std::string custom_layer;        // a Python file; its layer types must be declared otherwise
  std::vector<std::string> notes;  // options without effect here, and defaults worth saying
};

/// Reads a file of at most 1 MiB. Paths are relative to its folder. kMalformed names the line or
/// the option; options that ask for what cannot be done are refused by name.
Result<IniFile> read_ini(const std::string& path);

}  // namespace dvnn::convert
