// SPDX-License-Identifier: Apache-2.0
// The text on one object, from several looks at it. The readings are aligned, and each character
// is voted on (Fiscus, "A post-processing system to yield reduced word error rates: Recognizer
// Output Voting Error Reduction", 1997), by the confidences of the characters.
#pragma once

#include <string>
#include <vector>

#include "agree/pattern.h"

namespace dvnn::agree {

/// Keeps the last 16 readings.
class TextVotes {
 public:
  /// How readings are compared: by characters, or as a whole, because each has a checksum.
  enum class By { kCharacter, kText };
  /// A character of a reading, with the probability that its confidence counts for.
  struct Character {
    std::string text;
    double confidence = 0;
  };
  using Reading = std::vector<Character>;
  struct Agreed {
    std::string text;
    double probability = 0;  // that it is the text
    bool matches = false;    // its pattern, if there is one
  };

  explicit TextVotes(By by = By::kCharacter) : by_(by) {}
  /// Adds a look's reading. `confidences` has one for each character, or is empty: then each has
  /// `confidence`. A look that read nothing says nothing. Readings of more than 64 characters are
  /// compared as a whole.
  void add(const std::string& text, double confidence, const std::vector<float>& confidences = {});
  bool empty() const { return readings_.empty(); }
  /// Lets all looks so far count as one.
  void fade(const Pattern* pattern = nullptr);
  /// Returns the most probable text. With a pattern, the most probable one that matches it, whose
  /// rivals are those that match it, too; if none does, the most probable one.
  Agreed result(const Pattern* pattern = nullptr) const;

 private:
  By by_;
  std::vector<Reading> readings_;  // the oldest first
};

}  // namespace dvnn::agree
