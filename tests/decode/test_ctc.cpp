// SPDX-License-Identifier: Apache-2.0
// Steps over an alphabet become text.
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::ctc_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(best_paths_are_text_without_repeats_and_blanks) {
  // Steps: b b blank b a, over (blank, a, b).
  const std::vector<float> rows = {0, 0, 9, 0, 0, 9, 9, 0, 0, 0, 0, 9, 0, 9, 0};
  const json params = {{"alphabet", "a\xc3\xa4"}, {"score", "softmax"}};
  const auto found = Outputs().add("o", {1, 5, 3}, rows).found("ctc", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  dvnn_assert_text(found[0].text,
                   "\xc3\xa4\xc3\xa4"
                   "a");
  ck_assert_float_gt(found[0].confidence, 0.99f);
  ck_assert_uint_eq(found[0].text_confidences.size(), 3);
  ck_assert_float_gt(found[0].text_confidences[2], 0.99f);
  std::vector<float> columns(15);
  for (size_t i = 0; i < 15; ++i) columns[i % 3 * 5 + i / 3] = rows[i];
  dvnn_assert_text(Outputs().add("o", {1, 3, 5}, columns).found("ctc", params, 0)[0].text,
                   "\xc3\xa4\xc3\xa4"
                   "a");
  const json last = {{"alphabet", {"x", "yz"}}, {"blank", -1}};
  dvnn_assert_text(Outputs().add("o", {1, 5, 3}, rows).found("ctc", last, 0)[0].text, "xyz");
  // Without softmax the scores are the confidences, of each character that a class stands for.
  ck_assert(Outputs().add("o", {1, 5, 3}, rows).found("ctc", last, 0)[0].text_confidences ==
            (std::vector<float>{9, 9, 9}));
  const std::string refused =
      Outputs().add("o", {1, 5, 4}, std::vector<float>(20)).refusal("ctc", last);
  ck_assert_msg(refused.find("alphabet") != std::string::npos, "%s", refused.c_str());
}

}  // namespace dvnn::test::ctc_tests
