// SPDX-License-Identifier: Apache-2.0
// Data sets in which names say most: folders of classes, masks beside pictures, and lists of
// pictures with a text each.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/format.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/confusion.h"
#include "objects/label_file.h"

namespace dvnn::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostTextsBytes = 256 << 20;
constexpr size_t kMostTextBytes = 4096;

// Splits "picture<TAB>text" (PaddleOCR) or "picture, "text"" (ICDAR's challenges). Returns false if
// the line is neither.
bool split(const std::string& line, std::string* name, std::string* text) {
  const size_t tab = line.find('\t');
  if (tab != std::string::npos) {
    *name = line.substr(0, tab);
    *text = line.substr(tab + 1);
    return true;
  }
  const size_t quote = line.find(", \"");
  if (quote == std::string::npos || line.size() < quote + 4 || line.back() != '"') return false;
  *name = line.substr(0, quote);
  *text = line.substr(quote + 3, line.size() - quote - 4);
  // A quotation mark in the text has a backslash before it.
  for (size_t at = text->find("\\\""); at != std::string::npos; at = text->find("\\\"", at + 1)) {
    text->erase(at, 1);
  }
  return true;
}

Result<Picture> read_text_line(const std::string& line, const std::string& where,
                               const std::string& folder) {
  Picture picture;
  std::string name;
  if (!split(line, &name, &picture.text)) {
    return malformed(where + ": '" + short_text(line, 80) +
                     "' is not the name of a picture, a tab and its text");
  }
  if (!is_printable(picture.text) || picture.text.size() > kMostTextBytes) {
    return malformed(where + ": the text is not a line of at most 4096 bytes of UTF-8");
  }
  picture.path = (fs::path(folder) / name).lexically_normal().string();
  if (!is_file(picture.path)) {
    return Error{ErrorCode::kNotFound,
                 where + ": picture '" + short_text(picture.path, 400) + "' is missing"};
  }
  return picture;
}

}  // namespace

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

std::string texts_file_in(const std::string& folder) {
  for (const char* name : {"rec_gt.txt", "gt.txt", "texts.txt"}) {
    if (is_file(folder + "/" + name)) return folder + "/" + name;
  }
  return "";
}

Result<DataSet> read_texts(const std::string& path) {
  const std::string file = is_folder(path) ? texts_file_in(path) : path;
  if (file.empty()) {
    return Error{ErrorCode::kNotFound,
                 "'" + path + "' has none of rec_gt.txt, gt.txt and texts.txt"};
  }
  const std::string folder = fs::path(file).parent_path().string();
  DVNN_ASSIGN(std::string text, read_file(file, kMostTextsBytes));
  static const std::string kByteOrderMark = "\xef\xbb\xbf";  // ICDAR's files begin with it
  if (starts_with(text, kByteOrderMark.c_str())) text.erase(0, kByteOrderMark.size());
  DataSet data;
  data.source = path;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (trimmed(line).empty()) continue;
    DVNN_ASSIGN(Picture picture,
                read_text_line(line, format("'%s', line %zu", file.c_str(), number), folder));
    data.pictures.push_back(std::move(picture));
  }
  return data;
}

}  // namespace dvnn::evaluate
