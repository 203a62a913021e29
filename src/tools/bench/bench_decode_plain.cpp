// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_decode_plain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/grid.h"
#include "base/nth.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::tools {
namespace {

float plain_sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

void plain_softmax(float* values, size_t count) {
  const float most = *std::max_element(values, values + count);
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i] = std::exp(values[i] - most);
  for (size_t i = 0; i < count; ++i) values[i] /= sum;
}

size_t largest_of(const float* values, size_t count) {
  return static_cast<size_t>(std::max_element(values, values + count) - values);
}

}  // namespace

size_t PlainBoxes::operator()(const std::vector<Floats>& outputs, float threshold) const {
  Floats values = outputs[0];
  const size_t rows = values.size() / columns;
  if (by_columns) {
    Floats turned(values.size());
    for (size_t i = 0; i < rows; ++i) {
      for (size_t k = 0; k < columns; ++k) turned[i * columns + k] = values[k * rows + i];
    }
    values.swap(turned);
  }
  std::vector<kernels::Box> boxes;
  std::vector<int> classes;
  std::vector<kernels::Candidate> candidates;
  for (size_t i = 0; i < rows; ++i) {
    const float* row = &values[i * columns];
    const float sure = objectness ? plain_sigmoid(row[4]) : 1;
    float best = -1;
    int best_class = 0;
    for (size_t k = 0; k < scores; ++k) {
      const float score = sure * plain_sigmoid(row[first_score + k]);
      if (score > best) {
        best = score;
        best_class = static_cast<int>(k);
      }
    }
    if (!(best >= threshold)) continue;
    const float x = static_cast<float>(i % 80) * 8, y = static_cast<float>(i / 80) * 4;
    candidates.push_back({best, static_cast<int>(boxes.size())});
    boxes.push_back({x + row[0], y + row[1], x + row[0] + 8 * std::exp(row[2]),
                     y + row[1] + 8 * std::exp(row[3])});
    classes.push_back(best_class);
  }
  size_t kept = 0;
  for (size_t k = 0; k < scores; ++k) {
    std::vector<kernels::Candidate> own;
    for (const kernels::Candidate& candidate : candidates) {
      if (nth(classes, candidate.index) == static_cast<int>(k)) own.push_back(candidate);
    }
    kernels::plain::suppress_non_maxima(boxes, {}, &own);
    kept += own.size();
  }
  return kept;
}

size_t plain_rows(const std::vector<Floats>& outputs, float threshold) {
  constexpr size_t kRow = 7;
  std::vector<Floats> found;
  const Floats& values = outputs[0];
  for (size_t at = 0; at + kRow <= values.size(); at += kRow) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(at);
    if (row[0] >= 0 && row[2] >= threshold) found.emplace_back(row, row + kRow);
  }
  std::sort(found.begin(), found.end(),
            [](const Floats& a, const Floats& b) { return a[2] > b[2]; });
  return found.size();
}

size_t plain_centres(const std::vector<Floats>& outputs, float threshold) {
  constexpr int kSide = 128;
  Floats heat = outputs[0];
  for (float& value : heat) value = plain_sigmoid(value);
  std::vector<kernels::Box> boxes;
  for (size_t map = 0; map < heat.size(); map += size_t{kSide} * kSide) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        auto at = [&](int u, int v) {
          const bool inside = u >= 0 && u < kSide && v >= 0 && v < kSide;
          return inside ? heat[map + grid_index(u, v, kSide)] : 0;
        };
        const float own = at(x, y);
        bool peak = own >= threshold;
        for (int v = y - 1; v <= y + 1; ++v) {
          for (int u = x - 1; u <= x + 1; ++u) peak = peak && at(u, v) <= own;
        }
        if (!peak) continue;
        const size_t cell = grid_index(x, y, kSide);
        const float w = outputs[1][cell], h = outputs[1][cell + size_t{kSide} * kSide];
        const auto u = static_cast<float>(x), v = static_cast<float>(y);
        boxes.push_back({u - w / 2, v - h / 2, u + w / 2, v + h / 2});
      }
    }
  }
  return boxes.size();
}

