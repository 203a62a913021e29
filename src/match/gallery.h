// SPDX-License-Identifier: Apache-2.0
// A gallery: who is known, by vectors of unit length, as a file of lines of JSON. docs/match.md has
// the format. The strangers' file is one, too. How alike two vectors are is the cosine of the angle
// between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::match {

/// Scales a vector to length 1. Returns false, and leaves it, if it is zero or not finite.
bool make_unit(std::vector<float>* vector);

/// Returns the cosine of two vectors of unit length, -1..1. Its bits are the same on all processors
/// without fused multiplications.
float cosine(const float* a, const float* b, size_t length);

// Bounds of a gallery and its file.
constexpr size_t kMostPeople = 100000, kMostVectors = 100000, kMostVectorsEach = 1000;
constexpr size_t kMostLength = 4096;  // numbers of a vector
constexpr size_t kMostNameBytes = 200;
constexpr size_t kMostNotes = 10000;  // of people who were forgotten
constexpr uint64_t kMostGalleryBytes = uint64_t{1} << 29;

/// Where nobody says otherwise: least cosine of a name, and how much less any other must have.
constexpr double kUsualThreshold = 0.5, kUsualMargin = 0.05;

/// One who is known by name, or a stranger, who has a number.
struct Person {
  std::string name;       // empty: a stranger
  uint64_t stranger = 0;  // its number, from 1 on
  // Milliseconds since 1970: of strangers, when they were first and last seen; and the last change,
  // by which galleries that are shared agree which line is newer. 0: unknown.
  int64_t first = 0, last = 0;
  int64_t version = 0;
  std::vector<float> vectors;  // of unit length, one behind the other, the oldest first
};

/// A note that a person was forgotten, so that no other gallery brings it back. It has no name.
struct Forgotten {
  std::string id;
  int64_t version = 0;
};

struct Gallery {
  size_t length = 0;    // numbers of a vector; 0: none yet
  std::string network;  // whose embeddings they are, for people to read; may be empty
  std::optional<double> threshold, margin;  // those that suit this gallery
  uint64_t next = 1;                        // the next stranger's number
  std::vector<Person> people;
  std::vector<Forgotten> forgotten;  // the oldest first

  const Person* find(const std::string& name) const;
  Person* find(const std::string& name);
};

/// Returns what identifies a person without telling its name: 32 hexadecimal digits of the name's
/// SHA-256, or "stranger-17".
std::string id_of(const Person& person);

/// Refuses a name that is empty, too long, no UTF-8, or has characters that terminals obey.
Status check_name(const std::string& name);

/// Reads a gallery. `what` names the text in errors, which tell the line.
Result<Gallery> parse_gallery(const std::string& text, const std::string& what);
/// Returns the text that parse_gallery() reads.
std::string gallery_text(const Gallery& gallery);

/// Reads a file of names, or one of strangers; the other kind is refused.
Result<Gallery> read_gallery(const std::string& path, bool of_strangers);
/// Writes it: readers see the old contents or the new ones. Only its owner may read a new file.
Status write_gallery(const Gallery& gallery, const std::string& path);

/// A line of a gallery: a person, or a note that one was forgotten.
struct Entry {
  std::optional<Person> person;
  std::optional<Forgotten> forgotten;
  size_t length = 0;  // of the person's vectors
};
/// Reads a line that stands alone, as galleries share them: it says the length of its vectors.
Result<Entry> parse_entry(const std::string& line, const std::string& what);
/// Returns the line of a person; a `length` other than 0 is written into it.
std::string entry_text(const Person& person, size_t length = 0);
std::string entry_text(const Forgotten& forgotten);

/// The two people whose vectors are most like a vector.
struct Best {
  const Person* first = nullptr;
  const Person* second = nullptr;
  double likeness = -1, other = -1;  // cosines
};
/// Compares a vector of unit length and the gallery's length with all others: the search is exact.
Best find_best(const Gallery& gallery, const std::vector<float>& unit);

/// Adds the note of an id in place of an older one, and drops the oldest one beyond the bound.
void add_note(const Forgotten& note, std::vector<Forgotten>* notes);
/// Removes the note of an id.
void drop_note(const std::string& id, std::vector<Forgotten>* notes);
/// Returns the version of the note of an id; -1: there is none.
int64_t noted(const std::string& id, const std::vector<Forgotten>& notes);

}  // namespace dvnn::match
