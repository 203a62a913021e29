// SPDX-License-Identifier: Apache-2.0
// What is known of the whole picture: classes, embeddings and named numbers.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::numbers_tests {

DVNN_SUITE(decoders);

using namespace dvnn::decode;
using json = dvnn::Json;

DVNN_TEST(classes_come_best_first_with_probabilities) {
  const NamedOutput scores = output("s", {1, 4});
  auto decoder = create_decoder("classification", {{"softmax", true}, {"top_k", 2}}, {&scores, 1});
  ck_assert(decoder.ok());
  const std::vector<float> values = {1, 3, 2, -5};
  const ConstTensorView v = view(scores, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 1);
  const float sum = std::exp(-2.0f) + 1 + std::exp(-1.0f) + std::exp(-8.0f);
  ck_assert_float_eq_tol(found[0].confidence, 1 / sum, 1e-6f);
  ck_assert(found[0].raw_score == 3);
  // A class is of all that the network was shown.
  ck_assert(found[0].kind == objects::Kind::kClassification);
  ck_assert(found[0].box.x0 == 0 && found[0].box.y0 == 0 && found[0].box.x1 == 1 &&
            found[0].box.y1 == 1);
}

DVNN_TEST(scores_that_are_no_numbers_come_last) {
  const NamedOutput scores = output("s", {1, 1000});
  auto decoder = create_decoder("classification", {{"top_k", 3}}, {&scores, 1});
  ck_assert(decoder.ok());
  std::vector<float> values(1000, NAN);
  values[500] = 0.25f;
  values[7] = 0.75f;
  const ConstTensorView v = view(scores, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 7);
}

DVNN_TEST(heads_tell_their_best_class_and_labels_may_be_several) {
  Outputs heads;
  heads.add("colour", {1, 3}, {0.1f, 0.2f, 0.7f}).add("kind", {1, 2}, {0.9f, 0.1f});
  const auto found = heads.found("classification", {{"heads", true}}, 0.5f);
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 3);
  ck_assert_int_eq(found[1].class_id, 2);
  const auto labels =
      Outputs()
          .add("o", {1, 3}, {2, -2, 1})
          .found("classification", {{"multi_label", true}, {"score", "sigmoid"}}, 0.5f);
  ck_assert_uint_eq(labels.size(), 2);
  ck_assert_int_eq(labels[1].class_id, 2);
  ck_assert_float_eq_tol(labels[1].confidence, 1 / (1 + std::exp(-1.0f)), 1e-6f);
  ck_assert(heads.found("none", json::object(), 0).empty());
}

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
