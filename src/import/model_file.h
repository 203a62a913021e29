// SPDX-License-Identifier: Apache-2.0
// Files that hold models: how they are opened and parsed as protocol buffers.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace dvnn::import {

constexpr int kMaxMessageDepth = 32;  // nested messages

/// Opens a regular file that is not empty and has at most `most_bytes`.
Result<File> open_model_file(const std::string& path, uint64_t most_bytes);

/// `size` bytes from `offset` on of a file below `folder`. The name is relative and leads nowhere
/// else, nor does a link that it names.
Result<std::string> read_beside(const std::string& folder, const std::string& name, int64_t offset,
                                size_t size);

/// An empty message of two bytes in a file takes hundreds in memory, so what a large file takes is
/// found out before it is kept: `parse` fills a message of that kind in memory which is counted,
/// bounded (Budget::kMessageBytes) and given back.
Status check_message_memory(const std::string& path, uint64_t file_bytes,
                            const google::protobuf::MessageLite& kind,
                            const std::function<void(google::protobuf::MessageLite*)>& parse);

/// Parses a binary message of at most 1 GiB; `kind` names it in the error.
Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message);

}  // namespace dvnn::import
