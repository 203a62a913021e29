// SPDX-License-Identifier: Apache-2.0
#include "evaluate/whole_pictures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>

namespace dvnn::evaluate {
namespace {

size_t place_of(int class_id, const std::vector<Found>& found) {
  const auto is = [&](const Found& f) { return f.class_id == class_id; };
  const auto at = std::find_if(found.begin(), found.end(), is);
  if (at == found.end()) return SIZE_MAX;
  // Classes ahead of it: earlier ones with at least its score, and later ones with a larger score.
  const auto earlier =
      std::count_if(found.begin(), at, [&](const Found& f) { return f.score >= at->score; });
  const auto surer =
      std::count_if(at, found.end(), [&](const Found& f) { return f.score > at->score; });
  return static_cast<size_t>(earlier + surer);
}

}  // namespace

void Hits::add(size_t place, uint64_t times) {
  constexpr size_t kFive = 5;
  pictures += times;
  if (place == 0) first += times;
  if (place < kFive) among_five += times;
}

std::vector<size_t> places_of(const DataSet& data, const FoundByPicture& found) {
  std::vector<size_t> places;
  for (size_t p = 0; p < data.pictures.size(); ++p)
    places.push_back(place_of(data.pictures[p].class_id, found[p]));
  return places;
}

Accuracy accuracy_of(const DataSet& data, const std::vector<size_t>& places,
                     const std::vector<bool>& known) {
  Accuracy accuracy;
  accuracy.classes.resize(data.classes.size());
  for (size_t p = 0; p < data.pictures.size(); ++p) {
    const int class_id = data.pictures[p].class_id;
    if (class_id < 0 || !known[static_cast<size_t>(class_id)]) continue;
    accuracy.all.add(places[p]);
    accuracy.classes[static_cast<size_t>(class_id)].add(places[p]);
  }
  return accuracy;
}

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

namespace {

constexpr double kFalseAccepts[] = {0.1, 0.01, 0.001, 0.0001};

std::vector<double> scaled(const std::vector<float>& embedding) {
  std::vector<double> values(embedding.begin(), embedding.end());
  double sum = 0;
  for (const double value : values) sum += value * value;
  const double length = std::sqrt(sum);
  for (double& value : values) value /= length;
  return values;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Ranks all other pictures. `cosines`: of the query and each picture.
QueryResult rank_of(size_t query, const std::vector<double>& cosines,
                    const std::vector<int>& identities) {
  std::vector<size_t> order;
  for (size_t i = 0; i < cosines.size(); ++i) {
    if (i != query) order.push_back(i);
  }
  const auto is_same = [&](size_t i) { return identities[i] == identities[query]; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cosines[a] != cosines[b] ? cosines[a] > cosines[b] : is_same(a) < is_same(b);
  });
  QueryResult result;
  result.picture = query;
  uint64_t right = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    if (!is_same(order[place])) continue;
    if (right == 0) result.place = place;
    ++right;
    result.precision += static_cast<double>(right) / static_cast<double>(place + 1);
  }
  result.precision /= static_cast<double>(right);
  return result;
}

// Chooses the least threshold at which at most a share of the others is accepted. `others` is in
// falling order.
AcceptRate rate_at(double share, const std::vector<float>& same, const std::vector<float>& others) {
  AcceptRate rate;
  rate.false_accepts = share;
  const auto allowed = static_cast<size_t>(share * static_cast<double>(others.size()));
  const float beyond = std::nextafter(others[allowed], std::numeric_limits<float>::infinity());
  rate.threshold = double{beyond};
  const auto accepted =
      std::count_if(same.begin(), same.end(), [&](float cosine) { return cosine >= beyond; });
  rate.true_accepts = static_cast<double>(accepted) / static_cast<double>(same.size());
  return rate;
}

}  // namespace

double EmbeddingFigures::rank(uint64_t most) const {
  if (queries.empty()) return -1;
  const auto found = std::count_if(queries.begin(), queries.end(),
                                   [&](const QueryResult& q) { return q.place < most; });
  return static_cast<double>(found) / static_cast<double>(queries.size());
}

double EmbeddingFigures::mean_precision() const {
  if (queries.empty()) return -1;
  double sum = 0;
  for (const QueryResult& query : queries) sum += query.precision;
  return sum / static_cast<double>(queries.size());
}

EmbeddingFigures compare_embeddings(const std::vector<std::vector<float>>& embeddings,
                                    const std::vector<int>& identities) {
  std::vector<std::vector<double>> all;
  for (const std::vector<float>& embedding : embeddings) all.push_back(scaled(embedding));
  EmbeddingFigures figures;
  std::vector<float> same, others;
  std::vector<double> cosines(all.size());
  for (size_t query = 0; query < all.size(); ++query) {
    bool has_same = false;
    for (size_t i = 0; i < all.size(); ++i) {
      cosines[i] = dot(all[query], all[i]);
      if (i == query) continue;
      const bool is_same = identities[i] == identities[query];
      has_same = has_same || is_same;
      if (i < query) (is_same ? same : others).push_back(static_cast<float>(cosines[i]));
    }
    if (has_same) figures.queries.push_back(rank_of(query, cosines, identities));
  }
  figures.same_pairs = same.size();
  figures.other_pairs = others.size();
  std::sort(others.begin(), others.end(), std::greater<>());
  for (const double share : kFalseAccepts) {
    if (same.empty() || share * static_cast<double>(others.size()) < 1) continue;
    figures.rates.push_back(rate_at(share, same, others));
  }
  return figures;
}

}  // namespace dvnn::evaluate
