// SPDX-License-Identifier: Apache-2.0
// Strangers with lasting numbers: one that comes again, on another day or another track, has the
// number it had. What is kept of them is bounded in number and in age.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "match/gallery.h"

namespace dvnn::match {

struct StrangerBounds {
  size_t most = 1000;   // strangers; those that were not seen for longest go first
  int64_t keep_ms = 0;  // since they were last seen; 0: for ever
  bool scattered =
      false;  // numbers have nine random digits, so that two cameras choose different ones
};

/// Vectors that are kept of a stranger. The newest are, because looks change.
constexpr size_t kVectorsOfStranger = 4;

class Strangers {
 public:
  struct Sight {
    uint64_t number = 0;
    double likeness = 0;  // to what is kept of it; 1 if it is new
    bool before = false;  // whether it was known
    bool told = false;    // whether other galleries should hear of it
  };

  void set_bounds(const StrangerBounds& bounds) { bounds_ = bounds; }
  /// Takes those of a file over.
  void set(Gallery strangers) { all_ = std::move(strangers); }
  const Gallery& all() const { return all_; }

  /// Finds the stranger whose vectors are most like this one, with a cosine of at least
  /// `threshold`, or makes a new one. `unit` has the length of all others; `now` is in milliseconds
  /// since 1970.
  Sight see(const std::vector<float>& unit, int64_t now, double threshold);
  const Person* find(uint64_t number) const;
  bool forget(uint64_t number);
  /// Forgets those that are too old at that time.
  void trim(int64_t now);
  /// Returns the ids of those that the bounds have removed since the last call.
  std::vector<std::string> take_dropped() { return std::exchange(dropped_, {}); }
  /// Takes what another gallery tells of a stranger, whose vectors have that length, if it is
  /// newer. Returns whether it is.
  bool take(Person person, size_t length);
  /// Takes the note that another gallery has forgotten a stranger. Returns whether it is news.
  bool take(const Forgotten& note);
  /// Returns the line of what is known of an id if that is newer than `version`; else nothing.
  std::string newer(const std::string& id, int64_t version) const;
  /// Notes that a stranger was forgotten.
  void note(const Forgotten& note);

 private:
  uint64_t new_number();
  void note_vector(const std::vector<float>& unit, Person* person);

  StrangerBounds bounds_;
  Gallery all_;
  std::vector<std::string> dropped_;
};

}  // namespace dvnn::match
