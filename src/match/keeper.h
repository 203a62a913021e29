// SPDX-License-Identifier: Apache-2.0
// Keeps a gallery and the strangers, in memory and in their files: reads the gallery's file again
// when it is replaced, writes what has changed, and exchanges changes with other galleries. Any
// thread may call it. A thread of its own looks at the files.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "match/gallery.h"
#include "match/strangers.h"

namespace dvnn::match {

struct KeeperSettings {
  std::string gallery_file;        // empty: the gallery is in memory only
  std::string strangers_location;  // empty: strangers are forgotten at the end
  StrangerBounds strangers;
  bool shared = false;  // changes are told, and forgotten people leave a note
};

enum class Notice { kLoaded, kProblem };

/// Most vectors that enrol() keeps of a person; the oldest go.
constexpr size_t kMostEnrolled = 16;

class Keeper {
 public:
  /// From any thread: the gallery was read, or others have changed it; or a file cannot be read or
  /// written. It must not call the keeper but for gallery().
  using Tell = std::function<void(Notice what, const std::string& text)>;
  /// A change that other galleries should hear of; an empty line: nobody needs it any more.
  using Share = std::function<void(const std::string& id, const std::string& line)>;
  /// Milliseconds since 1970.
  using Wall = std::function<int64_t()>;

  explicit Keeper(Tell tell, Share share = {}, const Clock& clock = Clock::steady(),
                  Wall wall = wall_clock);
  ~Keeper() { close(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  static int64_t wall_clock();

  /// Reads the files and starts the thread. A file of strangers that does not exist is empty.
  Status open(const KeeperSettings& settings);
  /// Ends the thread, and writes what is not written.
  void close();
  /// Turns to another file, while it runs. The thread reads it soon; if it cannot, the old gallery
  /// stays, with a notice.
  void use_gallery_file(const std::string& path);
  void set_bounds(const StrangerBounds& bounds);

  std::shared_ptr<const Gallery> gallery() const;
  /// Returns a number that grows whenever somebody is named or forgotten.
  uint64_t changes() const { return changes_; }
  size_t stranger_count() const;

  /// Finds or makes a stranger; none if its vector has another length than theirs.
  std::optional<Strangers::Sight> see_stranger(const std::vector<float>& unit, double threshold);
  bool has_stranger(uint64_t number) const;
  /// Adds a vector of unit length to a person, who may be new, and writes the file. `stranger`, if
  /// not 0, has a name now, and is no stranger any more.
  Status enrol(const std::string& name, const std::vector<float>& unit, uint64_t stranger);
  /// Forgets a person, in memory and in the file. Returns whether there was one.
  Result<bool> forget(const std::string& name);
  Result<bool> forget_stranger(uint64_t number);
  /// Forgets strangers that were not seen for that long; 0: all of them. Returns how many.
  Result<size_t> forget_strangers(int64_t not_seen_for_ms);

  /// Takes what another gallery tells; the thread looks at it soon. A line that is none is dropped,
  /// with a notice.
  void take(std::string id, std::string line);
  /// Returns everything that other galleries should know, by id, with its version.
  struct Shared {
    std::string id, line;
    int64_t version = 0;
  };
  std::vector<Shared> all_shared() const;

 private:
  // What says that a file is another one, or has other contents.
  struct Mark {
    uint64_t device = 0, file = 0, size = 0;
    int64_t time = 0;
    bool operator==(const Mark& other) const {
      return device == other.device && file == other.file && size == other.size &&
             time == other.time;
    }
  };
  static std::optional<Mark> mark_of(const std::string& path);

  void run();
  void look();  // once, at files and what came
  void reload();
  void take_inbox();
  void drop_old_strangers();
  bool take_named(const Entry& entry, Gallery* gallery, size_t* numbers);
  bool take_stranger(const std::string& id, Entry entry);
  void write_later();
  void set_gallery(Gallery gallery);
  Status write(const Gallery& gallery);
  Status write_strangers();
  void share(const std::string& id, const std::string& line) const {
    if (share_) share_(id, line);
  }
  void tell(Notice what, const std::string& text);
  int64_t next_version(int64_t than) const { return std::max(than + 1, wall_()); }

  const Tell tell_;
  const Share share_;
  const Clock& clock_;
  const Wall wall_;
  std::atomic<uint64_t> changes_{1};
  std::thread thread_;

  // Files are read and written by one at a time. Before mutex_.
  std::mutex files_;
  KeeperSettings settings_;
  std::optional<Mark> mark_;
  std::string told_;  // the last problem
  bool gallery_unwritten_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const Gallery> gallery_ = std::make_shared<const Gallery>();
  Strangers strangers_;
  bool strangers_unwritten_ = false, stopping_ = false, called_ = false;
  std::vector<std::pair<std::string, std::string>> inbox_;
  size_t inbox_bytes_ = 0, lost_entries_ = 0;
};

}  // namespace dvnn::match
