// SPDX-License-Identifier: Apache-2.0
// Accuracy of reading: character and word error rate, which are edit distances (V. Levenshtein,
// "Binary codes capable of correcting deletions, insertions, and reversals", 1966) of all texts
// together by their length, and the share of texts that were read without a mistake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dvnn::evaluate {

/// Counts of texts: of all, and of mistakes in them. Characters are code points of Unicode, words
/// what blanks separate.
struct ReadingCount {
  uint64_t texts = 0, exact = 0;
  uint64_t characters = 0, character_edits = 0;
  uint64_t words = 0, word_edits = 0;

  /// Adds other counts `times` times.
  void add(const ReadingCount& other, uint64_t times = 1);
  /// Returns edits by length; above 1 if more was read than is there. -1: there was no text.
  double character_error() const;
  double word_error() const;
  double exact_share() const;
};

/// Compares a text, in UTF-8, with what was read.
ReadingCount count_reading(const std::string& truth, const std::string& read);

}  // namespace dvnn::evaluate
