// SPDX-License-Identifier: Apache-2.0
#include "decode/scores.h"

#include <algorithm>
#include <cmath>

namespace dvnn::decode {

void softmax_rows(float* scores, size_t rows, size_t classes) {
  for (size_t r = 0; r < rows; ++r, scores += classes) {
    const float top = *std::max_element(scores, scores + classes);
    float sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += scores[c] = std::exp(scores[c] - top);
    for (size_t c = 0; c < classes; ++c) scores[c] /= sum;
  }
}

void sigmoid(float* scores, size_t count) {
  for (size_t i = 0; i < count; ++i) scores[i] = 1.0f / (1.0f + std::exp(-scores[i]));
}

}  // namespace dvnn::decode
