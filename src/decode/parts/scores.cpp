// SPDX-License-Identifier: Apache-2.0
#include "decode/parts/scores.h"

#include <algorithm>

#include "base/nth.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/arithmetic/softmax.h"

namespace dvnn::decode {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Raises best[i] to the largest of a cell's values and sets its index, where `first` is the index
// of the strip's first value. kUnknown if it is faster to search it later in the few cells that
// matter.
constexpr int kUnknown = -1;

void raise_all(const Table::Strip& strip, size_t length, size_t count, int first, float* best,
               int* which) {
  constexpr size_t kWorthAKernel = 8;
  if (length == 1 && strip.stride == 1)
    return kernels::raise(strip.values, first, best, which, count);
  if (length >= kWorthAKernel) {
    for (size_t i = 0; i < count; ++i) {
      const float own = kernels::largest(strip.values + i * strip.stride, length);
      if (own > best[i]) which[i] = kUnknown;
      best[i] = std::max(best[i], own);
    }
    return;
  }
  for (size_t k = 0; k < length; ++k) {
    const float* values = strip.values + k;
    const int own = first + static_cast<int>(k);
    for (size_t i = 0; i < count; ++i) {
      const float value = values[i * strip.stride];
      const bool better = best[i] < value;
      best[i] = better ? value : best[i];
      which[i] = better ? own : which[i];
    }
  }
}

float powered(float value, float power) {
  return power == 1 ? value : std::pow(std::max(0.0f, value), power);
}

// Returns the least value whose power is at least `least`.
float rooted(float least, float power) {
  return power == 1 || !(least > 0) ? least : std::pow(least, 1 / power);
}

}  // namespace

void read_columns(const Table& table, const Columns& columns, size_t cell, int anchor, float* to) {
  if (columns.step == 1) {
    return table.read(cell, columns.value(anchor, 0), columns.numbers(), to);
  }
  for (int k = 0; k < columns.count; ++k) to[k] = table.at(cell, columns.value(anchor, k));
}

// Finds the largest of the columns in each cell, except the background.
void ScoreFinder::find_best(const Table& table, const Columns& columns, int anchor, int background,
                            size_t place, size_t count) {
  std::fill(best_, best_ + count, kNothing);
  std::fill(which_, which_ + count, kUnknown);
  for (int k = 0; k < columns.count;) {
    if (k == background) {
      ++k;
      continue;
    }
    const size_t value = columns.value(anchor, k);
    const int end = k < background ? background : columns.count;
    const size_t length =
        columns.step == 1 ? std::min(table.run_of(value), static_cast<size_t>(end - k)) : 1;
    raise_all(table.strip(value, length, place, count, strip_.data()), length, count, k, best_,
              which_);
    k += static_cast<int>(length);
  }
}

// Adds a class of a cell if its exact score reaches the threshold.
void ScoreFinder::report(const Place& at, int class_id, float number, float objectness,
                         float threshold, std::vector<Hit>* hits) {
  const float score = powered(activated(rule_.scores, number), rule_.class_power) * objectness;
  if (!(score >= threshold) || !std::isfinite(score)) return;
  hits->push_back({score, static_cast<uint32_t>(at.cell), static_cast<uint16_t>(at.level),
                   static_cast<uint16_t>(at.anchor), class_id});
}

// Reads all classes of a cell and reports those that count.
void ScoreFinder::judge(const Table& table, const Columns& columns, const Place& at,
                        float objectness, float threshold, std::vector<Hit>* hits) {
  row_.resize(columns.numbers());
  read_columns(table, columns, at.cell, at.anchor, row_.data());
  // A softmax needs all numbers; other activations are computed only for what is reported.
  if (rule_.scores == Activation::kSoftmax) kernels::softmax(row_.data(), 1, row_.size(), 1);
  int best = -1;
  for (int k = 0; k < columns.count; ++k) {
    const float number = nth(row_, k);
    if (k == rule_.background || std::isnan(number)) continue;
    if (rule_.every_class) report(at, k, number, objectness, threshold, hits);
    if (best < 0 || number > nth(row_, best)) best = k;
  }
  if (!rule_.every_class && best >= 0) {
    report(at, best, nth(row_, best), objectness, threshold, hits);
  }
}