size_t plain_map(const std::vector<Floats>& outputs, float) {
  constexpr size_t kClasses = 19;
  const Floats& values = outputs[0];
  const size_t cells = values.size() / kClasses;
  std::vector<uint8_t> map(cells);
  for (size_t i = 0; i < cells; ++i) {
    for (size_t k = 1; k < kClasses; ++k) {
      if (values[k * cells + i] > values[map[i] * cells + i]) map[i] = static_cast<uint8_t>(k);
    }
  }
  return map.empty() ? 0 : 1;
}

size_t plain_heatmaps(const std::vector<Floats>& outputs, float) {
  constexpr size_t kCells = 64 * 48;
  std::vector<size_t> places;
  for (size_t at = 0; at < outputs[0].size(); at += kCells) {
    places.push_back(largest_of(&outputs[0][at], kCells));
  }
  return places.empty() ? 0 : 1;
}

size_t plain_simcc(const std::vector<Floats>& outputs, float) {
  constexpr size_t kPoints = 17;
  std::vector<size_t> places;
  for (const Floats& output : outputs) {
    const size_t length = output.size() / kPoints;
    for (size_t k = 0; k < kPoints; ++k) places.push_back(largest_of(&output[k * length], length));
  }
  return places.empty() ? 0 : 1;
}

size_t plain_coordinates(const std::vector<Floats>& outputs, float) {
  Floats places = outputs[0];
  for (float& value : places) value /= 192;
  return places.empty() ? 0 : 1;
}

size_t PlainRegions::operator()(const std::vector<Floats>& outputs, float threshold) const {
  const Floats map = outputs[0];
  std::vector<bool> seen(map.size());
  size_t found = 0;
  for (size_t start = 0; start < map.size(); ++start) {
    if (seen[start] || !(map[start] > bound)) continue;
    std::vector<int> waiting = {static_cast<int>(start)};
    seen[start] = true;
    int x0 = width, y0 = height, x1 = 0, y1 = 0;
    while (!waiting.empty()) {
      const int x = waiting.back() % width, y = waiting.back() / width;
      waiting.pop_back();
      x0 = std::min(x0, x), x1 = std::max(x1, x);
      y0 = std::min(y0, y), y1 = std::max(y1, y);
      for (int v = std::max(0, y - 1); v <= std::min(height - 1, y + 1); ++v) {
        for (int u = std::max(0, x - 1); u <= std::min(width - 1, x + 1); ++u) {
          const size_t next = grid_index(u, v, width);
          if (seen[next] || !(map[next] > bound)) continue;
          seen[next] = true;
          waiting.push_back(static_cast<int>(next));
        }
      }
    }
    float sum = 0;
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) sum += nth(map, y * width + x);
    }
    found += sum / static_cast<float>((x1 - x0 + 1) * (y1 - y0 + 1)) >= threshold;
  }
  return found;
}

size_t PlainText::operator()(const std::vector<Floats>& outputs, float threshold) const {
  Floats values = outputs[0];
  size_t before = 0, characters = 0;
  float sum = 0;
  for (size_t at = 0; at < values.size(); at += classes) {
    plain_softmax(&values[at], classes);
    const size_t best = largest_of(&values[at], classes);
    if (best != 0 && best != before) {
      sum += values[at + best];
      ++characters;
    }
    before = best;
  }
  return characters > 0 && sum / static_cast<float>(characters) >= threshold ? 1 : 0;
}

size_t plain_classes(const std::vector<Floats>& outputs, float threshold) {
  Floats scores = outputs[0];
  plain_softmax(scores.data(), scores.size());
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  constexpr size_t kTop = 5;
  return static_cast<size_t>(std::count_if(order.begin(), order.begin() + kTop,
                                           [&](size_t i) { return scores[i] >= threshold; }));
}

size_t plain_embedding(const std::vector<Floats>& outputs, float) {
  Floats vector = outputs[0];
  double squares = 0;
  for (float value : vector) squares += double{value} * double{value};
  for (float& value : vector) value = static_cast<float>(double{value} / std::sqrt(squares));
  return vector.empty() ? 0 : 1;
}

size_t plain_expectation(const std::vector<Floats>& outputs, float) {
  Floats values = outputs[0];
  plain_softmax(values.data(), values.size());
  float mean = 0;
  for (size_t i = 0; i < values.size(); ++i) mean += static_cast<float>(i) * values[i];
  return std::isfinite(mean) ? 1 : 0;
}

}  // namespace dvnn::tools
