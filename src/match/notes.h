// SPDX-License-Identifier: Apache-2.0
// Notes of who was forgotten, in a gallery that is shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "match/gallery.h"

namespace dvnn::match {

/// Adds the note of an id in place of an older one, and drops the oldest one beyond the bound.
inline void add_note(const Forgotten& note, std::vector<Forgotten>* notes) {
  notes->erase(std::remove_if(notes->begin(), notes->end(),
                              [&](const Forgotten& one) { return one.id == note.id; }),
               notes->end());
  if (notes->size() >= kMostNotes) notes->erase(notes->begin());
  notes->push_back(note);
}

/// Removes the note of an id.
inline void drop_note(const std::string& id, std::vector<Forgotten>* notes) {
  notes->erase(std::remove_if(notes->begin(), notes->end(),
                              [&](const Forgotten& one) { return one.id == id; }),
               notes->end());
}

/// Returns the version of the note of an id; -1: there is none.
inline int64_t noted(const std::string& id, const std::vector<Forgotten>& notes) {
  for (const Forgotten& one : notes) {
    if (one.id == id) return one.version;
  }
  return -1;
}

}  // namespace dvnn::match
