// SPDX-License-Identifier: Apache-2.0
#include "import/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/format.h"

namespace dvnn::import {

Result<int> open_checked(const std::string& path, off_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 "'" + path + "': " + std::strerror(errno)};
  }
  struct stat st;
  std::string problem;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    problem = "is not a regular file";
  } else if (st.st_size == 0) {
    problem = "is empty";
  } else if (st.st_size > limit) {
    problem = format("has %lld bytes, the limit is %lld", static_cast<long long>(st.st_size),
                     static_cast<long long>(limit));
  }
  if (problem.empty()) return fd;
  close(fd);
  return Error{ErrorCode::kMalformed, "'" + path + "' " + problem};
}

namespace {

constexpr off_t kMaxBytes = off_t{1} << 30;

// Returns whether both files exist and the second lies below the folder, all links followed.
bool lies_below(const std::string& folder, const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> top(realpath(folder.c_str(), nullptr), std::free);
  const std::unique_ptr<char, void (*)(void*)> file(realpath(path.c_str(), nullptr), std::free);
  if (!top || !file) return false;
  std::string begin = top.get();
  if (begin.back() != '/') begin += '/';
  return std::strncmp(file.get(), begin.c_str(), begin.size()) == 0;
}

Result<std::string> read_range(int fd, int64_t offset, int64_t length) {
  struct stat st;
  if (fstat(fd, &st) != 0) return Error{ErrorCode::kIo, std::strerror(errno)};
  if (offset < 0 || offset > st.st_size) return Error{ErrorCode::kMalformed, "is too short"};
  if (length < 0) length = st.st_size - offset;
  if (length > st.st_size - offset) return Error{ErrorCode::kMalformed, "is too short"};
  std::string bytes(static_cast<size_t>(length), '\0');
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        pread(fd, &bytes[done], bytes.size() - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{ErrorCode::kIo, got < 0 ? std::strerror(errno) : "is too short"};
    done += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<std::string> read_beside(const std::string& folder, const std::string& name, int64_t offset,
                                int64_t length) {
  const std::string path = (folder.empty() ? "." : folder) + "/" + name;
  const bool absolute = name.empty() || name[0] == '/' || name.find('\0') != std::string::npos;
  if (!absolute && access(path.c_str(), F_OK) != 0) {
    return Error{ErrorCode::kNotFound, "its data lies in '" + path + "': " + std::strerror(errno)};
  }
  if (absolute || !lies_below(folder.empty() ? "." : folder, path)) {
    return Error{ErrorCode::kUnsupported,
                 "its data lies in '" + name + "', which is not below the model's folder"};
  }
  DVNN_ASSIGN(const int fd, open_checked(path, kMaxBytes));
  auto bytes = read_range(fd, offset, length);
  close(fd);
  if (bytes.ok()) return bytes;
  return bytes.error().within("its data in '" + path + "'");
}

Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message) {
  DVNN_ASSIGN(const int fd, open_checked(path, kMaxBytes));
  google::protobuf::io::FileInputStream stream(fd);
  stream.SetCloseOnDelete(true);
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kMaxMessageDepth);
  if (message->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage()) return {};
  return Error{ErrorCode::kMalformed,
               "'" + path + "' is not " + kind + ", or it is truncated or damaged"};
}

}  // namespace dvnn::import
