// SPDX-License-Identifier: Apache-2.0
#include "evaluate/reading.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace dvnn::evaluate {
namespace {

using Parts = std::vector<std::string_view>;

Parts characters_of(std::string_view text) {
  Parts characters;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    // Bytes after the first of a code point are 10xxxxxx.
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    characters.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return characters;
}

Parts words_of(std::string_view text) {
  constexpr const char* kBlanks = " \t";
  Parts words;
  for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// Returns the least number of insertions, deletions and replacements that make `a` of `b`. `row`
// holds the distances of the first parts of `a` to all first parts of `b`.
uint64_t distance(const Parts& a, const Parts& b) {
  std::vector<uint64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), uint64_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const uint64_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

double ratio(uint64_t part, uint64_t all) {
  return all == 0 ? -1 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void ReadingCount::add(const ReadingCount& other, uint64_t times) {
  texts += times * other.texts;
  exact += times * other.exact;
  characters += times * other.characters;
  character_edits += times * other.character_edits;
  words += times * other.words;
  word_edits += times * other.word_edits;
}

double ReadingCount::character_error() const {
  return ratio(character_edits, characters);
}

double ReadingCount::word_error() const {
  return ratio(word_edits, words);
}

double ReadingCount::exact_share() const {
  return ratio(exact, texts);
}

ReadingCount count_reading(const std::string& truth, const std::string& read) {
  const Parts characters = characters_of(truth), words = words_of(truth);
  ReadingCount count;
  count.texts = 1;
  count.exact = truth == read;
  count.characters = characters.size();
  count.character_edits = distance(characters, characters_of(read));
  count.words = words.size();
  count.word_edits = distance(words, words_of(read));
  return count;
}

}  // namespace dvnn::evaluate
