// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_decode_cases.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "tools/bench/bench_decode_plain.h"

namespace dvnn::tools {
namespace {

const Json kImage = {640, 640};

DecodeCase grid_case() {
  PlainBoxes plain{85, 5, 80, false, true};
  return {"grid (YOLOX)",
          "grid",
          {{"image", kImage},
           {"strides", {8, 16, 32}},
           {"objectness_score", "sigmoid"},
           {"score", "sigmoid"}},
          {{"o", {1, 8400, 85}, -6, 2}},
          plain};
}

DecodeCase boxes_case() {
  PlainBoxes plain{84, 4, 80, true, false};
  return {"boxes (YOLOv8)",
          "boxes",
          {{"image", kImage}, {"parts", {"boxes+scores"}}, {"score", "sigmoid"}},
          {{"o", {1, 84, 8400}, -8, 2}},
          plain};
}

DecodeCase anchors_case() {
  PlainBoxes plain{85, 5, 80, true, true};
  return {"anchors (YOLOv5)",
          "anchors",
          {{"image", kImage},
           {"strides", {16}},
           {"anchors", {{30, 61, 62, 45, 59, 119}}},
           {"box", "yolo-scaled"},
           {"objectness_score", "sigmoid"},
           {"score", "sigmoid"}},
          {{"o", {1, 255, 40, 40}, -6, 2}},
          plain};
}

DecodeCase ssd_case() {
  PlainBoxes plain{6, 5, 1, false, false};
  return {"ssd (RetinaFace)",
          "ssd",
          {{"parts", {"boxes+scores"}},
           {"num_classes", 2},
           {"background_label_id", 0},
           {"score", "sigmoid"},
           {"anchors",
            {{"rule", "min-boxes"},
             {"image", kImage},
             {"strides", {8, 16, 32}},
             {"min_boxes", {{16, 32}, {64, 128}, {256, 512}}}}}},
          {{"o", {1, 16800, 6}, -6, 2}},
          plain};
}

// 200 rows of a DetectionOutput layer, all of them used.
DecodeCase rows_case() {
  auto row = [](size_t at, float random) {
    constexpr size_t kRow = 7;
    const float place = static_cast<float>(at / kRow) / 256;
    const float numbers[kRow] = {0, 1, std::abs(random), place, place, place + 0.1f, place + 0.2f};
    return numbers[at % kRow];
  };
  return {"detection-output",
          "detection-output",
          Json::object(),
          {{"o", {1, 1, 200, 7}, 0, 0.3f, row}},
          plain_rows};
}

DecodeCase centres_case() {
  return {"heatmap-centres",
          "heatmap-centres",
          {{"image", {512, 512}},
           {"stride", 4},
           {"num_classes", 80},
           {"score", "sigmoid"},
           {"nms_threshold", 1}},
          {{"hm", {1, 80, 128, 128}, -8, 2},
           {"wh", {1, 2, 128, 128}, 10, 3},
           {"off", {1, 2, 128, 128}, 0.5f, 0.1f}},
          plain_centres};
}

DecodeCase segmentation_case() {
  return {
      "segmentation", "segmentation", Json::object(), {{"o", {1, 19, 256, 512}, 0, 1}}, plain_map};
}

DecodeCase heatmaps_case() {
  return {"keypoints (maps)",
          "keypoints",
          {{"form", "heatmaps"}, {"skeleton", "coco-17"}},
          {{"o", {1, 17, 64, 48}, 0.1f, 0.1f}},
          plain_heatmaps};
}

DecodeCase simcc_case() {
  return {"keypoints (SimCC)",
          "keypoints",
          {{"form", "simcc"}, {"skeleton", "coco-17"}},
          {{"x", {1, 17, 384}, 0.1f, 0.1f}, {"y", {1, 17, 512}, 0.1f, 0.1f}},
          plain_simcc};
}

DecodeCase coordinates_case() {
  return {"keypoints (face)",
          "keypoints",
          {{"form", "coordinates"},
           {"skeleton", "face-468"},
           {"point_size", 3},
           {"unit", "pixels"},
           {"image", {192, 192}}},
          {{"o", {1, 1404}, 96, 30}},
          plain_coordinates};
}

// Words: bars of 40 x 8 cells in every other block of 64 x 32.
DecodeCase text_case() {
  auto bar = [](size_t at, float random) {
    const size_t x = at % 640 % 64, y = at / 640 % 32;
    return x < 40 && y < 8 ? 0.8f + 0.05f * random : 0.05f * std::abs(random);
  };
  return {"db (PaddleOCR)",
          "db",
          Json::object(),
          {{"o", {1, 1, 640, 640}, 0, 1, bar}},
          PlainRegions{640, 640, 0.3f}};
}

DecodeCase line_case() {
  Json alphabet = Json::array();
  for (int i = 0; i < 6624; ++i) alphabet.push_back("a");
  return {"ctc (PaddleOCR)",
          "ctc",
          {{"alphabet", alphabet}, {"score", "softmax"}},
          {{"o", {1, 40, 6625}, 0, 2}},
          PlainText{6625}};
}

std::vector<DecodeCase> whole_cases() {
  return {{"classification",
           "classification",
           {{"softmax", true}},
           {{"o", {1, 1000}, 0, 3}},
           plain_classes},
          {"embedding", "embedding", Json::object(), {{"o", {1, 512}, 0, 1}}, plain_embedding},
          {"number (age)",
           "number",
           {{"names", {"age"}}, {"expectation", true}, {"score", "softmax"}},
           {{"o", {1, 101}, 0, 2}},
           plain_expectation}};
}

}  // namespace

std::vector<DecodeCase> decode_cases() {
  std::vector<DecodeCase> cases = {grid_case(),         anchors_case(),  ssd_case(),
                                   boxes_case(),        centres_case(),  rows_case(),
                                   segmentation_case(), heatmaps_case(), simcc_case(),
                                   coordinates_case(),  text_case(),     line_case()};
  for (DecodeCase& whole : whole_cases()) cases.push_back(std::move(whole));
  return cases;
}

}  // namespace dvnn::tools
