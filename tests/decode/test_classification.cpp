// SPDX-License-Identifier: Apache-2.0
// Classes of the whole picture.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::classification_tests {

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

}  // namespace dvnn::test::classification_tests