// Whether the largest number of a cell is sufficient: one class is reported, and it depends on no
// other number.
bool ScoreFinder::largest_decides(const Columns& columns) const {
  const bool has_background = rule_.background >= 0 && rule_.background < columns.count;
  return rule_.scores != Activation::kSoftmax &&
         (!rule_.every_class || columns.count - (has_background ? 1 : 0) == 1);
}

// Without objectness: finds cells in which a class may reach the threshold.
void ScoreFinder::find_classes(const Table& table, const Level& level, size_t number, int anchor,
                               float threshold, std::vector<Hit>* hits) {
  const bool softmax = rule_.scores == Activation::kSoftmax;
  float bound = least_number(rule_.scores, rooted(threshold, rule_.class_power));
  // With a softmax, a class of probability p exceeds each other class by at least logit(p).
  const bool has_rival = softmax && rule_.background >= 0;
  if (softmax) bound = has_rival ? least_logit(threshold) : kNothing;
  const bool decides = largest_decides(level.scores);
  const size_t block = table.strip_cells();
  for (size_t place = 0; place < table.cells(); place += block) {
    const size_t count = std::min(block, table.cells() - place);
    find_best(table, level.scores, anchor, rule_.background, place, count);
    if (has_rival) {
      const Table::Strip strip =
          table.strip(level.scores.value(anchor, rule_.background), 1, place, count, strip_.data());
      for (size_t i = 0; i < count; ++i) best_[i] -= strip.values[i * strip.stride];
    }
    const size_t found = kernels::at_least(best_, count, bound, at_);
    for (size_t i = 0; i < found; ++i) {
      const size_t k = at_[i];
      const Place at{table.cell_of(place + k), number, anchor};
      if (decides && which_[k] != kUnknown) {
        report(at, which_[k], best_[k], 1, threshold, hits);
      } else {
        judge(table, level.scores, at, 1, threshold, hits);
      }
    }
  }
}

// With objectness: finds cells by it first, as classes are probabilities and cannot raise the
// score.
void ScoreFinder::find_objects(const Table& table, const Table& scores, const Level& level,
                               size_t number, int anchor, float threshold, std::vector<Hit>* hits) {
  constexpr float kSlack = 0.999f;
  const float bound =
      least_number(rule_.objectness, kSlack * rooted(threshold, rule_.objectness_power));
  // If classes are not interleaved, cells are handled together from this many hits on.
  constexpr size_t kMany = 8;
  const bool together = &table == &scores && largest_decides(level.scores) &&
                        scores.run_of(level.scores.value(anchor, 0)) == 1;
  const size_t block = table.strip_cells();
  for (size_t place = 0; place < table.cells(); place += block) {
    const size_t count = std::min(block, table.cells() - place);
    find_best(table, level.objectness, anchor, -1, place, count);
    const size_t found = kernels::at_least(best_, count, bound, at_);
    float sure[kBlockCells];
    for (size_t i = 0; i < found; ++i) {
      sure[i] = powered(activated(rule_.objectness, best_[at_[i]]), rule_.objectness_power);
    }
    const bool all = together && found >= kMany;
    if (all) find_best(scores, level.scores, anchor, rule_.background, place, count);
    for (size_t i = 0; i < found; ++i) {
      const size_t k = at_[i];
      const Place at{table.cell_of(place + k), number, anchor};
      if (all && which_[k] != kUnknown) {
        report(at, which_[k], best_[k], sure[i], threshold, hits);
      } else {
        judge(scores, level.scores, at, sure[i], threshold, hits);
      }
    }
  }
}

void ScoreFinder::find(Span<const Table> tables, const Level& level, size_t number, float threshold,
                       std::vector<Hit>* hits) {
  const Table& scores = nth(tables, level.scores.table);
  for (int anchor = 0; anchor < level.anchors; ++anchor) {
    if (level.objectness.there()) {
      find_objects(nth(tables, level.objectness.table), scores, level, number, anchor, threshold,
                   hits);
    } else {
      find_classes(scores, level, number, anchor, threshold, hits);
    }
  }
}

}  // namespace dvnn::decode
