// SPDX-License-Identifier: Apache-2.0
// The list of models that `dvnet get` knows: models.json, or a file of the same form.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dvnn::tools {

/// A file of a model. It is known by its hash, so any server may have it.
struct ModelFile {
  std::string name;               // a plain file name
  uint64_t bytes = 0;             // exactly
  std::string sha256;             // 64 small hexadecimal digits
  std::vector<std::string> urls;  // http or https, the first one first
};

struct ListedModel {
  std::string name, finds, licence;
  std::string source;  // a page about the model
  std::string metric;  // what its authors have measured; may be empty
  // Milliseconds for a picture, device and CPU, by `dvnet inspect --estimate`; 0: unknown.
  double board_ms = 0;
  std::vector<ModelFile> files;
  std::vector<std::pair<std::string, std::string>> convert;  // options of dvnet convert and values

  uint64_t bytes() const;
};

/// Reads a list. It may be anybody's: names cannot lead out of a folder, options of convert are
/// those that write and read no files, and every field is checked. `what` names the list in errors.
Result<std::vector<ListedModel>> read_model_list(const std::string& text, const std::string& what);

/// Reads the list in a file; the program's own if `path` is empty.
Result<std::vector<ListedModel>> open_model_list(const std::string& path);

}  // namespace dvnn::tools
