// SPDX-License-Identifier: Apache-2.0
// Decoders in their simplest form, with which `dvnet bench decode` compares ours. All of them
// return the number of objects that they find.
#pragma once

#include <cstddef>
#include <vector>

namespace dvnn::tools {

using Floats = std::vector<float>;

/// Rows of a detector: a box, an objectness if there is one, and scores.
struct PlainBoxes {
  size_t columns, first_score, scores;
  bool by_columns, objectness;
  size_t operator()(const std::vector<Floats>& outputs, float threshold) const;
};

/// Regions of a map above `bound`, as rectangles.
struct PlainRegions {
  int width, height;
  float bound;
  size_t operator()(const std::vector<Floats>& outputs, float threshold) const;
};

/// A sequence of scores per character.
struct PlainText {
  size_t classes;
  size_t operator()(const std::vector<Floats>& outputs, float threshold) const;
};

size_t plain_rows(const std::vector<Floats>& outputs, float threshold);
size_t plain_centres(const std::vector<Floats>& outputs, float threshold);
size_t plain_map(const std::vector<Floats>& outputs, float threshold);
size_t plain_heatmaps(const std::vector<Floats>& outputs, float threshold);
size_t plain_simcc(const std::vector<Floats>& outputs, float threshold);
size_t plain_coordinates(const std::vector<Floats>& outputs, float threshold);
size_t plain_classes(const std::vector<Floats>& outputs, float threshold);
size_t plain_embedding(const std::vector<Floats>& outputs, float threshold);
size_t plain_expectation(const std::vector<Floats>& outputs, float threshold);

}  // namespace dvnn::tools
