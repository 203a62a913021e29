// SPDX-License-Identifier: Apache-2.0
// How well networks do that say something of a whole picture: its class, its text, or an embedding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

// Accuracy of classifiers: top-1 and top-5 of ImageNet's challenge (O. Russakovsky et al.,
// "ImageNet Large Scale Visual Recognition Challenge", IJCV 115, 2015).

/// Counts of pictures: all, and those whose class was the most confident one, or among the five
/// most confident ones.
struct Hits {
  uint64_t pictures = 0, first = 0, among_five = 0;

  /// Counts a picture `times` times. `place`: of its class, as places_of() returns it.
  void add(size_t place, uint64_t times = 1);
};
struct Accuracy {
  Hits all;
  std::vector<Hits> classes;
};

/// Returns for each picture the place of its class among the found ones, the most confident one
/// being 0. Of equal scores, the one found first comes first. SIZE_MAX: it was not found.
std::vector<size_t> places_of(const DataSet& data, const FoundByPicture& found);

/// Computes the accuracy over the pictures whose class is `known`, a flag for each class.
Accuracy accuracy_of(const DataSet& data, const std::vector<size_t>& places,
                     const std::vector<bool>& known);

// Accuracy of reading: character and word error rate, which are edit distances (V. Levenshtein,
// "Binary codes capable of correcting deletions, insertions, and reversals", 1966) of all texts
// together by their length, and the share of texts that were read without a mistake.

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

// How well embeddings tell identities apart, by the cosine of two embeddings.
//
// Re-identification (L. Zheng et al., "Scalable Person Re-identification: A Benchmark", ICCV 2015):
// each picture of an identity that has several is a query among all other pictures. Rank n is the
// share of queries with a picture of the same identity among the n most similar ones; the average
// precision of a query is the mean, over the pictures of its identity, of the share of these among
// all that are at least as similar. Of equally similar pictures the wrong ones come first.
//
// Verification (P. Phillips et al., "The FERET Evaluation Methodology for Face-Recognition
// Algorithms", PAMI 22, 2000): of all pairs of pictures, the share of those of one identity that
// are accepted at a threshold at which at most a given share of the others are.

/// Most pictures; all pairs of them are compared.
constexpr size_t kMostEmbeddings = 10000;

struct AcceptRate {
  double false_accepts = 0;  // wanted share, at most
  double threshold = 0;      // least cosine that is accepted
  double true_accepts = -1;
};

/// The place of the first right picture of a query, and its average precision.
struct QueryResult {
  uint64_t picture = 0, place = 0;
  double precision = 0;
};

struct EmbeddingFigures {
  std::vector<QueryResult> queries;
  uint64_t same_pairs = 0, other_pairs = 0;
  std::vector<AcceptRate> rates;  // only those that the number of pairs can show

  /// Returns the share of queries with a right picture among the `most` most similar; -1: none.
  double rank(uint64_t most) const;
  double mean_precision() const;
};

/// Computes figures of at most kMostEmbeddings pictures. `embeddings` have one length and are
/// finite and not all 0; `identities` has a number for each.
EmbeddingFigures compare_embeddings(const std::vector<std::vector<float>>& embeddings,
                                    const std::vector<int>& identities);

}  // namespace dvnn::evaluate
