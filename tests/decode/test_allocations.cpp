// SPDX-License-Identifier: Apache-2.0
// Frame after frame, decoders work in the memory that they have.
#include "counted_new.h"

#include "base/json.h"
#include "decode/custom_decoders.h"
#include "objects/object.h"
#include "outputs.h"

namespace dvnn::test::allocations_tests {

DVNN_SUITE(decoder_allocations);

using json = dvnn::Json;

namespace {

std::vector<float> numbers(size_t count, float low, float high) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = low + (high - low) * static_cast<float>(i * 37 % 101) / 100;
  }
  return values;
}

// Runs the decoder on frames of the same numbers; the last one finds what the others found, and
// asks for no memory. Objects that change their places leave their memory to others, so that each
// has met the largest one only after some frames.
void check_steady(const char* name, const json& params, const Outputs& outputs,
                  const decode::CustomDecoders* library = nullptr) {
  auto made = decode::create_decoder(name, params, outputs.named(), library);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  // Long enough to need memory of their own.
  const std::vector<std::string> labels(4, "a label of more bytes than a string has room for");
  objects::FrameMap map;
  map.input = {64, 64};
  map.clip = image::Corners{0, 0, 64, 64};
  objects::Objects found;
  constexpr int kFrames = 32;
  size_t news = 0, before = 0;
  for (int frame = 0; frame < kFrames; ++frame) {
    before = found.size();
    news = counted_news;
    found.clear();
    const Status status = made.value()->decode(outputs.views(), 0.3f, &found);
    objects::set_labels(labels, &found);
    objects::map_to_frame(map, &found);
    news = counted_news - news;
    ck_assert(status.ok());
    if (frame == 0) ck_assert_msg(news > 0, "%s is not counted", name);
  }
  ck_assert_msg(!found.empty() && found.size() == before, "%s finds %zu", name, found.size());
  ck_assert_msg(news == 0, "%s allocates %zu times for %zu objects", name, news, found.size());
}

const json kImage = {64, 64};

}  // namespace

DVNN_TEST(detectors_work_in_the_memory_that_they_have) {
  Outputs grid;
  grid.add("o", {1, 84, 17}, numbers(84 * 17, 0.1f, 0.9f));
  check_steady("grid",
               {{"image", kImage},
                {"strides", {8, 16, 32}},
                {"parts", {"boxes+scores+points"}},
                {"num_classes", 3},
                {"point_count", 5},
                {"skeleton", "face-5"}},
               grid);
  Outputs anchors;
  anchors.add("o", {1, 24, 8, 8}, numbers(24 * 64, -1, 1), ElementType::kFloat16, Layout::kNhwc);
  check_steady("anchors",
               {{"image", kImage},
                {"strides", {8}},
                {"anchors", {{4, 4, 8, 8, 16, 16}}},
                {"objectness_score", "sigmoid"},
                {"score", "sigmoid"}},
               anchors);
  Outputs masks;
  masks.add("o", {1, 200, 8}, numbers(200 * 8, 0, 64))
      .add("maps", {1, 3, 16, 16}, numbers(3 * 256, -1, 1));
  check_steady(
      "boxes",
      {{"image", kImage}, {"parts", {"boxes+scores+masks"}}, {"num_classes", 1}, {"mask_count", 3}},
      masks);
  Outputs turned;
  turned.add("o", {1, 6, 200}, numbers(6 * 200, 0, 2));
  check_steady("boxes",
               {{"image", kImage},
                {"unit", "fractions"},
                {"parts", {"boxes+scores+angle"}},
                {"num_classes", 1}},
               turned);
  Outputs heat;
  heat.add("hm", {1, 2, 16, 16}, numbers(512, 0, 1))
      .add("wh", {1, 2, 16, 16}, numbers(512, 1, 3))
      .add("off", {1, 2, 16, 16}, numbers(512, 0, 1));
  check_steady("heatmap-centres", {{"image", kImage}, {"stride", 4}, {"num_classes", 2}}, heat);
  Outputs rows;
  rows.add("o", {1, 1, 50, 7}, numbers(350, 0, 1));
  check_steady("detection-output", json::object(), rows);
  Outputs priors;
  priors.add("loc", {1, 192, 4}, numbers(768, -1, 1)).add("conf", {1, 192, 2}, numbers(384, 0, 1));
  check_steady("ssd",
               {{"loc", "loc"},
                {"conf", "conf"},
                {"num_classes", 2},
                {"anchors",
                 {{"rule", "min-boxes"},
                  {"image", kImage},
                  {"strides", {8}},
                  {"min_boxes", {{8, 16, 24}}}}}},
               priors);
}

DVNN_TEST(maps_points_and_text_do_so_too) {
  Outputs map;
  map.add("o", {1, 3, 16, 16}, numbers(768, 0, 1));
  check_steady("segmentation", json::object(), map);
  check_steady("keypoints", {{"form", "heatmaps"}}, map);
  Outputs faces;
  faces.add("o", {1, 1404}, numbers(1404, 0, 1));
  check_steady("keypoints", {{"form", "coordinates"}, {"point_size", 3}}, faces);
  Outputs lines;
  lines.add("x", {1, 17, 64}, numbers(17 * 64, 0.4f, 1))
      .add("y", {1, 17, 64}, numbers(17 * 64, 0.4f, 1));
  check_steady("keypoints", {{"form", "simcc"}}, lines);
  std::vector<float> words(64 * 64, 0.0f);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % 64 < 20 && i / 64 % 16 < 8) words[i] = 0.9f;
  }
  Outputs regions;
  regions.add("o", {1, 1, 64, 64}, words);
  check_steady("db", json::object(), regions);
  Outputs text;
  std::vector<float> steps(60 * 4, 0.0f);
  for (size_t i = 0; i < 60; ++i) steps[4 * i + 1 + i % 3] = 0.9f;
  text.add("o", {1, 60, 4}, steps);
  check_steady("ctc", {{"alphabet", "abc"}}, text);
}

DVNN_TEST(what_is_known_of_the_whole_does_so_too) {
  Outputs whole;
  whole.add("o", {1, 100}, numbers(100, 0, 1));
  check_steady("classification", json::object(), whole);
  check_steady("embedding", json::object(), whole);
  check_steady("number", {{"names", {"age"}}, {"expectation", true}}, whole);
  Outputs heads;
  heads.add("a", {1, 8}, numbers(8, 0, 1)).add("b", {1, 8}, numbers(8, 0, 1));
  check_steady("classification", {{"heads", true}}, heads);
  check_steady("classification", {{"multi_label", true}}, whole);
}

DVNN_TEST(decoders_of_libraries_do_so_too) {
  auto library = decode::CustomDecoders::open(CELLS_MODULE);
  ck_assert(library.ok());
  Outputs cells;
  cells.add("o", {1, 2, 8, 8}, numbers(128, 0, 1));
  check_steady("cells", json::object(), cells, library.value().get());
}

}  // namespace dvnn::test::allocations_tests
