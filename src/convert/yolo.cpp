// SPDX-License-Identifier: Apache-2.0
// YOLO v8 to v12 and 26 as their exporter writes them, and their heads whose boxes are not decoded
// yet.
#include <algorithm>

#include "convert/guess.h"

namespace dvnn::convert {
namespace {

constexpr int64_t kBox = 4, kBins = 16, kMasks = 32, kMostNumbers = 4096;
constexpr int64_t kPosePoints = 17, kPosePointSize = 3;

// Values of an object beside its box and classes.
struct Extra {
  const char* part;  // null: none
  int64_t count;
};

// Returns the number of mask prototypes, 1xCxHxW at a quarter of the input's size, or 0.
int64_t prototypes_of(const OutputFacts& facts) {
  for (size_t i = 0; i < facts.count(); ++i) {
    const Shape& s = facts.shape(i);
    if (s.rank == 4 && s.n() == 1 && int64_t{s.h()} * s.w() == facts.cells({4})) return s.c();
  }
  return 0;
}

Extra extra_of(const OutputFacts& facts, const Exported& exported) {
  const int64_t points = int64_t{exported.points} * exported.point_size;
  if (exported.task == Task::kSegment) return {"masks", prototypes_of(facts)};
  if (exported.task == Task::kPose) {
    return {"points", points > 0 ? points : kPosePoints * kPosePointSize};
  }
  if (exported.task == Task::kObb) return {"angle", 1};
  return {nullptr, 0};
}

// Adds the parameters of values beside boxes.
void add_extra(const Extra& extra, const Exported* exported, Json* params) {
  if (!extra.part) return;
  const std::string part = extra.part;
  if (part == "masks") (*params)["mask_count"] = extra.count;
  if (part != "points") return;
  const bool said = exported && exported->points > 0;
  (*params)["point_count"] = said ? exported->points : kPosePoints;
  (*params)["point_size"] = said ? exported->point_size : kPosePointSize;
  const bool persons = (*params)["point_count"] == kPosePoints;
  (*params)["skeleton"] = persons ? Json("coco-17") : Json(nullptr);
}

// A list of rows of numbers, 1xAxB.
struct Rows {
  int64_t count, numbers;
};

bool is_list(const Shape& s) {
  return s.rank == 3 && s[0] == 1;
}

// --- heads by stride ----------------------------------------------------------------------------

using Strides = std::vector<int>;
const Strides kStrides[] = {{8, 16, 32}, {4, 8, 16, 32}, {8, 16, 32, 64}, {16, 32}};

// Returns the numbers per cell of each stride's outputs, if every output except prototypes belongs
// to a stride and the strides agree; else nothing.
std::vector<int64_t> numbers_by_stride(const OutputFacts& facts, const Strides& strides,
                                       bool has_prototypes) {
  std::vector<std::vector<int64_t>> all(strides.size());
  for (size_t i = 0; i < facts.count(); ++i) {
    const Shape& s = facts.shape(i);
    if (s.rank < 3 || s[0] != 1) return {};
    const bool is_prototypes = has_prototypes && s.rank == 4 && s.c() == kMasks &&
                               int64_t{s.h()} * s.w() == facts.cells({4});
    if (is_prototypes) continue;
    bool found = false;
    for (size_t k = 0; k < strides.size() && !found; ++k) {
      const int64_t cells = facts.cells({strides[k]});
      const bool last = s.rank == 4 ? int64_t{s.h()} * s.w() == cells : s[2] == cells;
      found = last && s.elements() == s[1] * cells;
      if (found) all[k].push_back(s[1]);
    }
    if (!found) return {};
  }
  for (std::vector<int64_t>& numbers : all) {
    std::sort(numbers.begin(), numbers.end());
    if (numbers != all[0]) return {};
  }
  return all[0];
}

// Removes one `number` from the list. Returns false if it is not there.
bool take(int64_t number, std::vector<int64_t>* numbers) {
  const auto it = std::find(numbers->begin(), numbers->end(), number);
  if (it == numbers->end()) return false;
  numbers->erase(it);
  return true;
}

struct RawHead {
  Json parts;
  int64_t classes = 0;
  Extra extra{nullptr, 0};
  bool distribution = true;
};

// Whether the numbers are those of boxes, classes and `extra`.
bool is_head(std::vector<int64_t> numbers, int64_t box, int64_t classes, const Extra& extra,
             RawHead* head) {
  head->extra = extra;
  head->distribution = box != kBox;
  if (extra.part && !take(extra.count, &numbers)) return false;
  if (numbers.size() == 1) {
    head->parts = {"boxes+scores"};
    head->classes = numbers[0] - box;
  } else if (numbers.size() == 2 && take(box, &numbers)) {
    head->parts = {"boxes", "scores"};
    head->classes = numbers[0];
  } else {
    return false;
  }
  if (extra.part) head->parts.push_back(extra.part);
  return head->classes > 0 && (classes == 0 || head->classes == classes);
}

// Without metadata: 64 numbers of a box beside another number, or the 144 of COCO's classes.
bool is_certain_head(const OutputFacts& facts, const std::vector<int64_t>& numbers, RawHead* head) {
  constexpr int64_t kCoco = 80;
  if (numbers.size() == 1) return is_head(numbers, kBox * kBins, kCoco, {nullptr, 0}, head);
  if (numbers.size() == 2) return is_head(numbers, kBox * kBins, 0, {nullptr, 0}, head);
  const Extra pose = {"points", kPosePoints * kPosePointSize};
  const Extra masks = {"masks", kMasks};
  if (prototypes_of(facts) == kMasks) return is_head(numbers, kBox * kBins, 0, masks, head);
  return is_head(numbers, kBox * kBins, 0, pose, head);
}

}  // namespace

std::optional<Match> raw_yolo(const OutputFacts& facts, const Exported* exported) {
  const auto classes = exported ? static_cast<int64_t>(exported->labels.size()) : 0;
  for (const Strides& strides : kStrides) {
    const std::vector<int64_t> numbers =
        numbers_by_stride(facts, strides, prototypes_of(facts) == kMasks);
    if (numbers.empty()) continue;
    RawHead head;
    bool found = is_certain_head(facts, numbers, &head);
    if (exported) {
      const Extra extra = extra_of(facts, *exported);
      found = classes > 0 && (is_head(numbers, kBox * kBins, classes, extra, &head) ||
                              is_head(numbers, kBox, classes, extra, &head));
    }
    if (!found) continue;
    Json more = {{"parts", head.parts}, {"strides", strides}, {"num_classes", head.classes}};
    if (!head.distribution) more["box"] = "distances";
    const std::string beside = head.extra.part ? head.extra.part : "";
    if (beside == "points") more["point_score"] = "sigmoid";
    // YOLO26, whose boxes are not distributions, has points relative to a cell's centre and angles
    // in radians.
    if (beside == "points" && head.distribution) {
      // The others have them relative to the corner: x = (2 * number + column) * stride.
      more["point_scale"] = 2;
      more["point_offset"] = 0;
    }
    if (beside == "angle" && head.distribution) more["angle"] = "sigmoid";
    add_extra(head.extra, exported, &more);
    return Match{"yolov8-raw", "YOLOv8, raw heads", std::move(more)};
  }
  return {};
}

std::optional<Match> exported_yolo(const OutputFacts& facts, const Exported& exported) {
  const auto classes = static_cast<int64_t>(exported.labels.size());
  if (exported.task == Task::kClassify) {
    if (facts.count() != 1 || facts.shape(0).elements() != classes) return {};
    return Match{"yolov8-cls", "YOLOv8 with classes of the whole picture"};
  }
  const Extra extra = extra_of(facts, exported);
  if (classes == 0 || (exported.task == Task::kSegment && extra.count == 0)) return {};
  static constexpr const char* kPresets[] = {"yolov8", "yolov8-seg", "yolov8-pose", "yolov8-obb"};
  const char* preset = kPresets[static_cast<size_t>(exported.task)];
  const std::string beside = extra.part ? std::string("+") + extra.part : "";
  for (size_t i = 0; i < facts.count(); ++i) {
    const Shape& s = facts.shape(i);
    if (!is_list(s)) continue;
    const int64_t whole = kBox + classes + extra.count, row = kBox + 2 + extra.count;
    // With two classes, six numbers fit both forms. Then the count decides, as there are more cells
    // than rows that a suppression leaves.
    constexpr int64_t kMostRows = 1000;
    const bool ambiguous = whole == row;
    const int64_t count = s[1] == whole || s[1] == row ? s[2] : s[1];
    Json more = {{"outputs", Json::array({facts.output(i).name})}};
    if ((s[1] == whole || s[2] == whole) && !(ambiguous && count <= kMostRows)) {
      more["parts"] = Json::array({"boxes+scores" + beside});
      more["num_classes"] = classes;
      more["box"] = exported.corners ? "corners" : "center";
      add_extra(extra, &exported, &more);
      return Match{preset, "YOLOv8", std::move(more)};
    }
    if (s[2] == row) {
      more["parts"] = Json::array({"boxes+scores+class" + beside});
      more["box"] = exported.task == Task::kObb ? "center" : "corners";
      add_extra(extra, &exported, &more);
      return Match{"yolo-end-to-end", "YOLO with suppression", std::move(more)};
    }
  }
  return raw_yolo(facts, &exported);
}

}  // namespace dvnn::convert
