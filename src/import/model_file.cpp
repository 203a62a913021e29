// SPDX-License-Identifier: Apache-2.0
#include "import/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

Status parse_model_file(const std::string& path, const char* kind,
                        google::protobuf::MessageLite* message) {
  constexpr off_t kMaxBytes = off_t{1} << 30;
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
