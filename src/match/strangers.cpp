// SPDX-License-Identifier: Apache-2.0
#include "match/strangers.h"

#include <algorithm>
#include <random>
#include <utility>

#include "match/gallery.h"

namespace dvnn::match {
namespace {

// A stranger that others know of is told again after an hour, so that they keep it.
constexpr int64_t kTellAgain = int64_t{3600} * 1000;

}  // namespace

const Person* Strangers::find(uint64_t number) const {
  const auto found = std::find_if(all_.people.begin(), all_.people.end(),
                                  [&](const Person& one) { return one.stranger == number; });
  return found == all_.people.end() ? nullptr : &*found;
}

uint64_t Strangers::new_number() {
  if (!bounds_.scattered) return all_.next++;
  constexpr uint64_t kLeast = 100000000, kMost = 999999999;
  static std::random_device random;
  std::uniform_int_distribution<uint64_t> numbers(kLeast, kMost);
  for (;;) {
    const uint64_t number = numbers(random);
    if (!find(number)) return number;
  }
}

// Keeps a vector that says something new: it is less like the stranger's others than halfway from
// the threshold to certainty, as the caller has found.
void Strangers::note_vector(const std::vector<float>& unit, Person* person) {
  std::vector<float>& all = person->vectors;
  all.insert(all.end(), unit.begin(), unit.end());
  const size_t most = kVectorsOfStranger * unit.size();
  if (all.size() > most) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  }
}

Strangers::Sight Strangers::see(const std::vector<float>& unit, int64_t now, double threshold) {
  trim(now);
  if (all_.people.empty()) all_.length = unit.size();
  const Best best = find_best(all_, unit);
  if (best.first && best.likeness >= threshold) {
    auto& known = const_cast<Person&>(*best.first);
    Sight sight{known.stranger, best.likeness, true, now - known.version >= kTellAgain};
    known.last = std::max(known.last, now);
    if (best.likeness < (1 + threshold) / 2) {
      note_vector(unit, &known);
      sight.told = true;
    }
    if (sight.told) known.version = std::max(known.version + 1, now);
    return sight;
  }
  if (all_.people.size() >= std::max<size_t>(1, bounds_.most)) {
    const auto oldest =
        std::min_element(all_.people.begin(), all_.people.end(),
                         [](const Person& a, const Person& b) { return a.last < b.last; });
    dropped_.push_back(id_of(*oldest));
    all_.people.erase(oldest);
  }
  Person person;
  person.stranger = new_number();
  person.first = person.last = person.version = now;
  person.vectors = unit;
  all_.people.push_back(std::move(person));
  return {all_.people.back().stranger, 1, false, true};
}

bool Strangers::forget(uint64_t number) {
  const auto& people = all_.people;
  const size_t before = people.size();
  all_.people.erase(std::remove_if(all_.people.begin(), all_.people.end(),
                                   [&](const Person& one) { return one.stranger == number; }),
                    all_.people.end());
  return people.size() < before;
}

void Strangers::trim(int64_t now) {
  if (bounds_.keep_ms <= 0) return;
  std::vector<Person>& people = all_.people;
  const auto old = std::stable_partition(people.begin(), people.end(), [&](const Person& one) {
    return now - one.last <= bounds_.keep_ms;
  });
  for (auto one = old; one != people.end(); ++one) dropped_.push_back(id_of(*one));
  people.erase(old, people.end());
}

bool Strangers::take(Person person, size_t length) {
  if (all_.people.empty()) all_.length = length;
  if (length != all_.length) return false;
  if (noted(id_of(person), all_.forgotten) >= person.version) return false;
  for (Person& known : all_.people) {
    if (known.stranger != person.stranger) continue;
    if (known.version >= person.version) return false;
    known = std::move(person);
    return true;
  }
  if (all_.people.size() >= bounds_.most) return false;
  all_.next = std::max(all_.next, person.stranger + 1);
  all_.people.push_back(std::move(person));
  return true;
}

bool Strangers::take(const Forgotten& note) {
  for (const Person& known : all_.people) {
    if (id_of(known) == note.id && known.version >= note.version) return false;
  }
  if (noted(note.id, all_.forgotten) >= note.version) return false;
  all_.people.erase(std::remove_if(all_.people.begin(), all_.people.end(),
                                   [&](const Person& one) { return id_of(one) == note.id; }),
                    all_.people.end());
  this->note(note);
  return true;
}

std::string Strangers::newer(const std::string& id, int64_t version) const {
  for (const Person& known : all_.people) {
    if (known.version > version && id_of(known) == id) return entry_text(known, all_.length);
  }
  for (const Forgotten& known : all_.forgotten) {
    if (known.version > version && known.id == id) return entry_text(known);
  }
  return "";
}

void Strangers::note(const Forgotten& note) {
  add_note(note, &all_.forgotten);
}

}  // namespace dvnn::match
