// SPDX-License-Identifier: Apache-2.0
// The models of `dvnet get`: the list of those that it knows, models.json or a file of the same
// form, and their files that were fetched, in $XDG_CACHE_HOME/dvnn/models. A file gets its place
// there only once its size and hash are right; until then it is a part beside it, which the next
// call continues.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
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

/// The folder of files that were fetched.
class ModelCache {
 public:
  /// Opens the cache's folder, which is made if it is missing. Nothing in it that is a link, or
  /// that belongs to another user, is read or written.
  static Result<ModelCache> open();

  /// Returns the path of a file that is there and right; kNotFound if there is none. A wrong one is
  /// removed.
  Result<std::string> find(const ModelFile& file) const;
  /// Returns the path of a file, which is downloaded from its addresses, one after the other, if it
  /// is not there.
  Result<std::string> fetch(const ModelFile& file, int stall_seconds) const;
  /// Takes a copy of the file at `path` into the cache, and returns the copy's path.
  Result<std::string> take(const ModelFile& file, const std::string& path) const;

 private:
  Result<File> open_part(const ModelFile& file) const;
  Result<std::string> from_url(const ModelFile& file, const std::string& url,
                               int stall_seconds) const;
  Result<std::string> keep(const ModelFile& file, const File& part, const std::string& from) const;

  std::string path_;
  File folder_;
};

}  // namespace dvnn::tools
