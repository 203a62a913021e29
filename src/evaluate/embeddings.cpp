// SPDX-License-Identifier: Apache-2.0
#include "evaluate/embeddings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace dvnn::evaluate {
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
