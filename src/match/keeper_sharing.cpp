// SPDX-License-Identifier: Apache-2.0
// What a keeper exchanges with other galleries. Of two lines of one person, or of a line and the
// note that it was forgotten, the one with the larger version counts, so all come to the same end
// in whatever order they hear of them.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "match/gallery.h"
#include "match/keeper.h"

namespace dvnn::match {
namespace {

constexpr size_t kMostInbox = 2 * kMostPeople;

}  // namespace

void Keeper::take(std::string id, std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (inbox_.size() >= kMostInbox || inbox_bytes_ + line.size() > kMostGalleryBytes) {
    ++lost_entries_;
    return;
  }
  inbox_bytes_ += line.size();
  inbox_.emplace_back(std::move(id), std::move(line));
  called_ = true;
  changed_.notify_all();
}

// Takes an entry of a named person, or a note of one, if it is newer. Returns whether it is.
// `numbers` counts those of all vectors.
bool Keeper::take_named(const Entry& entry, Gallery* gallery, size_t* numbers) {
  const std::string id = entry.person ? id_of(*entry.person) : entry.forgotten->id;
  const int64_t version = entry.person ? entry.person->version : entry.forgotten->version;
  // Who has sent something older has put it at the broker, where it must not stay.
  for (const Forgotten& note : gallery->forgotten) {
    if (note.id != id || note.version < version) continue;
    if (note.version > version) share(id, entry_text(note));
    return false;
  }
  const auto known =
      std::find_if(gallery->people.begin(), gallery->people.end(), [&](const Person& one) {
        return entry.person ? one.name == entry.person->name : id_of(one) == id;
      });
  const bool is_known = known != gallery->people.end();
  if (is_known && known->version >= version) {
    if (known->version > version) share(id, entry_text(*known, gallery->length));
    return false;
  }
  if (!entry.person) {
    if (is_known) {
      *numbers -= known->vectors.size();
      gallery->people.erase(known);
    }
    add_note(*entry.forgotten, &gallery->forgotten);
    return true;
  }
  if (gallery->people.empty()) gallery->length = entry.length;
  if (entry.length != gallery->length) return false;
  const size_t had = is_known ? known->vectors.size() : 0;
  const size_t next = *numbers - had + entry.person->vectors.size();
  if (next > kMostVectors * gallery->length ||
      (!is_known && gallery->people.size() >= kMostPeople)) {
    tell(Notice::kProblem, "the shared gallery has too many people or vectors for this one");
    return false;
  }
  *numbers = next;
  drop_note(id, &gallery->forgotten);
  if (is_known) {
    *known = *entry.person;
  } else {
    gallery->people.push_back(*entry.person);
  }
  return true;
}

// The same of a stranger.
bool Keeper::take_stranger(const std::string& id, Entry entry) {
  const int64_t version = entry.person ? entry.person->version : entry.forgotten->version;
  std::string newer;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entry.person ? strangers_.take(std::move(*entry.person), entry.length)
                     : strangers_.take(*entry.forgotten)) {
      return true;
    }
    newer = strangers_.newer(id, version);
  }
  if (!newer.empty()) share(id, newer);
  return false;
}

// Takes what has come from others. With the files' lock.
void Keeper::take_inbox() {
  std::vector<std::pair<std::string, std::string>> came;
  size_t lost = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    came.swap(inbox_);
    inbox_bytes_ = 0;
    lost = std::exchange(lost_entries_, 0);
  }
  if (lost > 0) {
    tell(Notice::kProblem, format("%zu entries of the shared gallery came too fast", lost));
  }
  if (came.empty()) return;
  Gallery next = *gallery();
  size_t numbers = 0;
  for (const Person& person : next.people) numbers += person.vectors.size();
  bool named = false, strange = false;
  for (const auto& [id, line] : came) {
    auto entry = parse_entry(line, "an entry of the shared gallery");
    const bool is_that = entry.ok() && id == (entry.value().person ? id_of(*entry.value().person)
                                                                   : entry.value().forgotten->id);
    if (!is_that) {
      tell(Notice::kProblem, entry.ok() ? "an entry of the shared gallery has another one's topic"
                                        : entry.error().message);
      continue;
    }
    if (!starts_with(id, "stranger-")) {
      named |= take_named(entry.value(), &next, &numbers);
      continue;
    }
    strange |= take_stranger(id, std::move(entry.value()));
  }
  if (named) {
    set_gallery(std::move(next));
    gallery_unwritten_ = true;
  }
  if (strange) {
    ++changes_;
    const std::lock_guard<std::mutex> lock(mutex_);
    strangers_unwritten_ = true;
  }
  if (named || strange) tell(Notice::kLoaded, "other galleries have changed this one");
}

std::vector<Keeper::Shared> Keeper::all_shared() const {
  std::vector<Shared> all;
  const auto add = [&](const Gallery& gallery) {
    for (const Person& one : gallery.people) {
      all.push_back({id_of(one), entry_text(one, gallery.length), one.version});
    }
    for (const Forgotten& note : gallery.forgotten) {
      all.push_back({note.id, entry_text(note), note.version});
    }
  };
  add(*gallery());
  const std::lock_guard<std::mutex> lock(mutex_);
  add(strangers_.all());
  return all;
}

}  // namespace dvnn::match
