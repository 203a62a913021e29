// SPDX-License-Identifier: Apache-2.0
// Networks for every decoder with small outputs that fit, and some that name no existing decoder.
#pragma once

#include <vector>

namespace dvnn::fuzz {

struct DecodedOutput {
  const char* name;
  std::vector<int> dims;
};

struct DecodedNetwork {
  const char *decoder, *params;
  std::vector<DecodedOutput> outputs;
};

inline const std::vector<DecodedNetwork>& decoded_networks() {
  static const auto* const list = new std::vector<DecodedNetwork>{
      {"ssd",
       R"({"loc": "loc", "conf": "conf", "num_classes": 2, "anchors": {"rule": "min-boxes",
           "image": [16, 16], "strides": [4], "min_boxes": [[4]]}})",
       {{"loc", {1, 64}}, {"conf", {1, 16, 2}}}},
      {"ssd",
       R"({"loc": "loc", "conf": "conf", "num_classes": 3, "score": "softmax", "nms_top_k": 5,
           "keep_top_k": 3, "class_agnostic": true, "anchors": {"rule": "min-boxes",
           "image": [8, 8], "strides": [4], "min_boxes": [[4, 8]]}})",
       {{"loc", {1, 8, 4}}, {"conf", {1, 24}}}},
      {"classification", R"({"softmax": true, "top_k": 3})", {{"o", {1, 10}}}},
      {"classification", R"({"heads": true, "multi_label": true})", {{"a", {1, 3}}, {"b", {1, 2}}}},
      {"detection-output", "{}", {{"o", {1, 1, 5, 7}}}},
      {"grid",
       R"({"image": [16, 16], "strides": [4, 8], "num_classes": 2,
           "parts": ["boxes+objectness+scores"]})",
       {{"o", {1, 20, 7}}}},
      {"grid",
       R"({"image": [16, 16], "strides": [8], "box": "distribution", "bins": 4, "num_classes": 2,
           "parts": ["boxes", "scores", "points"], "score": "sigmoid", "unit": "pixels",
           "point_count": 5, "skeleton": "face-5"})",
       {{"b", {1, 16, 2, 2}}, {"s", {1, 2, 2, 2}}, {"p", {1, 10, 2, 2}}}},
      {"anchors",
       R"({"image": [16, 16], "strides": [8], "anchors": [[4, 4, 8, 2]], "num_classes": 1,
           "parts": ["boxes+objectness+scores"]})",
       {{"o", {1, 12, 2, 2}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+points"], "num_classes": 1,
           "point_count": 17, "point_size": 3, "skeleton": "coco-17"})",
       {{"o", {1, 56, 60}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+masks"], "num_classes": 1, "mask_count": 2})",
       {{"o", {1, 7, 9}}, {"maps", {1, 2, 4, 4}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+angle"], "num_classes": 2})",
       {{"o", {1, 7, 9}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+class"], "num_classes": 1, "box": "corners",
           "unit": "fractions", "nms_threshold": 1})",
       {{"o", {1, 4, 6}}}},
      {"heatmap-centres",
       R"({"image": [32, 16], "stride": 8, "num_classes": 1})",
       {{"hm", {1, 1, 2, 4}}, {"wh", {1, 2, 2, 4}}, {"off", {1, 2, 2, 4}}}},
      {"segmentation", "{}", {{"o", {1, 3, 4, 6}}}},
      {"segmentation", R"({"score": "sigmoid", "threshold": 0.6})", {{"o", {1, 1, 4, 6}}}},
      {"segmentation", R"({"indices": true})", {{"o", {1, 4, 6}}}},
      {"segmentation", R"({"channel": 0, "channels": "last"})", {{"o", {1, 4, 6, 2}}}},
      {"keypoints",
       R"({"unit": "pixels", "image": [16, 16], "skeleton": "face-5", "point_size": 3,
           "point_confidence": true, "score_output": "sure"})",
       {{"p", {1, 15}}, {"sure", {1, 1}}}},
      {"keypoints", R"({"form": "heatmaps"})", {{"o", {1, 5, 4, 4}}}},
      {"keypoints",
       R"({"form": "simcc", "skeleton": "coco-17", "outputs": ["x", "y"]})",
       {{"x", {1, 17, 8}}, {"y", {1, 17, 6}}}},
      {"db", R"({"least_side": 1})", {{"o", {1, 1, 16, 16}}}},
      {"db", R"({"bound": 0.5, "unclip": 8, "max_regions": 2})", {{"o", {1, 1, 12, 20}}}},
      {"ctc", R"({"alphabet": "a\u00e4\n", "score": "softmax"})", {{"o", {1, 6, 4}}}},
      {"ctc", R"({"alphabet": ["one", "", "\u001b[2J"], "blank": -1})", {{"o", {1, 6, 4}}}},
      {"embedding", "{}", {{"o", {1, 2, 1, 3}}}},
      {"number", R"({"names": ["age", "mood"], "scale": 100, "offset": 1})", {{"o", {1, 2}}}},
      {"number", R"({"names": ["age"], "expectation": true})", {{"o", {1, 7}}}},
      {"none", "{}", {{"o", {1, 2}}}},
      {"", "{}", {{"o", {1, 2}}}},
      {"nothing", "{}", {{"o", {1, 2}}}},
      {"ssd", "[[[", {{"o", {1, 2}}}},
  };
  return *list;
}

}  // namespace dvnn::fuzz
