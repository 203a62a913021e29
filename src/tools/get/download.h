// SPDX-License-Identifier: Apache-2.0
// Downloads a file of a known size, by libcurl.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace dvnn::tools {

/// Appends to `to`, which may hold the file's beginning, until it has `bytes` bytes. A beginning
/// that the server cannot continue is fetched again. Proxies are those of libcurl's variables
/// (http_proxy, https_proxy, all_proxy, no_proxy). At most five redirects are followed, to http and
/// https only, and from https to https only. Ends with an error if a second brings less than 1 KiB,
/// on average over `stall_seconds`, or if the server has more bytes. What has come then stays.
/// Errors name the address.
Status download(const std::string& url, uint64_t bytes, int stall_seconds, const File& to);

}  // namespace dvnn::tools
