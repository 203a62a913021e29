// SPDX-License-Identifier: Apache-2.0
#include "record/clip_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/format.h"

namespace dvnn::record {
namespace {

constexpr int64_t kMillion = 1000000, kThousand = 1000;
constexpr std::string_view kPart = ".part", kMatroska = ".mkv", kMp4 = ".mp4", kCues = ".vtt",
                           kPicture = ".jpg";

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::string stamp(int64_t utc_ns) {
  const int64_t ms = std::max<int64_t>(utc_ns, 0) / kMillion;
  const time_t seconds = static_cast<time_t>(ms / kThousand);
  struct tm parts {};
  gmtime_r(&seconds, &parts);
  return format("%04d%02d%02dT%02d%02d%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(ms % kThousand));
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Reads "20261128T135737.123Z"; only what stamp() writes is one.
bool parse_stamp(const std::string& text, int64_t* utc_ns) {
  struct tm parts {};
  int ms = 0;
  if (std::sscanf(text.c_str(), "%4d%2d%2dT%2d%2d%2d.%3dZ", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms) != 7) {
    return false;
  }
  // Nanoseconds since 1970 end in 2262.
  constexpr int kFirstYear = 1970, kLastYear = 2261;
  if (parts.tm_year < kFirstYear || parts.tm_year > kLastYear) return false;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  *utc_ns = (static_cast<int64_t>(timegm(&parts)) * kThousand + ms) * kMillion;
  return stamp(*utc_ns) == text;
}

// Removes a clip's ending and, if it is one, what marks a part.
bool cut_ending(std::string_view* name, bool* part) {
  for (const std::string_view ending : {kMatroska, kMp4, kPicture, kCues}) {
    if (!ends_with(*name, ending)) continue;
    name->remove_suffix(ending.size());
    *part = ends_with(*name, kPart);
    if (*part) name->remove_suffix(kPart.size());
    return true;
  }
  return false;
}

Error folder_error(const std::string& path) {
  return Error{ErrorCode::kIo, "'" + path + "': " + std::strerror(errno)};
}

}  // namespace

bool is_clip_name(const std::string& name, int64_t* utc_ns, bool* part) {
  std::string_view rest = name;
  if (!cut_ending(&rest, part)) return false;
  const size_t dash = rest.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return false;
  std::string_view stem = rest;
  // A second clip of the same millisecond has a number at its end.
  const std::string_view number = rest.substr(dash + 1);
  const bool numbered = !number.empty() && number.size() <= 3 &&
                        number.find_first_not_of("0123456789") == std::string_view::npos;
  if (numbered) stem = rest.substr(0, dash);
  const size_t begin = stem.rfind('-');
  if (begin == std::string_view::npos || begin == 0) return false;
  return parse_stamp(std::string(stem.substr(begin + 1)), utc_ns);
}

Result<std::shared_ptr<ClipFolder>> ClipFolder::open(const std::string& path) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::pair<dev_t, ino_t>, std::weak_ptr<ClipFolder>>();
  DVNN_TRY(check_folder(path));
  // A link to a folder is one that its owner has set up.
  DVNN_ASSIGN(File folder, open_folder(path + "/."));
  struct stat facts {};
  if (fstat(folder.fd(), &facts) != 0) return folder_error(path);
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<ClipFolder>& slot = (*known)[{facts.st_dev, facts.st_ino}];
  std::shared_ptr<ClipFolder> shared = slot.lock();
  if (!shared) {
    shared.reset(new ClipFolder(path, std::move(folder)));
    slot = shared;
  }
  return shared;
}

std::vector<ClipFolder::Entry> ClipFolder::entries() const {
  std::vector<Entry> all;
  const int fd = dup(folder_.fd());
  const std::unique_ptr<DIR, CloseFolder> folder(fd >= 0 ? fdopendir(fd) : nullptr);
  if (!folder) {
    if (fd >= 0) close(fd);
    return all;
  }
  rewinddir(folder.get());
  while (const dirent* at = readdir(folder.get())) {
    Entry entry;
    entry.name = at->d_name;
    if (!is_clip_name(entry.name, &entry.utc_ns, &entry.part)) continue;
    struct stat facts {};
    if (fstatat(folder_.fd(), at->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(facts.st_mode)) continue;
    entry.bytes = static_cast<uint64_t>(facts.st_size);
    all.push_back(std::move(entry));
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.utc_ns, a.name) < std::tie(b.utc_ns, b.name);
  });
  return all;
}

std::vector<std::string> ClipFolder::recover(int64_t now_utc_ns) {
  // A younger file may be one that another process has created and not locked yet.
  constexpr int64_t kYoung = 10 * kThousand * kMillion;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> found;
  for (const Entry& entry : entries()) {
    if (!entry.part || (entry.bytes == 0 && entry.utc_ns > now_utc_ns - kYoung)) continue;
    const File file = open_own(folder_, entry.name, O_RDONLY);
    if (!file || flock(file.fd(), LOCK_EX | LOCK_NB) != 0) continue;
    std::string name = entry.name;
    name.erase(name.rfind(kPart), kPart.size());
    const bool empty = entry.bytes == 0;
    if (empty) unlinkat(folder_.fd(), entry.name.c_str(), 0);
    if (empty || renameat(folder_.fd(), entry.name.c_str(), folder_.fd(), name.c_str()) != 0) {
      continue;
    }
    if (!ends_with(name, kCues)) found.push_back(path_ + "/" + name);
  }
  return found;
}

// A disk that is changed, or a folder that is removed and made again: nothing can be created in
// what is open.
void ClipFolder::look_again() {
  struct stat facts {};
  if (fstat(folder_.fd(), &facts) == 0 && facts.st_nlink > 0) return;
  auto folder = open_folder(path_ + "/.");
  if (folder.ok()) folder_ = std::move(folder.value());
}

Result<ClipFile> ClipFolder::create(const std::string& stream, int64_t utc_ns,
                                    const std::string& extension) {
  constexpr int kMostAlike = 999;
  const std::lock_guard<std::mutex> lock(mutex_);
  look_again();
  ClipFile clip;
  clip.extension = extension;
  for (int i = 1; i <= kMostAlike; ++i) {
    clip.stem = stream + "-" + stamp(utc_ns) + (i > 1 ? format("-%d", i) : "");
    struct stat facts {};
    if (fstatat(folder_.fd(), (clip.stem + "." + extension).c_str(), &facts, 0) == 0) continue;
    const std::string name = clip.stem + std::string(kPart) + "." + extension;
    clip.file = open_own(folder_, name, O_RDWR | O_CREAT | O_EXCL);
    if (clip.file) {
      (void)flock(clip.file.fd(), LOCK_EX | LOCK_NB);
      return clip;
    }
    if (errno != EEXIST) return folder_error(path_ + "/" + name);
  }
  return Error{ErrorCode::kLimit, "'" + path_ + "' has too many clips of one moment: " + clip.stem};
}

// Removes the oldest clips until `reserved` bytes are free.
bool ClipFolder::make_room(uint64_t reserved, const Quota& quota, int64_t now_utc_ns) {
  if (quota.bytes == 0 && quota.age_ns == 0) return true;
  const std::vector<Entry> all = entries();
  uint64_t total = reserved;
  for (const Entry& entry : all) total += entry.bytes;
  for (const Entry& entry : all) {
    const bool too_old = quota.age_ns > 0 && entry.utc_ns < now_utc_ns - quota.age_ns;
    const bool too_much = quota.bytes > 0 && total > quota.bytes;
    if (entry.part || !(too_old || too_much)) continue;
    if (unlinkat(folder_.fd(), entry.name.c_str(), 0) != 0) continue;
    total -= entry.bytes;
    if (!ends_with(entry.name, kPicture) && !ends_with(entry.name, kCues)) ++removed_;
  }
  return quota.bytes == 0 || total <= quota.bytes;
}

bool ClipFolder::reserve(ClipFile* file, uint64_t bytes, const Quota& quota, int64_t now_utc_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ += bytes - file->reserved;
  file->reserved = bytes;
  return make_room(reserved_, quota, now_utc_ns);
}

Status ClipFolder::create_cues(ClipFile* clip) {
  const std::string name = clip->stem + std::string(kPart) + std::string(kCues);
  clip->cues = open_own(folder_, name, O_RDWR | O_CREAT | O_TRUNC);
  if (!clip->cues) return folder_error(path_ + "/" + name);
  (void)flock(clip->cues.fd(), LOCK_EX | LOCK_NB);
  return {};
}

// While it is locked, nobody else renames it.
Status ClipFolder::rename_part(const std::string& stem, const std::string& extension) {
  const std::string name = stem + "." + extension,
                    part = stem + std::string(kPart) + "." + extension;
  if (renameat(folder_.fd(), part.c_str(), folder_.fd(), name.c_str()) == 0) return {};
  return folder_error(path_ + "/" + part);
}

Result<std::string> ClipFolder::finish(ClipFile clip) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= clip.reserved;
  const std::string name = clip.stem + "." + clip.extension;
  DVNN_TRY(rename_part(clip.stem, clip.extension));
  if (clip.cues) DVNN_TRY(rename_part(clip.stem, "vtt"));
  if (!clip.file.close()) return folder_error(path_ + "/" + name);
  return path_ + "/" + name;
}

void ClipFolder::discard(ClipFile clip) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= clip.reserved;
  const std::string part = clip.stem + std::string(kPart);
  unlinkat(folder_.fd(), (part + "." + clip.extension).c_str(), 0);
  if (clip.cues) unlinkat(folder_.fd(), (part + std::string(kCues)).c_str(), 0);
}

void ClipFolder::tidy(const Quota& quota, int64_t now_utc_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (void)make_room(reserved_, quota, now_utc_ns);
}

std::string ClipFolder::path_of(const ClipFile& file, bool part) const {
  return path_ + "/" + file.stem + (part ? std::string(kPart) : "") + "." + file.extension;
}

std::string ClipFolder::picture_of(const ClipFile& file) const {
  return path_ + "/" + file.stem + ".jpg";
}

uint64_t ClipFolder::removed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return removed_;
}

}  // namespace dvnn::record
