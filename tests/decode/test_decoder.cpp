// SPDX-License-Identifier: Apache-2.0
// What all decoders share: names, refusals of outputs that do not fit, thresholds and softmax.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "decode/decoder.h"
#include "outputs.h"

namespace dvnn::test::decoder_tests {

DVNN_SUITE(decoders);

using namespace dvnn::decode;
using json = dvnn::Json;

DVNN_TEST(decoders_that_do_not_fit_are_refused_by_name) {
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

DVNN_TEST(class_thresholds_that_are_none_are_refused_whatever_the_decoder) {
  const NamedOutput rows = output("d", {1, 1, 3, 7});
  const struct {
    json value;
    const char* problem;
  } cases[] = {{{0.5}, "not an object"},
               {{{"cat", 1.5}}, "'cat' has 1.5"},
               {{{"cat", -0.1}}, "'cat' has -0.1"},
               {{{"cat", "0.5"}}, "'cat' has"},
               {{{"cat", nullptr}}, "'cat' has null"}};
  for (const auto& c : cases) {
    const auto decoder =
        create_decoder("detection-output", {{"class_thresholds", c.value}}, {&rows, 1});
    ck_assert(!decoder.ok());
    ck_assert_msg(decoder.error().message.find(c.problem) != std::string::npos, "%s: %s", c.problem,
                  decoder.error().message.c_str());
  }
  json params = json::object();
  set_class_thresholds({{"cat", 0.25}, {"a, b", 0}}, &params);
  ck_assert(create_decoder("detection-output", params, {&rows, 1}).ok());
  const auto read = read_class_thresholds(params);
  ck_assert(read.ok() && read.value() == (ClassThresholds{{"a, b", 0.0f}, {"cat", 0.25f}}));
  ck_assert(read_class_thresholds(json::object()).value().empty());
}

// dvdecode and dvnet choose by it what they do with results.
DVNN_TEST(decoders_say_what_they_find) {
  Outputs none, picture;
  none.add("y", {1, 4}, {1, 2, 3, 4});
  picture.add("map", {1, 1, 4, 4}, std::vector<float>(16, 0.0f));
  const auto kind_of = [](const Outputs& outputs, const char* name, const json& params) {
    auto made = outputs.make(name, params);
    ck_assert_msg(made.ok(), "%s: %s", name, made.ok() ? "" : made.error().message.c_str());
    return made.value()->kind();
  };
  ck_assert(kind_of(none, "none", json::object()) == objects::Kind::kAttributes);
  ck_assert(kind_of(none, "classification", json::object()) == objects::Kind::kClassification);
  ck_assert(kind_of(picture, "db", json::object()) == objects::Kind::kDetection);
}

DVNN_TEST(outputs_other_than_those_it_was_made_for_are_refused) {
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

DVNN_TEST(outputs_that_do_not_fit_are_told_with_what_was_looked_for) {
  auto has = [](const std::string& text, const char* word) {
    ck_assert_msg(text.find(word) != std::string::npos, "%s", text.c_str());
  };
  Outputs outputs;
  outputs.add("cls", {1, kCells, 3}, std::vector<float>(24))
      .add("reg", {1, 7, 4}, std::vector<float>(28));
  const json params = with(kGrid, {{"parts", {"boxes", "scores"}}, {"box", "distances"}});
  has(outputs.refusal("grid", params), "part 'boxes'");
  has(outputs.refusal("grid", params), "4 numbers in each of 8 cells");
  has(outputs.refusal("grid", params), "reg 1x7x4");
  has(outputs.refusal("grid", with(params, {{"parts", {"boxes", "colour"}}})), "colour");
  has(outputs.refusal("grid", with(params, {{"box", "round"}})), "center-exp");
  has(outputs.refusal("grid", {{"strides", {8}}}), "image");
  has(outputs.refusal("grid", {{"image", {32, 16}}}), "strides");
  has(outputs.refusal("anchors", with(kGrid, {{"anchors", {{4}}}})), "anchors");
  has(outputs.refusal("boxes", {{"image", {8, 8}}, {"parts", {"boxes+points"}}}), "point_count");
  has(outputs.refusal("grid", with(params, {{"outputs", {"nowhere", "cls"}}})), "nowhere");
  has(outputs.refusal("grid", with(params, {{"parts", {"scores"}}})), "'boxes'");
}

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

}  // namespace dvnn::test::decoder_tests
