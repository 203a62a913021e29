// SPDX-License-Identifier: Apache-2.0
// Names tracks: several looks at one become one vector, which is looked for in the gallery and, if
// nobody there is like it, among the strangers.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agree/means.h"
#include "base/span.h"
#include "match/keeper.h"
#include "objects/object.h"

namespace dvnn::match {

struct NamerRules {
  double threshold = -1;  // least cosine of a name; below 0: the gallery's, or kUsualThreshold
  double margin = -1;     // how much less any other has; below 0: the gallery's, or kUsualMargin
  unsigned looks = 3;     // at a track, before its name is agreed; at least 1
};

/// A look at an object.
struct Look {
  uint64_t track = 0;           // 0: it has none, and is never a stranger
  Span<const float> embedding;  // empty: it has none now, but its track may be known
  // Where an element before has compared looks already, the embedding is their mean: how many they
  // are, and whether they agree. 0: it is one look.
  unsigned looks = 0;
  bool agreed = false;
};

struct Told {
  objects::Identity identity;
  bool is_news = false;  // the track's agreed identity is another one than it was
  bool before = false;   // of a stranger: whether it was known before this track
};

/// Used by one thread at a time.
class Namer {
 public:
  explicit Namer(Keeper* keeper) : keeper_(keeper) {}

  void set_rules(const NamerRules& rules) { rules_ = rules; }
  /// Returns who it is, as far as that is known. `time` is the frame's, in nanoseconds. An
  /// embedding that is the same as at the last call is no new look.
  Told see(const Look& look, int64_t time);
  /// Returns the mean of a track's looks, of unit length; empty if it has none.
  std::vector<float> mean_of(uint64_t track) const;
  /// Returns the number of the stranger that a track was; 0: none.
  uint64_t stranger_of(uint64_t track) const;
  /// Forgets tracks that were not seen since a time.
  void forget_before(int64_t time);
  void reset() { tracks_.clear(); }
  /// Returns, once, what the lengths are if embeddings cannot be compared with the gallery's.
  struct Mismatch {
    size_t embedding = 0, gallery = 0;
  };
  Mismatch take_mismatch() { return std::exchange(mismatch_, {}); }

 private:
  struct Track {
    agree::EmbeddingMean mean;
    std::vector<float> last, unit;  // look as it came; mean of all
    unsigned looks = 0;
    bool sure = false;     // whether the looks agree
    uint64_t changes = 0;  // of the keeper, when it was decided
    objects::Identity identity;
    bool before = false;
    std::string told_name;  // what was told last
    uint64_t told_stranger = 0;
    int64_t seen = 0;
  };

  bool take(const Look& look, Track* track) const;
  void decide(Track* track);
  void decide_stranger(double threshold, Track* track);

  Keeper* const keeper_;
  NamerRules rules_;
  std::unordered_map<uint64_t, Track> tracks_;
  Mismatch mismatch_;
};

}  // namespace dvnn::match
