// SPDX-License-Identifier: Apache-2.0
#include "match/keeper.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "match/gallery.h"

namespace dvnn::match {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};

// Adds a vector to a person, and drops the oldest ones beyond the bound.
void add_vector(const std::vector<float>& unit, Person* person) {
  std::vector<float>& all = person->vectors;
  const size_t most = (kMostEnrolled - 1) * unit.size();
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  all.insert(all.end(), unit.begin(), unit.end());
}

Result<Gallery> read_names(const std::string& path) {
  if (path.empty()) return Gallery();
  return read_gallery(path, false);
}

// One that is not there is empty, and will be written.
Result<Gallery> read_strangers(const std::string& path) {
  struct stat facts {};
  if (path.empty()) return Gallery();
  if (stat(path.c_str(), &facts) == 0 || errno != ENOENT) return read_gallery(path, true);
  const std::string folder = folder_name(path);
  DVNN_TRY(check_folder(folder.empty() ? "." : folder));
  return Gallery();
}

}  // namespace

Keeper::Keeper(Tell tell, Share share, const Clock& clock, Wall wall)
    : tell_(std::move(tell)), share_(std::move(share)), clock_(clock), wall_(std::move(wall)) {}

int64_t Keeper::wall_clock() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::optional<Keeper::Mark> Keeper::mark_of(const std::string& path) {
  struct stat facts {};
  if (path.empty() || stat(path.c_str(), &facts) != 0) return std::nullopt;
  constexpr int64_t kSecond = 1000000000;
  return Mark{facts.st_dev, facts.st_ino, static_cast<uint64_t>(facts.st_size),
              facts.st_mtim.tv_sec * kSecond + facts.st_mtim.tv_nsec};
}

// --- states ------------------------------------------------------------------------------------

Status Keeper::open(const KeeperSettings& settings) {
  close();
  {
    const std::lock_guard<std::mutex> files(files_);
    settings_ = settings;
    gallery_unwritten_ = false;
    told_.clear();
    mark_ = mark_of(settings.gallery_file);
    DVNN_ASSIGN(Gallery gallery, read_names(settings.gallery_file));
    DVNN_ASSIGN(Gallery strangers, read_strangers(settings.strangers_location));
    set_gallery(std::move(gallery));
    const std::lock_guard<std::mutex> lock(mutex_);
    strangers_.set(std::move(strangers));
    strangers_.set_bounds(settings.strangers);
    strangers_unwritten_ = stopping_ = called_ = false;
    inbox_.clear();
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

void Keeper::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  look();
}

void Keeper::use_gallery_file(const std::string& path) {
  {
    const std::lock_guard<std::mutex> files(files_);
    if (settings_.gallery_file == path) return;
    settings_.gallery_file = path;
    mark_.reset();
    told_.clear();
    gallery_unwritten_ = false;
    if (path.empty()) set_gallery({});
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  called_ = true;
  changed_.notify_all();
}

void Keeper::set_bounds(const StrangerBounds& bounds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  strangers_.set_bounds(bounds);
}

// --- the thread --------------------------------------------------------------------------------

void Keeper::run() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      clock_.wait_until(&changed_, &lock, clock_.now() + kLookEvery,
                        [&] { return stopping_ || called_; });
      if (stopping_) return;
      called_ = false;
    }
    look();
  }
}

void Keeper::look() {
  const std::lock_guard<std::mutex> files(files_);
  drop_old_strangers();
  reload();
  take_inbox();
  write_later();
}

void Keeper::tell(Notice what, const std::string& text) {
  if (what == Notice::kProblem && text == std::exchange(told_, text)) return;
  if (what == Notice::kLoaded) told_.clear();
  tell_(what, text);
}

// Reads the gallery's file if it is another one than before. With the files' lock.
void Keeper::reload() {
  if (settings_.gallery_file.empty()) return;
  const std::optional<Mark> now = mark_of(settings_.gallery_file);
  if (now == mark_) {
    if (!now && !gallery()->people.empty() && !gallery_unwritten_) {
      tell(Notice::kProblem,
           "'" + settings_.gallery_file + "' is not there: the gallery stays as it was read last");
    }
    return;
  }
  mark_ = now;
  if (!now) return reload();
  auto read = read_gallery(settings_.gallery_file, false);
  if (!read.ok()) {
    return tell(Notice::kProblem, read.error().message + "; the gallery stays as it was");
  }
  const size_t people = read.value().people.size();
  set_gallery(std::move(read.value()));
  gallery_unwritten_ = false;
  tell(Notice::kLoaded,
       "'" + settings_.gallery_file + "' has " + std::to_string(people) + " people");
}

// Writes what has changed without being asked. With the files' lock.
void Keeper::write_later() {
  if (gallery_unwritten_ && !settings_.gallery_file.empty()) {
    const Status written = write(*gallery());
    if (written.ok()) {
      gallery_unwritten_ = false;
    } else {
      tell(Notice::kProblem, written.error().message);
    }
  }
  if (const Status written = write_strangers(); !written.ok()) {
    tell(Notice::kProblem, written.error().message);
  }
}

