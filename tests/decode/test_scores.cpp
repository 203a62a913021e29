// SPDX-License-Identifier: Apache-2.0
// Thresholds and softmax, which all detectors share.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "grid_outputs.h"

namespace dvnn::test::scores_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(numbers_at_the_threshold_are_found) {
  // The logit of 0.25, whose sigmoid may be rounded to a little less or more.
  const float logit = std::log(0.25f / 0.75f);
  for (const float by : {-0.01f, 0.01f}) {
    const auto found =
        Outputs()
            .add("o", {1, kCells, 6}, one_row({0, 0, 0, 0, logit + by, -99}, -99))
            .found("boxes",
                   {{"image", {32, 16}}, {"parts", {"boxes+scores"}}, {"score", "sigmoid"}}, 0.25f);
    ck_assert_uint_eq(found.size(), by > 0 ? 1 : 0);
  }
}

DVNN_TEST(softmax_and_its_background_agree_with_plain_arithmetic) {
  // The boxes lie apart, so that only scores decide.
  std::vector<float> boxes, logits;
  size_t wanted = 0;
  for (int i = 0; i < 200; ++i) {
    const float x = static_cast<float>(i);
    for (float v : {x, 0.0f, x + 0.5f, 1.0f}) boxes.push_back(v);
    const float row[] = {std::sin(x) * 3, std::cos(x * 1.7f) * 3, std::sin(x * 0.3f) * 3};
    logits.insert(logits.end(), row, row + 3);
    float sum = 0;
    for (float v : row) sum += std::exp(v);
    wanted += std::max(std::exp(row[0]), std::exp(row[1])) / sum >= 0.3f;
  }
  const auto found = Outputs()
                         .add("b", {1, 200, 4}, boxes)
                         .add("s", {1, 200, 3}, logits)
                         .found("boxes",
                                {{"parts", {"boxes", "scores"}},
                                 {"box", "corners"},
                                 {"unit", "fractions"},
                                 {"score", "softmax"},
                                 {"num_classes", 3},
                                 {"background_label_id", 2}},
                                0.3f);
  ck_assert_uint_gt(wanted, 20);
  ck_assert_uint_eq(found.size(), wanted);
  for (size_t i = 1; i < found.size(); ++i) {
    ck_assert_float_ge(found[i - 1].confidence, found[i].confidence);
  }
}

}  // namespace dvnn::test::scores_tests
