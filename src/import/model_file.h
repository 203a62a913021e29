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

/// Reads `size` bytes from `offset` on of a file below `folder`. The name is relative, and neither
/// it nor a link may lead out of the folder.
Result<std::string> read_beside(const std::string& folder, const std::string& name, int64_t offset,
                                size_t size);

/// Measures how much memory a large file's message takes, before it is kept, because an empty
/// message of two bytes in a file takes hundreds in memory. `parse` fills a message of that kind in
/// memory that is counted, bounded (Budget::kMessageBytes) and freed.
Status check_message_memory(const std::string& path, uint64_t file_bytes,
                            const google::protobuf::MessageLite& kind,
                            const std::function<void(google::protobuf::MessageLite*)>& parse);

/// Parses a binary message of at most 1 GiB; `kind` names it in the error.
Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message);

}  // namespace dvnn::import
