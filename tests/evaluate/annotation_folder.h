// SPDX-License-Identifier: Apache-2.0
// Folders of annotations for tests, and what reading them gives.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "check_suite.h"
#include "evaluate/annotations/annotations.h"

namespace dvnn::test {

using evaluate::Annotations;
using evaluate::DataSet;

class Folder {
 public:
  Folder() { ck_assert_ptr_nonnull(mkdtemp(path_.data())); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const Folder& with(const std::string& name, const std::string& text = "") const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
    return *this;
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/dvnn-annotations-XXXXXX";
};

inline DataSet read(const std::string& path, Annotations kind = Annotations::kFind) {
  auto data = evaluate::read_data_set(path, kind);
  ck_assert_msg(data.ok(), "%s", data.ok() ? "" : data.error().message.c_str());
  return data.value();
}

// `why` is all of the message; FOLDER stands for the folder.
inline void expect_refused(const Folder& folder, const std::string& name, const std::string& why,
                           Annotations kind = Annotations::kFind) {
  const auto data = evaluate::read_data_set(name.empty() ? folder.path() : folder.at(name), kind);
  ck_assert_msg(!data.ok(), "it is not refused: %s", why.c_str());
  std::string wanted = why;
  for (size_t at = 0; (at = wanted.find("FOLDER", at)) != std::string::npos;) {
    wanted.replace(at, 6, folder.path());
  }
  dvnn_assert_text(data.error().message, wanted.c_str());
}

}  // namespace dvnn::test
