// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "check_main.h"
#include "decode/decoder.h"

using namespace dvnn;
using namespace dvnn::decode;
using nlohmann::json;

static NamedOutput output(const char* name, Shape shape) {
  return {name, {ElementType::kFloat32, Layout::kNchw, shape}};
}

static ConstTensorView view(const NamedOutput& o, const std::vector<float>& values) {
  return {o.desc, reinterpret_cast<const uint8_t*>(values.data())};
}

START_TEST(detection_rows_are_read_until_their_threshold) {
  const NamedOutput rows = output("d", {1, 1, 3, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const std::vector<float> values = {0, 2, 0.6f, 0,  0, 0.5f, 0.5f, 0, 1, 0.9f, 0.1f,
                                     0, 1, 1,    -1, 0, 0,    0,    0, 0, 0};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert(found[1].box.x1 == 0.5f);
  found.clear();
  ck_assert(decoder.value()->decode({&v, 1}, 0.7f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
}
END_TEST

START_TEST(rows_of_impossible_classes_are_no_objects) {
  const NamedOutput rows = output("d", {1, 1, 4, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float nan = std::nanf("");
  const std::vector<float> values = {0, nan, 1, 0, 0, 1, 1, 0, 1e30f, 1, 0, 0, 1, 1,
                                     0, -1,  1, 0, 0, 1, 1, 0, 3,     1, 0, 0, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 3);
}
END_TEST

START_TEST(classes_come_best_first_with_probabilities) {
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
END_TEST

static json ssd_params() {
  return {{"loc", "loc"},
          {"conf", "conf"},
          {"num_classes", 2},
          {"anchors",
           {{"rule", "min-boxes"}, {"image", {16, 16}}, {"strides", {8}}, {"min_boxes", {{8}}}}}};
}

START_TEST(raw_heads_become_boxes_over_anchors) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert_msg(decoder.ok(), "%s", decoder.ok() ? "" : decoder.error().message.c_str());
  const std::vector<float> loc(16, 0.0f), conf = {1, 0, 0.2f, 0.8f, 1, 0, 0.4f, 0.6f};
  const ConstTensorView views[] = {view(outputs[0], loc), view(outputs[1], conf)};
  objects::Objects found;
  ck_assert(decoder.value()->decode({views, 2}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_double_eq_tol(found[0].box.x0, 0.5, 1e-6);  // anchor 1: right column, upper row
  ck_assert_double_eq_tol(found[0].box.y1, 0.5, 1e-6);
  ck_assert_int_eq(found[0].class_id, 1);
}
END_TEST

START_TEST(decoders_that_do_not_fit_are_refused_by_name) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  auto message = [&](const char* name, const json& params, size_t count) {
    auto decoder = create_decoder(name, params, {outputs, count});
    ck_assert(!decoder.ok());
    return decoder.error().message;
  };
  auto has = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  ck_assert(has(message("yolo99", json::object(), 2), "classification"));
  ck_assert(has(message("detection-output", json::object(), 2), "1x1xNx7"));
  ck_assert(has(message("ssd", json::object(), 2), "num_classes"));
  json params = ssd_params();
  params["loc"] = "nowhere";
  ck_assert(has(message("ssd", params, 2), "nowhere"));
  params = ssd_params();
  params["num_classes"] = 3;
  ck_assert(has(message("ssd", params, 2), "conf"));
  params = ssd_params();
  params["score"] = "magic";
  ck_assert(has(message("ssd", params, 2), "magic"));
  params = ssd_params();
  params.erase("anchors");
  ck_assert(has(message("ssd", params, 2), "anchors"));
}
END_TEST

START_TEST(anchors_and_classes_are_held_against_outputs_before_memory_is_taken) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  json params = ssd_params();
  params["num_classes"] = 65536;  // with 2^20 anchors: 256 GiB
  params["anchors"] = {{"rule", "prior-box"},
                       {"layers",
                        {{{"min_sizes", {1}},
                          {"img_w", 1024},
                          {"img_h", 1024},
                          {"layer_w", 1024},
                          {"layer_h", 1024}}}}};
  const auto decoder = create_decoder("ssd", params, {outputs, 2});
  ck_assert(!decoder.ok());
  ck_assert_msg(decoder.error().message.find("output 'loc'") != std::string::npos, "%s",
                decoder.error().message.c_str());
}
END_TEST

START_TEST(candidates_of_all_classes_have_a_budget) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  setenv("DVNN_MAX_CANDIDATES", "3", 1);
  const auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert(!decoder.ok());
  ck_assert(decoder.error().message.find("DVNN_MAX_CANDIDATES") != std::string::npos);
  json params = ssd_params();
  params["nms_top_k"] = 3;
  ck_assert(create_decoder("ssd", params, {outputs, 2}).ok());
  unsetenv("DVNN_MAX_CANDIDATES");
}
END_TEST

START_TEST(what_is_no_number_and_no_class_is_no_detection) {
  const NamedOutput rows = output("d", {1, 1, 8, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float inf = INFINITY;
  const std::vector<float> values = {0,   1,   0.9f, 0, 0,   1, 1,  // the only good one
                                     0,   NAN, 0.9f, 0, 0,   1, 1, 0, 1e30f, 0.9f, 0, 0, 1,   1,  //
                                     0,   -5,  0.9f, 0, 0,   1, 1, 0, 1,     NAN,  0, 0, 1,   1,  //
                                     NAN, 1,   0.9f, 0, 0,   1, 1, 0, 1,     0.9f, 0, 0, inf, 1,  //
                                     0,   inf, 0.9f, 0, NAN, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.1f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
}
END_TEST

START_TEST(boxes_that_are_nowhere_are_left_out) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert(decoder.ok());
  std::vector<float> loc(16, 0.0f);
  const std::vector<float> conf = {0, 1, 0, 1, 0, NAN, 0, 1};
  loc[0] = NAN;
  loc[7] = 1e9f;  // exp() of it is infinite
  const ConstTensorView views[] = {view(outputs[0], loc), view(outputs[1], conf)};
  objects::Objects found;
  ck_assert(decoder.value()->decode({views, 2}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
}
END_TEST

START_TEST(scores_that_are_no_numbers_come_last) {
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
END_TEST

START_TEST(outputs_other_than_those_it_was_made_for_are_refused) {
  const NamedOutput rows = output("d", {1, 1, 3, 7}), more = output("d", {1, 1, 30, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const std::vector<float> values(210, 1.0f);
  objects::Objects found;
  const ConstTensorView larger = view(more, values);
  ck_assert(!decoder.value()->decode({&larger, 1}, 0.5f, &found).ok());
  ck_assert(!decoder.value()->decode({}, 0.5f, &found).ok());
  const ConstTensorView nothing = {rows.desc, nullptr};
  ck_assert(!decoder.value()->decode({&nothing, 1}, 0.5f, &found).ok());
  ck_assert(found.empty());
}
END_TEST

DVNN_TEST_MAIN(decoders, anchors_and_classes_are_held_against_outputs_before_memory_is_taken,
               candidates_of_all_classes_have_a_budget,
               what_is_no_number_and_no_class_is_no_detection, boxes_that_are_nowhere_are_left_out,
               scores_that_are_no_numbers_come_last,
               outputs_other_than_those_it_was_made_for_are_refused,
               detection_rows_are_read_until_their_threshold,
               rows_of_impossible_classes_are_no_objects,
               classes_come_best_first_with_probabilities, raw_heads_become_boxes_over_anchors,
               decoders_that_do_not_fit_are_refused_by_name)
