// SPDX-License-Identifier: Apache-2.0
// What is known of the whole picture: classes, embeddings and named numbers. Text: steps over an
// alphabet, and maps of where text is.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::numbers_and_text_tests {

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

DVNN_TEST(regions_of_text_are_turned_rectangles) {
  // A bar of 20 x 4 cells, and one along a diagonal, in 64 x 32 cells.
  std::vector<float> map(64 * 32, 0.0f);
  for (int y = 10; y < 15; ++y) {
    for (int x = 5; x < 26; ++x) map[static_cast<size_t>(y * 64 + x)] = 0.8f;
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 6; ++j) map[static_cast<size_t>((2 + i + j) * 64 + 40 + i - j)] = 0.9f;
    for (int j = 0; j < 5; ++j) map[static_cast<size_t>((3 + i + j) * 64 + 40 + i - j)] = 0.9f;
  }
  const auto found = Outputs()
                         .add("o", {1, 1, 32, 64}, map, ElementType::kFloat16, Layout::kWhc8)
                         .found("db", {{"unclip", 0}}, 0.6f);
  ck_assert_uint_eq(found.size(), 2);
  assert_box(found[1], 5 / 64.0, 10 / 32.0, 25 / 64.0, 14 / 32.0);
  ck_assert_uint_eq(found[1].outline.size(), 4);
  ck_assert_double_eq_tol(found[1].outline[2].x, 25 / 64.0, 1e-6);
  ck_assert_float_eq_tol(found[1].confidence, 0.8f, 1e-3f);
  // The diagonal's longer sides run from the upper left to the lower right.
  const auto& corners = found[0].outline;
  const double along_x = (corners[1].x - corners[0].x) * 64,
               along_y = (corners[1].y - corners[0].y) * 32;
  const double across_x = (corners[2].x - corners[1].x) * 64;
  ck_assert_double_eq_tol(std::abs(along_x), std::abs(along_y), 1e-3);
  ck_assert_double_eq_tol(std::max(std::abs(along_x), std::abs(across_x)), 15.5, 1.0);
  // Grown by area * ratio / circumference on every side: 80 * 1.5 / 48.
  const auto grown = Outputs().add("o", {1, 1, 32, 64}, map).found("db", {{"unclip", 1.5}}, 0.6f);
  assert_box(grown[1], (5 - 2.5) / 64, (10 - 2.5) / 32, (25 + 2.5) / 64, (14 + 2.5) / 32);
}

}  // namespace dvnn::test::numbers_and_text_tests
