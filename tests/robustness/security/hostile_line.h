// SPDX-License-Identifier: Apache-2.0
// All elements in one line, for tests of hostile metas.
#pragma once

#include <string>

#include "hostile_chain.h"

namespace dvnn::test {

inline constexpr int kSize = 64;  // width and height of frames, in pixels

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSlower = 10;
#else
inline constexpr double kSlower = 1;
#endif

// Publishes everything that it can about each frame.
inline const std::string kPublish =
    "dvpublish location=/dev/null mode=frames+events+tracks snapshot=object "
    "details=points+outlines+masks+texts+embeddings+numbers";

inline std::string whole_line(const std::string& more = "") {
  return "dvconvert ! " + infer_grid() + " ! dvdecode post-messages=true post-empty=true " + more +
         " ! dvtrack min-evidence=0 ! dvzones "
         "zones=\"{\\\"lines\\\":[{\\\"name\\\":\\\"line\\\",\\\"points\\\":"
         "[[0,0],[1,1]]}]}\" ! dvoverlay";
}

}  // namespace dvnn::test
