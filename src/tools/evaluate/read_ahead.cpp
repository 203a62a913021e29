// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/read_ahead.h"

#include <utility>

#include "tools/pictures.h"

namespace dvnn::tools {

ReadAhead::ReadAhead(std::vector<std::string> paths) : paths_(std::move(paths)) {
  begin_more();
}

Result<Bitmap> ReadAhead::next() {
  Result<Bitmap> picture = pictures_.front().get();
  pictures_.pop_front();
  begin_more();
  return picture;
}

void ReadAhead::begin_more() {
  // Decoding a photograph takes as long as running a small network; more pictures would only take
  // memory.
  constexpr size_t kMostAhead = 3;
  while (pictures_.size() < kMostAhead && begun_ < paths_.size()) {
    pictures_.push_back(std::async(std::launch::async, read_picture, paths_[begun_++]));
  }
}

}  // namespace dvnn::tools
