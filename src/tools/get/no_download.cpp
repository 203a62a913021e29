// SPDX-License-Identifier: Apache-2.0
// For builds without libcurl.
#include "tools/get/download.h"

namespace dvnn::tools {

Status download(const std::string& url, uint64_t, int, const File&) {
  return unsupported("'" + url + "': this dvnet was built without libcurl, so it cannot download");
}

}  // namespace dvnn::tools