Status Keeper::write(const Gallery& gallery) {
  if (settings_.gallery_file.empty()) return {};
  DVNN_TRY(write_gallery(gallery, settings_.gallery_file));
  mark_ = mark_of(settings_.gallery_file);
  return {};
}

Status Keeper::write_strangers() {
  Gallery copy;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!strangers_unwritten_) return {};
    strangers_unwritten_ = false;
    if (settings_.strangers_location.empty()) return {};
    copy = strangers_.all();
  }
  Status written = write_gallery(copy, settings_.strangers_location);
  if (!written.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    strangers_unwritten_ = true;
  }
  return written;
}

void Keeper::set_gallery(Gallery gallery) {
  auto shared = std::make_shared<const Gallery>(std::move(gallery));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    gallery_.swap(shared);
  }
  ++changes_;
}

std::shared_ptr<const Gallery> Keeper::gallery() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return gallery_;
}

size_t Keeper::stranger_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return strangers_.all().people.size();
}

// Forgets strangers by their age, also while nobody comes.
void Keeper::drop_old_strangers() {
  std::vector<std::string> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    strangers_.trim(wall_());
    dropped = strangers_.take_dropped();
    if (!dropped.empty()) strangers_unwritten_ = true;
  }
  if (dropped.empty()) return;
  ++changes_;
  for (const std::string& id : dropped) share(id, "");
}

// --- strangers ---------------------------------------------------------------------------------

std::optional<Strangers::Sight> Keeper::see_stranger(const std::vector<float>& unit,
                                                     double threshold) {
  Strangers::Sight sight;
  std::string id, line;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Gallery& all = strangers_.all();
    if (!all.people.empty() && all.length != unit.size()) return std::nullopt;
    sight = strangers_.see(unit, wall_(), threshold);
    strangers_unwritten_ = true;
    if (sight.told && share_) {
      const Person* person = strangers_.find(sight.number);
      id = id_of(*person);
      line = entry_text(*person, all.length);
    }
  }
  if (!id.empty()) share(id, line);
  return sight;
}

bool Keeper::has_stranger(uint64_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return strangers_.find(number) != nullptr;
}

Result<bool> Keeper::forget_stranger(uint64_t number) {
  const std::lock_guard<std::mutex> files(files_);
  std::optional<Forgotten> note;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Person* person = strangers_.find(number);
    if (!person) return false;
    if (settings_.shared) note = Forgotten{id_of(*person), next_version(person->version)};
    strangers_.forget(number);
    if (note) strangers_.note(*note);
    strangers_unwritten_ = true;
  }
  ++changes_;
  if (note) share(note->id, entry_text(*note));
  DVNN_TRY(write_strangers());
  return true;
}

Result<size_t> Keeper::forget_strangers(int64_t not_seen_for_ms) {
  std::vector<uint64_t> old;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t before = wall_() - not_seen_for_ms;
    for (const Person& person : strangers_.all().people) {
      if (not_seen_for_ms <= 0 || person.last < before) old.push_back(person.stranger);
    }
  }
  size_t count = 0;
  for (const uint64_t number : old) {
    DVNN_ASSIGN(const bool forgotten, forget_stranger(number));
    count += forgotten ? 1 : 0;
  }
  return count;
}

// --- names -------------------------------------------------------------------------------------

Status Keeper::enrol(const std::string& name, const std::vector<float>& unit, uint64_t stranger) {
  DVNN_TRY(check_name(name));
  {
    const std::lock_guard<std::mutex> files(files_);
    reload();
    Gallery next = *gallery();
    if (next.people.empty()) next.length = unit.size();
    if (next.length != unit.size()) {
      return invalid_argument(
          format("'%s' cannot be enrolled: the embedding has %zu numbers, the gallery's have %zu",
                 name.c_str(), unit.size(), next.length));
    }
    Person* person = next.find(name);
    if (!person) {
      if (next.people.size() >= kMostPeople) {
        return too_large(format("the gallery has %zu people already", kMostPeople));
      }
      next.people.emplace_back();
      person = &next.people.back();
      person->name = name;
    }
    add_vector(unit, person);
    const std::string id = id_of(*person);
    person->version = next_version(std::max(person->version, noted(id, next.forgotten)));
    drop_note(id, &next.forgotten);
    DVNN_TRY(write(next));
    gallery_unwritten_ = false;
    const std::string line = share_ ? entry_text(*person, next.length) : "";
    set_gallery(std::move(next));
    share(id, line);
  }
  if (stranger != 0) {
    auto forgotten = forget_stranger(stranger);
    if (!forgotten.ok()) return forgotten.take_failure();
  }
  return {};
}

Result<bool> Keeper::forget(const std::string& name) {
  const std::lock_guard<std::mutex> files(files_);
  reload();
  Gallery next = *gallery();
  const Person* person = next.find(name);
  if (!person) return false;
  const Forgotten note{id_of(*person), next_version(person->version)};
  next.people.erase(next.people.begin() + (person - next.people.data()));
  if (settings_.shared) add_note(note, &next.forgotten);
  DVNN_TRY(write(next));
  gallery_unwritten_ = false;
  set_gallery(std::move(next));
  if (settings_.shared) share(note.id, entry_text(note));
  return true;
}

}  // namespace dvnn::match
