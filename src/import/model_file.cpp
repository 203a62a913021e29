// SPDX-License-Identifier: Apache-2.0
#include "import/model_file.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/budget.h"
#include "base/format.h"

namespace dvnn::import {

Result<File> open_model_file(const std::string& path, uint64_t most_bytes) {
  DVNN_ASSIGN(File file, open_file(path, most_bytes));
  if (size_of(file) == 0) return malformed("'" + path + "' is empty");
  return file;
}

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

// Thrown if an arena exceeds its budget of memory.
struct BlocksSpent : std::bad_alloc {};
thread_local uint64_t blocks_left = 0;
void* take_block(size_t bytes) {
  if (bytes > blocks_left) throw BlocksSpent();
  blocks_left -= bytes;
  return ::operator new(bytes);
}
void give_block(void* block, size_t) {
  ::operator delete(block);
}

// Returns whether an open file lies below the folder, with all links resolved.
bool lies_below(const std::string& folder, const File& file) {
  const std::unique_ptr<char, void (*)(void*)> top(realpath(folder.c_str(), nullptr), std::free);
  char path[PATH_MAX];
  const ssize_t size = readlink(format("/proc/self/fd/%d", file.fd()).c_str(), path, sizeof(path));
  if (!top || size <= 0) return false;
  std::string begin = top.get();
  if (begin.back() != '/') begin += '/';
  return std::string(path, static_cast<size_t>(size)).compare(0, begin.size(), begin) == 0;
}

}  // namespace

Result<std::string> read_beside(const std::string& folder, const std::string& name, int64_t offset,
                                size_t size) {
  const Error elsewhere = {ErrorCode::kUnsupported, "its data lies in '" + name +
                                                        "', which is not below the model's folder"};
  if (name.empty() || name[0] == '/' || name.find('\0') != std::string::npos) return elsewhere;
  const std::string top = folder.empty() ? "." : folder;
  const auto file = open_file(top + "/" + name, kMaxBytes);
  if (!file.ok()) return file.error().within("its data");
  if (!lies_below(top, file.value())) return elsewhere;
  const uint64_t bytes = size_of(file.value());
  if (offset < 0 || static_cast<uint64_t>(offset) > bytes ||
      size > bytes - static_cast<uint64_t>(offset)) {
    return malformed(format("its data in '%s/%s' is too short: %zu bytes from %lld on, of %llu",
                            top.c_str(), name.c_str(), size, static_cast<long long>(offset),
                            static_cast<unsigned long long>(bytes)));
  }
  std::string data(size, '\0');
  const Status status =
      read_at(file.value().fd(), static_cast<uint64_t>(offset), data.data(), size);
  if (!status.ok()) return status.error().within("its data in '" + top + "/" + name + "'");
  return data;
}

Status check_message_memory(const std::string& path, uint64_t file_bytes,
                            const google::protobuf::MessageLite& kind,
                            const std::function<void(google::protobuf::MessageLite*)>& parse) {
  constexpr uint64_t kMostOfByte = 400;  // an empty layer of Caffe's has two in a file
  const uint64_t most = limit_of(Budget::kMessageBytes);
  if (file_bytes <= most / kMostOfByte) return {};
  google::protobuf::ArenaOptions options;
  options.block_alloc = take_block;
  options.block_dealloc = give_block;
  blocks_left = most;
  google::protobuf::Arena arena(options);
  try {
    parse(kind.New(&arena));
    return {};
  } catch (const BlocksSpent&) {
    return check_budget(Budget::kMessageBytes, most + 1,
                        "'" + path + "': memory for its messages, at least");
  }
}

Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message) {
  DVNN_ASSIGN(const File file, open_model_file(path, kMaxBytes));
  const auto parse = [&](google::protobuf::MessageLite* to) {
    (void)lseek(file.fd(), 0, SEEK_SET);
    google::protobuf::io::FileInputStream stream(file.fd());
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(static_cast<int>(kMaxBytes));  // also if it grows
    coded.SetRecursionLimit(kMaxMessageDepth);
    return to->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  };
  DVNN_TRY(check_message_memory(path, size_of(file), *message, parse));
  if (parse(message)) return {};
  return malformed("'" + path + "' is not " + kind + ", or it is truncated or damaged");
}

}  // namespace dvnn::import
