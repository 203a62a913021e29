// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/confusion.h"
#include "objects/label_file.h"

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

Result<DataSet> read_masks(const std::string& path) {
  namespace fs = std::filesystem;
  DataSet data;
  data.source = path;
  if (is_there(path + "/classes.txt")) {
    DVNN_ASSIGN(data.classes, objects::read_labels(path + "/classes.txt"));
  }
  data.named = !data.classes.empty();
  for (size_t i = 0; !data.named && i < kMostPixelClasses; ++i) {
    data.classes.push_back(format("class %zu", i));
  }
  if (data.classes.size() > kMostPixelClasses) {
    return too_large(format("'%s/classes.txt' has %zu classes; masks have at most %zu",
                            path.c_str(), data.classes.size(), kMostPixelClasses));
  }
  DVNN_ASSIGN(const std::vector<std::string> paths, pictures_below(path + "/images"));
  for (const std::string& at : paths) {
    Picture picture;
    picture.path = at;
    const fs::path within = fs::path(at).lexically_relative(path + "/images");
    picture.mask = (fs::path(path) / "masks" / within).replace_extension(".png").string();
    if (!is_file(picture.mask)) {
      return Error{ErrorCode::kNotFound, "picture '" + at + "' has no mask '" + picture.mask + "'"};
    }
    data.pictures.push_back(std::move(picture));
  }
  return data;
}

}  // namespace dvnn::evaluate
