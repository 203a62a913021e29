// SPDX-License-Identifier: Apache-2.0
// Reads pictures one after the other, a few ahead of their reader, on threads of its own.
#pragma once

#include <deque>
#include <future>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/bitmap.h"

namespace dvnn::tools {

class ReadAhead {
 public:
  explicit ReadAhead(std::vector<std::string> paths);
  /// Returns the next picture, in the order of the paths. Do not call it more often than there are
  /// any.
  Result<Bitmap> next();

 private:
  void begin_more();
  const std::vector<std::string> paths_;
  size_t begun_ = 0;
  std::deque<std::future<Result<Bitmap>>> pictures_;
};

}  // namespace dvnn::tools
