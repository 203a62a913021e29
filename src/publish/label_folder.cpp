// SPDX-License-Identifier: Apache-2.0
#include "publish/label_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "objects/label_file.h"
#include "publish/pictures.h"

namespace dvnn::publish {
namespace {

namespace fs = std::filesystem;

const char* const kClasses = "classes.txt";
constexpr uint64_t kMostClassesBytes = 4 << 20;
constexpr size_t kMostClasses = 8192;
constexpr size_t kMostLabelBytes = 120;  // so that all of them are a file that can be read

Status make_folder(const std::string& path) {
  std::error_code failed;
  fs::create_directory(path, failed);
  return check_folder(path);
}

// Adds up the files of a folder. A file that disappears meanwhile does not count.
Status count_files(const std::string& path, uint64_t* files, uint64_t* bytes) {
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const auto size = at->file_size(gone);
    if (gone) continue;
    ++*files;
    *bytes += size;
  }
  if (failed) return Error{ErrorCode::kIo, "'" + path + "': " + failed.message()};
  return {};
}

// Returns the line of a box without its class; empty if nothing of the box is in the picture.
std::string line_of(const image::Corners& box, const image::Corners& seen) {
  const double x0 = std::clamp(box.x0, seen.x0, seen.x1), x1 = std::clamp(box.x1, seen.x0, seen.x1);
  const double y0 = std::clamp(box.y0, seen.y0, seen.y1), y1 = std::clamp(box.y1, seen.y0, seen.y1);
  if (!(x1 > x0 && y1 > y0)) return "";
  const double width = seen.x1 - seen.x0, height = seen.y1 - seen.y0;
  return format(" %.6f %.6f %.6f %.6f\n", ((x0 + x1) / 2 - seen.x0) / width,
                ((y0 + y1) / 2 - seen.y0) / height, (x1 - x0) / width, (y1 - y0) / height);
}

// Opens the file of classes for adding to it. A link would lead the labels of a network into
// another file.
Result<File> open_classes(const std::string& folder, bool may_be_new) {
  DVNN_ASSIGN(const File at, open_folder(folder + "/."));
  File file = open_own(at, kClasses, O_WRONLY | O_APPEND | (may_be_new ? O_CREAT : 0));
  if (file) return file;
  const int code = errno;
  return Error{code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
               "'" + folder + "/" + kClasses + "' cannot be added to: " + std::strerror(code) +
                   "; it has to be a file of this user, and no link"};
}

Status append(const std::string& folder, const std::string& text) {
  DVNN_ASSIGN(File file, open_classes(folder, true));
  const Status status = write_all(file.fd(), text.data(), text.size());
  const std::string path = "'" + folder + "/" + kClasses + "'";
  if (!status.ok()) return status.error().within(path);
  if (!file.close()) return Error{ErrorCode::kIo, path + " cannot be written"};
  return {};
}

}  // namespace

Result<LabelFolder> LabelFolder::open(const std::string& path, const Bounds& bounds) {
  LabelFolder folder;
  folder.path_ = path;
  folder.bounds_ = bounds;
  DVNN_TRY(check_folder(path));
  DVNN_TRY(make_folder(path + "/images"));
  DVNN_TRY(make_folder(path + "/labels"));
  uint64_t labels = 0;
  DVNN_TRY(count_files(path + "/images", &folder.pictures_, &folder.bytes_));
  DVNN_TRY(count_files(path + "/labels", &labels, &folder.bytes_));
  const auto classes = open_classes(path, false);
  if (classes.ok()) {
    DVNN_ASSIGN(folder.classes_, objects::read_labels(path + "/" + kClasses));
  } else if (classes.error().code != ErrorCode::kNotFound) {
    return classes.error();
  }
  return folder;
}

std::string LabelFolder::why_full() const {
  if (!full_ && pictures_ < bounds_.most_pictures && bytes_ < bounds_.most_bytes) return "";
  return format("'%s' has %llu pictures and %.1f MiB: no more are collected", path_.c_str(),
                static_cast<unsigned long long>(pictures_),
                static_cast<double>(bytes_) / (1 << 20));
}

// Returns the index of a class, which is added to classes.txt if it is new.
Result<size_t> LabelFolder::class_of(const std::string& label) {
  const auto found = std::find(classes_.begin(), classes_.end(), label);
  if (found != classes_.end()) return static_cast<size_t>(found - classes_.begin());
  const std::string path = path_ + "/" + kClasses;
  if (classes_.size() >= kMostClasses) {
    return too_large(format("'%s' has %zu classes, and '%s' would be one more", path.c_str(),
                            classes_.size(), label.c_str()));
  }
  // The last line that somebody else has written may have no end.
  bool open_line = false;
  if (!classes_.empty()) {
    DVNN_ASSIGN(const std::string text, read_file(path, kMostClassesBytes));
    open_line = !text.empty() && text.back() != '\n';
  }
  DVNN_TRY(append(path_, (open_line ? "\n" : "") + label + "\n"));
  classes_.push_back(label);
  bytes_ += label.size() + 1;
  return classes_.size() - 1;
}

Result<bool> LabelFolder::add(LabelledPicture picture, const std::string& name) {
  if (!why_full().empty()) return false;
  DVNN_TRY(encode_picture(&picture.picture));
  const image::Corners seen = picture.picture.box.value_or(
      image::Corners{0, 0, double(picture.picture.width), double(picture.picture.height)});
  std::string lines;
  for (const LabelledBox& box : picture.boxes) {
    const std::string line = line_of(box.corners, seen);
    if (line.empty()) continue;
    DVNN_ASSIGN(const size_t index, class_of(short_text(box.label, kMostLabelBytes)));
    lines += format("%zu", index) + line;
  }
  const uint64_t bytes = picture.picture.jpeg.size() + lines.size();
  if (bytes_ + bytes > bounds_.most_bytes) {
    full_ = true;
    return false;
  }
  // A picture without labels would count as one that shows nothing, so it comes last, and whole.
  const std::string labels = path_ + "/labels/" + name + ".txt";
  Status written = write_file(labels, lines);
  if (written.ok()) {
    written = replace_file(path_ + "/images/" + name + ".jpg", {picture.picture.jpeg});
  }
  if (!written.ok()) {
    // On a full disk, what is left of a picture would only fill it more.
    std::error_code failed;
    fs::remove(labels, failed);
    return written.error();
  }
  ++pictures_;
  bytes_ += bytes;
  return true;
}

}  // namespace dvnn::publish
