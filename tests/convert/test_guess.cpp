// SPDX-License-Identifier: Apache-2.0
// Families of models, known by the names and shapes of their outputs.
#include "check_suite.h"
#include "convert/exported.h"
#include "convert/guess.h"
#include "convert/presets.h"

namespace dvnn::test::guess_tests {

DVNN_SUITE(convert_guess);

using Outputs = std::vector<std::pair<const char*, Shape>>;

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

// What exporters write beside the graph, and the decoders that follow from it.

namespace {

std::vector<decode::NamedOutput> named(const Outputs& outputs) {
  std::vector<decode::NamedOutput> list;
  for (const auto& o : outputs) {
    list.push_back({o.first, {ElementType::kFloat32, Layout::kNchw, o.second}});
  }
  return list;
}

convert::Exported model(const char* task, size_t classes, const char* args = "") {
  std::string names = "{";
  for (size_t i = 0; i < classes; ++i)
    names += std::to_string(i) + ": 'c" + std::to_string(i) + "', ";
  const auto exported = convert::read_exported({{"author", "Ultralytics"},
                                                {"task", task},
                                                {"names", names + "}"},
                                                {"imgsz", "[480, 640]"},
                                                {"kpt_shape", "[17, 3]"},
                                                {"args", args}});
  ck_assert(exported.has_value());
  ck_assert_uint_eq(exported->labels.size(), classes);
  return *exported;
}

// "preset box parts classes" of the decoder that is found.
std::string found(const Outputs& outputs, const convert::Exported* exported, double side = 640) {
  const auto list = named(outputs);
  const auto guess = convert::guess_decoder(list, {side, side}, exported);
  ck_assert_msg(guess.ok(), "%s", guess.ok() ? "" : guess.error().message.c_str());
  if (!guess.value()) return "none";
  const Json& params = guess.value()->params;
  const auto text = [&](const char* name) {
    return params.contains(name) ? " " + json_text(params[name]) : std::string(" -");
  };
  return guess.value()->preset + text("box") + text("parts") + text("num_classes");
}

std::string found(const Outputs& outputs, const convert::Exported& exported, double side = 640) {
  return found(outputs, &exported, side);
}

// Returns the outputs of each stride with these numbers of channels, the largest grid first.
Outputs heads(std::initializer_list<int> numbers) {
  Outputs list;
  for (int side : {80, 40, 20}) {
    for (int count : numbers) list.push_back({"", {1, count, side, side}});
  }
  return list;
}

}  // namespace

DVNN_TEST(names_are_read_as_python_writes_them) {
  using Names = std::vector<std::string>;
  ck_assert(convert::read_python_names("{0: 'person', 1: \"driver's cab\"}") ==
            Names({"person", "driver's cab"}));
  ck_assert(convert::read_python_names("{ 0:'a\\'b' , }") == Names({"a'b"}));
  ck_assert(convert::read_python_names("['a', \"b\"]") == Names({"a", "b"}));
  ck_assert(convert::read_python_names("{\"0\": \"a\", \"1\": \"b\"}") == Names({"a", "b"}));
  for (const char* wrong :
       {"", "{", "{0: 'a'", "{1: 'a'}", "{0: 'a', 2: 'b'}", "{0: a}", "{0 'a'}", "{0: 'a' 1: 'b'}",
        "{-1: 'a'}", "{0: 'a", "{0: 'a\\", "7", "{0: \"a'}"}) {
    ck_assert_msg(convert::read_python_names(wrong).empty(), "%s", wrong);
  }
}

DVNN_TEST(metadata_of_others_says_nothing) {
  ck_assert(!convert::read_exported({}));
  ck_assert(!convert::read_exported({{"author", "Somebody"}, {"task", "detect"}}));
  ck_assert(!convert::read_exported({{"author", "Ultralytics"}, {"task", "dance"}}));
  const convert::Exported exported = model("detect", 2);
  ck_assert_int_eq(exported.width, 640);
  ck_assert_int_eq(exported.height, 480);
  const auto odd = convert::read_exported(
      {{"author", "Ultralytics"}, {"task", "detect"}, {"imgsz", "[0, 99999999999]"}});
  ck_assert(odd && odd->width == 0 && odd->height == 0 && odd->labels.empty());
}

DVNN_TEST(whole_heads_follow_from_the_task) {
  const auto whole = [](int numbers) { return Outputs{{"o", {1, numbers, 8400}}}; };
  dvnn_assert_text(found(whole(84), model("detect", 80)),
                   "yolov8 \"center\" [\"boxes+scores\"] 80");
  dvnn_assert_text(found(whole(84), model("detect", 80, "{'nms': True}")),
                   "yolov8 \"corners\" [\"boxes+scores\"] 80");
  // Transposed, and of so few classes that YOLOX could have the same shape.
  dvnn_assert_text(found({{"o", {1, 8400, 9}}}, model("detect", 5)),
                   "yolov8 \"center\" [\"boxes+scores\"] 5");
  // Oriented boxes of 15 classes look like boxes of 16.
  dvnn_assert_text(found(whole(20), model("obb", 15)),
                   "yolov8-obb \"center\" [\"boxes+scores+angle\"] 15");
  dvnn_assert_text(found(whole(20), nullptr), "yolov8 \"center\" [\"boxes+scores\"] -");
  dvnn_assert_text(found(whole(56), model("pose", 1)),
                   "yolov8-pose \"center\" [\"boxes+scores+points\"] 1");
  dvnn_assert_text(found({{"p", {1, 32, 160, 160}}, {"o", {1, 39, 8400}}}, model("segment", 3)),
                   "yolov8-seg \"center\" [\"boxes+scores+masks\"] 3");
  dvnn_assert_text(found({{"o", {1, 10}}}, model("classify", 10), 224), "yolov8-cls - - -");
  // Outputs that contradict the file's metadata have no decoder.
  dvnn_assert_text(found(whole(85), model("detect", 80)), "none");
}

DVNN_TEST(rows_after_suppression_are_no_cells) {
  dvnn_assert_text(found({{"o", {1, 300, 6}}}, model("detect", 80)),
                   "yolo-end-to-end \"corners\" [\"boxes+scores+class\"] 1");
  // Two classes beside a box are six numbers, too.
  dvnn_assert_text(found({{"o", {1, 300, 6}}}, model("detect", 2)),
                   "yolo-end-to-end \"corners\" [\"boxes+scores+class\"] 1");
  dvnn_assert_text(found({{"o", {1, 6, 8400}}}, model("detect", 2)),
                   "yolov8 \"center\" [\"boxes+scores\"] 2");
  dvnn_assert_text(found({{"o", {1, 300, 7}}}, model("obb", 15)),
                   "yolo-end-to-end \"center\" [\"boxes+scores+class+angle\"] 1");
  dvnn_assert_text(found({{"o", {1, 300, 38}}, {"p", {1, 32, 160, 160}}}, model("segment", 80)),
                   "yolo-end-to-end \"corners\" [\"boxes+scores+class+masks\"] 1");
}

DVNN_TEST(raw_heads_are_told_by_their_numbers) {
  const std::string joined = "yolov8-raw \"distribution\" [\"boxes+scores\"] ",
                    apart = "yolov8-raw \"distribution\" [\"boxes\",\"scores\"] ";
  ck_assert(found(heads({144}), nullptr) == joined + "80");
  ck_assert(found(heads({64, 80}), nullptr) == apart + "80");
  ck_assert(found(heads({7, 64}), nullptr) == apart + "7");
  // Three anchors of 85 numbers, as YOLOv5 has them, leave doubt.
  dvnn_assert_text(found(heads({255}), nullptr), "none");
  ck_assert(found(heads({255}), model("detect", 191)) == joined + "191");
  ck_assert(found(heads({68}), model("detect", 4)) == joined + "4");
  dvnn_assert_text(found(heads({84}), model("detect", 80)),
                   "yolov8-raw \"distances\" [\"boxes+scores\"] 80");
  dvnn_assert_text(found(heads({64, 1, 51}), nullptr),
                   "yolov8-raw \"distribution\" [\"boxes\",\"scores\",\"points\"] 1");
  Outputs masks = heads({64, 32, 80});
  masks.insert(masks.begin(), {"p", {1, 32, 160, 160}});
  dvnn_assert_text(found(masks, nullptr),
                   "yolov8-raw \"distribution\" [\"boxes\",\"scores\",\"masks\"] 80");
  dvnn_assert_text(found(heads({15, 1, 64}), model("obb", 15)),
                   "yolov8-raw \"distribution\" [\"boxes\",\"scores\",\"angle\"] 15");
  dvnn_assert_text(found(heads({19, 1}), model("obb", 15)),
                   "yolov8-raw \"distances\" [\"boxes+scores\",\"angle\"] 15");
  // Strides that differ, and outputs of no stride, are no heads.
  Outputs odd = heads({64, 80});
  odd[0].second = {1, 65, 80, 80};
  dvnn_assert_text(found(odd, nullptr), "none");
  Outputs more = heads({64, 80});
  more.push_back({"x", {1, 5, 7, 7}});
  dvnn_assert_text(found(more, nullptr), "none");
}

}  // namespace dvnn::test::guess_tests
