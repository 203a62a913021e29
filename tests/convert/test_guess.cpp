// SPDX-License-Identifier: Apache-2.0
// Families of models, known by the names and shapes of their outputs.
#include "check_suite.h"
#include "convert/guess.h"
#include "convert/presets.h"

namespace dvnn::test::guess_tests {

DVNN_SUITE(convert_guess);

DVNN_TEST(families_are_known_by_their_shapes) {
  auto family = [](std::initializer_list<std::pair<const char*, Shape>> outputs, int w, int h) {
    std::vector<decode::NamedOutput> named;
    for (const auto& o : outputs) {
      named.push_back({o.first, {ElementType::kFloat32, Layout::kNchw, o.second}});
    }
    const auto guess =
        convert::guess_decoder(named, {static_cast<double>(w), static_cast<double>(h)});
    ck_assert(guess.ok());
    return guess.value() ? guess.value()->family : std::string("none");
  };
  dvnn_assert_text(family({{"o", {1, 3549, 85}}}, 416, 416), "YOLOX");
  dvnn_assert_text(family({{"o", {1, 3549, 85}}}, 320, 320), "none");
  dvnn_assert_text(family({{"o", {1, 84, 8400}}}, 640, 640), "YOLOv8");
  dvnn_assert_text(family({{"o", {1, 56, 8400}}}, 640, 640), "YOLOv8 pose");
  dvnn_assert_text(family({{"o", {1, 25200, 85}}}, 640, 640), "YOLOv5");
  dvnn_assert_text(family({{"o", {1, 116, 8400}}, {"p", {1, 32, 160, 160}}}, 640, 640),
                   "YOLOv8 with masks");
  dvnn_assert_text(family({{"o", {1, 2125, 112}}}, 320, 320), "NanoDet-Plus");
  dvnn_assert_text(
      family({{"a", {1, 4200, 4}}, {"b", {1, 4200, 2}}, {"c", {1, 4200, 10}}}, 320, 320),
      "RetinaFace");
  dvnn_assert_text(family({{"o", {1, 1000}}}, 224, 224), "none");
  dvnn_assert_text(family({}, 224, 224), "none");
}

// With key points an SCRFD has nine outputs, without them six: each kind has a preset of its own.
DVNN_TEST(key_points_decide_which_scrfd_it_is) {
  auto preset = [](bool points, Shape odd) {
    std::vector<decode::NamedOutput> named;
    auto add = [&](Shape shape) {
      named.push_back(
          {std::to_string(named.size()), {ElementType::kFloat32, Layout::kNchw, shape}});
    };
    for (const int columns : {1, 4, 10}) {
      if (columns == 10 && !points) continue;
      for (const int rows : {3200, 800}) add({1, rows, columns});
      if (columns == 4) {
        add(odd);
      } else {
        add({1, 200, columns});
      }
    }
    const auto guess = convert::guess_decoder(named, {320, 320});
    ck_assert(guess.ok());
    return guess.value() ? guess.value()->family + " " + guess.value()->preset : "none";
  };
  dvnn_assert_text(preset(true, {1, 200, 4}), "SCRFD scrfd");
  dvnn_assert_text(preset(false, {1, 200, 4}), "SCRFD scrfd-no-points");
  dvnn_assert_text(preset(true, {1, 200, 5}), "none");
  dvnn_assert_text(preset(false, {1, 200, 5}), "none");
}

// Outputs that a decoder takes, although they are another family's.
DVNN_TEST(another_familys_preset_is_doubted) {
  auto doubt = [](const char* preset, Shape shape) {
    const decode::NamedOutput output = {"o", {ElementType::kFloat32, Layout::kNchw, shape}};
    const auto found = convert::find_preset(preset);
    ck_assert(found.ok());
    const auto said = convert::doubt_preset({&output, 1}, {640, 640}, preset, found.value().params);
    ck_assert(said.ok());
    return said.value();
  };
  dvnn_assert_text(doubt("yolov8", {1, 56, 8400}),
                   "the outputs look like those of YOLOv8 pose, which --preset yolov8-pose reads; "
                   "yolov8 takes them "
                   "as well, but may find nonsense");
  ck_assert(doubt("yolov8", {1, 25200, 85}).find("--preset yolov5 ") != std::string::npos);
  ck_assert(doubt("fastestdet", {1, 8400, 85}).find("--preset yolox ") != std::string::npos);
  dvnn_assert_text(doubt("yolov8", {1, 84, 8400}), "");
  dvnn_assert_text(doubt("yolov8-obb", {1, 20, 8400}), "");             // a kind of its family
  dvnn_assert_text(doubt("light-person-detector", {1, 8400, 85}), "");  // read as YOLOX is
  dvnn_assert_text(doubt("imagenet", {1, 1000}), "");
}

}  // namespace dvnn::test::guess_tests
