// SPDX-License-Identifier: Apache-2.0
#include "evaluate/annotations/annotations.h"

#include <algorithm>
#include <filesystem>

#include "base/format.h"

namespace dvnn::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNameBytes = 1024;
constexpr size_t kMostPictures = size_t{4} << 20;

Result<DataSet> read_as(const std::string& path, Annotations kind) {
  switch (kind) {
    case Annotations::kCoco:
      return read_coco(path);
    case Annotations::kYolo:
      return read_yolo(path);
    case Annotations::kVoc:
      return read_voc(path);
    case Annotations::kFolders:
      return read_class_folders(path);
    case Annotations::kMasks:
      return read_masks(path);
    case Annotations::kTexts:
      return read_texts(path);
    case Annotations::kMot:
      return read_mot(path);
    case Annotations::kFind:
      break;
  }
  return Error{ErrorCode::kInternal, "no form of annotations"};
}

// Returns the only JSON file of a folder and of `annotations` in it.
Result<std::string> only_json(const std::string& folder) {
  std::vector<std::string> files = files_in(folder, ".json");
  for (const std::string& file : files_in(folder + "/annotations", ".json")) files.push_back(file);
  if (files.empty()) {
    return Error{ErrorCode::kNotFound,
                 "'" + folder + "' has no JSON file, nor has 'annotations' in it"};
  }
  if (files.size() == 1) return files[0];
  return invalid_argument(format(
      "'%s' has %zu JSON files, such as '%s' and '%s': name one of them instead of the folder",
      folder.c_str(), files.size(), files[0].c_str(), files[1].c_str()));
}

bool has_yaml(const std::string& folder) {
  return !files_in(folder, ".yaml").empty() || !files_in(folder, ".yml").empty();
}

bool has_class_folders(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) continue;
    for (const auto& file : fs::directory_iterator(entry.path(), error)) {
      if (is_picture_name(file.path().string())) return true;
    }
  }
  return false;
}

// Returns the form of the annotations at a path; kFind: none that is known.
Annotations kind_of(const std::string& path) {
  if (is_file(path)) {
    if (ends_with(path, ".json")) return Annotations::kCoco;
    if (ends_with(path, ".yaml") || ends_with(path, ".yml")) return Annotations::kYolo;
    if (ends_with(path, ".txt")) return Annotations::kTexts;
    return Annotations::kFind;
  }
  if (is_mot(path)) return Annotations::kMot;
  if (only_json(path).ok() || !files_in(path + "/annotations", ".json").empty()) {
    return Annotations::kCoco;
  }
  if (is_folder(path + "/masks")) return Annotations::kMasks;
  if (!texts_file_in(path).empty()) return Annotations::kTexts;
  if (is_folder(path + "/labels") || has_yaml(path)) return Annotations::kYolo;
  if (is_folder(path + "/Annotations") || !files_in(path, ".xml").empty()) return Annotations::kVoc;
  if (!files_in(path, ".txt").empty()) return Annotations::kYolo;
  return has_class_folders(path) ? Annotations::kFolders : Annotations::kFind;
}

}  // namespace

const char* const kAnnotationNames[8] = {"auto",    "coco",  "yolo",  "voc",
                                         "folders", "masks", "texts", "mot"};

const char* annotations_name(Annotations kind) {
  return kAnnotationNames[static_cast<size_t>(kind)];
}

Result<DataSet> read_data_set(const std::string& path, Annotations kind) {
  if (!is_folder(path) && !is_file(path)) {
    return Error{ErrorCode::kNotFound, "'" + path + "' is no folder and no file"};
  }
  if (kind == Annotations::kFind) kind = kind_of(path);
  if (kind == Annotations::kFind) {
    return Error{ErrorCode::kNotFound,
                 "'" + path +
                     "' has no annotations that are known: no JSON file (COCO), no labels/*.txt or "
                     "data.yaml (YOLO), no Annotations/*.xml (Pascal VOC), no masks, no gt.txt "
                     "(texts), no gt/gt.txt (MOT), and no folders of "
                     "pictures (a folder for each class)"};
  }
  std::string file = path;
  if (kind == Annotations::kCoco && is_folder(path)) {
    DVNN_ASSIGN(file, only_json(path));
  }
  DVNN_ASSIGN(DataSet data, read_as(file, kind));
  data.kind = kind;
  if (data.pictures.empty()) {
    return Error{ErrorCode::kNotFound, "'" + path + "' has no pictures"};
  }
  return data;
}

bool is_picture_name(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const char* end :
       {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}) {
    if (ends_with(lower, end)) return true;
  }
  return false;
}

Result<std::vector<std::string>> pictures_below(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) || !is_picture_name(at->path().string())) continue;
    if (!at->is_regular_file(ignored)) {
      return malformed("'" + at->path().string() + "' is not a regular file, or a broken link");
    }
    paths.push_back(at->path().string());
    if (paths.size() > kMostPictures) {
      return too_large(format("'%s' has more than %zu pictures", folder.c_str(), kMostPictures));
    }
  }
  if (error) return Error{ErrorCode::kIo, "'" + folder + "': " + error.message()};
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

std::vector<std::string> files_in(const std::string& folder, const std::string& end) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (ends_with(entry.path().string(), end)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks), end = text.find_last_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::string stem_of(const std::string& path) {
  return fs::path(path).stem().string();
}

Status check_class_name(const std::string& name, const std::string& where) {
  if (!name.empty() && name.size() <= kMostNameBytes && is_printable(name)) return {};
  return malformed(where + ": '" + short_text(name, 80) +
                   "' is no name of a class: a line of text of at most 1024 bytes");
}

}  // namespace dvnn::evaluate
