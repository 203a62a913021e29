// SPDX-License-Identifier: Apache-2.0
// A folder of clips, kept within a quota. A clip is STREAM-20261128T135737.123Z.mkv, by the time of
// its first frame in UTC; its picture has the same name and ends in .jpg, and a file of cues beside
// it ends in .vtt. While they are written their names end in .part.mkv, and they are locked: a lock
// ends with its process, so that another one knows what a crash has left. Files with other names
// are nobody's business.
//
// Any thread may call. The folder is one object in a process, shared by all who write to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace dvnn::record {

/// Bounds of a folder; 0: none. The age is that of the clip's first frame.
struct Quota {
  uint64_t bytes = 0;
  int64_t age_ns = 0;
};

/// A file that is being written.
struct ClipFile {
  File file;
  std::string stem;       // of its name
  std::string extension;  // "mkv"
  File cues;              // beside it, if it has one
  uint64_t reserved = 0;  // bytes that it may still grow by
};

class ClipFolder {
 public:
  /// Returns the process's object for a folder, which has to exist.
  static Result<std::shared_ptr<ClipFolder>> open(const std::string& path);

  /// Renames what a crash has left, since its clips can be played. Returns their paths.
  std::vector<std::string> recover(int64_t now_utc_ns);
  /// Creates the file of a clip that begins at `utc_ns` (since 1970). `stream` is a part of a path.
  /// If the folder was removed, the one that has its path now is the folder from then on.
  Result<ClipFile> create(const std::string& stream, int64_t utc_ns, const std::string& extension);
  /// Makes room in the quota for `bytes` that the file will grow by; the oldest clips go, never one
  /// that is being written. Returns false if there is no room although no clip is left.
  bool reserve(ClipFile* file, uint64_t bytes, const Quota& quota, int64_t now_utc_ns);
  /// Creates the file of cues beside a clip that is being written.
  Status create_cues(ClipFile* clip);
  /// Closes the file, gives it its name and returns its path.
  Result<std::string> finish(ClipFile file);
  /// Removes the file, and that beside it.
  void discard(ClipFile file);
  /// Removes clips that are too old, or too many.
  void tidy(const Quota& quota, int64_t now_utc_ns);

  std::string path_of(const ClipFile& file, bool part) const;
  std::string picture_of(const ClipFile& file) const;
  /// Returns the number of clips that were removed so far.
  uint64_t removed() const;

 private:
  struct Entry {
    std::string name;
    int64_t utc_ns = 0;
    uint64_t bytes = 0;
    bool part = false;
  };
  void look_again();
  explicit ClipFolder(std::string path, File folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  Status rename_part(const std::string& stem, const std::string& extension);
  std::vector<Entry> entries() const;
  bool make_room(uint64_t reserved, const Quota& quota, int64_t now_utc_ns);

  const std::string path_;
  File folder_;
  mutable std::mutex mutex_;
  uint64_t reserved_ = 0;  // of all files
  uint64_t removed_ = 0;
};

/// Returns whether a file's name is that of a clip, its part, its picture or its cues, and when its
/// clip began.
bool is_clip_name(const std::string& name, int64_t* utc_ns, bool* part);

}  // namespace dvnn::record
