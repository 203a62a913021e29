// SPDX-License-Identifier: Apache-2.0
// Files that hold models: how they are opened and parsed as protocol buffers.
#pragma once

#include <google/protobuf/message_lite.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dvnn::import {

constexpr int kMaxMessageDepth = 32;  // nested messages

/// Opens a file that must exist, be regular, not empty, and of at most `limit` bytes.
Result<int> open_checked(const std::string& path, off_t limit);

/// `length` bytes (-1: all there are) of a file below `folder` from `offset` on, at most 1 GiB. The
/// name is relative and leads nowhere else, nor does a link that it names.
Result<std::string> read_beside(const std::string& folder, const std::string& name, int64_t offset,
                                int64_t length);

/// Parses a binary message of at most 1 GiB; `kind` names it in the error.
Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message);

}  // namespace dvnn::import
