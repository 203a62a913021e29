// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "evaluate/annotations/annotations.h"

namespace dvnn::evaluate {

Result<DataSet> read_class_folders(const std::string& path) {
  DataSet data;
  data.source = path;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_directory(error)) data.classes.push_back(entry.path().filename().string());
  }
  std::sort(data.classes.begin(), data.classes.end());
  for (size_t i = 0; i < data.classes.size(); ++i) {
    DVNN_TRY(check_class_name(data.classes[i], "'" + path + "'"));
    DVNN_ASSIGN(const std::vector<std::string> paths, pictures_below(path + "/" + data.classes[i]));
    for (const std::string& at : paths) {
      Picture picture;
      picture.path = at;
      picture.class_id = static_cast<int>(i);
      data.pictures.push_back(std::move(picture));
    }
  }
  return data;
}

}  // namespace dvnn::evaluate
