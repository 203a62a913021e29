// SPDX-License-Identifier: Apache-2.0
// Reads the .ini files of the dv-sdk converter: which model to convert, how, and where to.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::convert {

struct IniFile {
  std::string name;              // of the network
  bool keras = false;            // else Caffe
  std::string definition, data;  // paths; Keras models need `data` only
  int width = 0, height = 0;     // replace the size of the model's input; 0: keep it
  std::string output_folder;     // where the folder `name` is created
  bool quantise = true;
  bool hwc = true;  // the device's buffers are in rows of pixels (kHwc8)
  bool generates_source = false, generates_dot = false, verbose = false;
  std::string custom_layer;        // a Python file; not run, --layer-types replaces it
  std::vector<std::string> notes;  // ignored options, and defaults worth mentioning
};

/// Reads a file of at most 1 MiB. Paths are relative to its folder. kMalformed names the line or
/// option; options that cannot be followed are refused by name.
Result<IniFile> read_ini(const std::string& path);

}  // namespace dvnn::convert
