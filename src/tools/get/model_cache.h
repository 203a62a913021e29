// SPDX-License-Identifier: Apache-2.0
// Models' files that were fetched, in $XDG_CACHE_HOME/dvnn/models. A file gets its place only once
// its size and hash are right; until then it is a part beside it, which the next call continues.
#pragma once

#include <string>

#include "base/file.h"
#include "base/result.h"
#include "tools/get/model_list.h"

namespace dvnn::tools {

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
