// SPDX-License-Identifier: Apache-2.0
// Embeddings and named numbers.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::numbers_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(embeddings_are_of_unit_length_unless_told_otherwise) {
  Outputs outputs;
  outputs.add("o", {1, 2, 1, 1}, {3, 4}, ElementType::kFloat16, Layout::kWhc8);
  const auto found = outputs.found("embedding", json::object(), 0.9f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_float_eq_tol(found[0].embedding[1], 0.8f, 1e-6f);
  ck_assert(outputs.found("embedding", {{"normalize", false}}, 0)[0].embedding[1] == 4);
  ck_assert(Outputs().add("o", {1, 2}, {NAN, 1}).found("embedding", json::object(), 0).empty());
}

DVNN_TEST(numbers_have_names) {
  Outputs outputs;
  outputs.add("o", {1, 2}, {0.25f, 0.5f});
  const auto found =
      outputs.found("number", {{"names", {"age", "mood"}}, {"scale", 100}, {"offset", 1}}, 0);
  ck_assert_uint_eq(found[0].numbers.size(), 2);
  dvnn_assert_text(found[0].numbers[1].name, "mood");
  ck_assert_double_eq_tol(found[0].numbers[1].value, 51, 1e-6);
  const auto mean = Outputs()
                        .add("o", {1, 3}, {0, 0.5f, 0.5f})
                        .found("number", {{"names", {"age"}}, {"expectation", true}}, 0);
  ck_assert_double_eq_tol(mean[0].numbers[0].value, 1.5, 1e-6);
  const std::string refused = outputs.refusal("number", {{"names", {"age"}}});
  ck_assert_msg(refused.find("2 numbers") != std::string::npos, "%s", refused.c_str());
}

}  // namespace dvnn::test::numbers_tests
