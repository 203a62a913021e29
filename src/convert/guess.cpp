// SPDX-License-Identifier: Apache-2.0
#include "convert/guess.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "convert/presets.h"

namespace dvnn::convert {

using decode::NamedOutput;

bool OutputFacts::has(int64_t rows, int64_t columns) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const NamedOutput& output) {
    const Shape& s = output.desc.shape;
    return s.rank >= 2 && s[s.rank - 2] == rows && s[s.rank - 1] == columns &&
           s.elements() == rows * columns;
  });
}

bool OutputFacts::has_name(const char* name) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const NamedOutput& output) { return output.name == name; });
}

bool OutputFacts::single(int64_t* a, int64_t* b) const {
  if (outputs_.size() != 1) return false;
  const Shape& s = outputs_[0].desc.shape;
  if (s.rank != 3 || s[0] != 1) return false;
  *a = s[1];
  *b = s[2];
  return true;
}

namespace {

std::optional<Match> yunet(const OutputFacts& facts) {
  for (const char* name : {"cls_8", "obj_16", "bbox_32", "kps_8"}) {
    if (!facts.has_name(name)) return {};
  }
  return Match{"yunet",
               "YuNet",
               {{"outputs",
                 {{"cls_8", "cls_16", "cls_32"},
                  {"obj_8", "obj_16", "obj_32"},
                  {"bbox_8", "bbox_16", "bbox_32"},
                  {"kps_8", "kps_16", "kps_32"}}}}};
}

std::optional<Match> scrfd(const OutputFacts& facts) {
  const bool points = facts.count() == 9;
  if (!points && facts.count() != 6) return {};
  constexpr int kAnchors = 2;
  for (int stride : {8, 16, 32}) {
    const int64_t rows = kAnchors * facts.cells({stride});
    if (!facts.has(rows, 1) || !facts.has(rows, 4) || (points && !facts.has(rows, 10))) return {};
  }
  return Match{points ? "scrfd" : "scrfd-no-points", "SCRFD"};
}

std::optional<Match> nanodet(const OutputFacts& facts) {
  for (const char* name : {"cls_pred_stride_8", "dis_pred_stride_8", "dis_pred_stride_32"}) {
    if (!facts.has_name(name)) return {};
  }
  if (facts.count() != 6) return {};
  return Match{"nanodet", "NanoDet"};
}

std::optional<Match> retinaface(const OutputFacts& facts) {
  const int64_t rows = 2 * facts.cells({8, 16, 32});
  if (facts.count() != 3 || !facts.has(rows, 4) || !facts.has(rows, 2) || !facts.has(rows, 10)) {
    return {};
  }
  return Match{"retinaface", "RetinaFace"};
}

std::optional<Match> blazeface(const OutputFacts& facts) {
  if (facts.count() != 4 || !facts.has(512, 1) || !facts.has(384, 1) || !facts.has(512, 16) ||
      !facts.has(384, 16) || facts.cells({8}) != 256) {
    return {};
  }
  return Match{"blazeface", "BlazeFace"};
}

// One output: a row for each cell of strides 8, 16 and 32, or for each of its three anchors.
std::optional<Match> yolo(const OutputFacts& facts) {
  int64_t a = 0, b = 0;
  const int64_t cells = facts.cells({8, 16, 32});
  constexpr int64_t kLeast = 6, kMost = 1024;  // numbers of a row: box, objectness, classes
  constexpr int64_t kPose = 4 + 1 + 3 * 17;
  if (!facts.single(&a, &b)) return {};
  if (a == cells && b >= kLeast && b <= kMost) return Match{"yolox", "YOLOX"};
  if (a == 3 * cells && b >= kLeast && b <= kMost) return Match{"yolov5", "YOLOv5"};
  if (b == cells && a == kPose) return Match{"yolov8-pose", "YOLOv8 pose"};
  if (b == cells && a > 4 && a <= kMost) return Match{"yolov8", "YOLOv8"};
  constexpr int64_t kBins = 8;
  if (a == facts.cells({8, 16, 32, 64}) && b > 4 * kBins && b <= kMost) {
    return Match{"nanodet-plus", "NanoDet-Plus"};
  }
  return {};
}

// Rows with coefficients, and prototypes of a quarter of the input's size.
std::optional<Match> yolo_masks(const OutputFacts& facts) {
  if (facts.count() != 2) return {};
  constexpr int kMasks = 32;
  for (size_t i = 0; i < 2; ++i) {
    const Shape &rows = facts.output(i).desc.shape, &maps = facts.output(1 - i).desc.shape;
    if (rows.rank != 3 || rows[0] != 1 || maps.rank != 4 || maps.n() != 1 || maps.c() != kMasks ||
        int64_t{maps.h()} * maps.w() != facts.cells({4})) {
      continue;
    }
    const bool v8 = rows[2] == facts.cells({8, 16, 32}) && rows[1] > 4 + kMasks;
    const bool v5 = rows[1] == 3 * facts.cells({8, 16, 32}) && rows[2] > 5 + kMasks;
    if (v8) return Match{"yolov8-seg", "YOLOv8 with masks"};
    if (v5) return Match{"yolov5-seg", "YOLOv5 with masks"};
  }
  return {};
}

std::optional<Match> yolo_raw(const OutputFacts& facts) {
  return raw_yolo(facts, nullptr);
}

constexpr std::optional<Match> (*kMatches[])(const OutputFacts&) = {
    yunet, scrfd, nanodet, retinaface, blazeface, yolo, yolo_masks, yolo_raw};

// Returns the match's preset with its additional parameters, or nothing if the decoder refuses
// them.
Result<std::optional<Guess>> made_of(const Match& match, Span<const NamedOutput> outputs,
                                     const image::Size& input) {
  DVNN_ASSIGN(Preset preset, find_preset(match.preset));
  if (!match.more.is_null()) preset.params.merge_patch(match.more);
  decode::set_input_size(preset.decoder, input, &preset.params);
  if (!decode::create_decoder(preset.decoder, preset.params, outputs).ok()) {
    return std::optional<Guess>();
  }
  return std::optional<Guess>(
      {match.preset, preset.decoder, std::move(preset.params), match.family});
}

}  // namespace

Result<std::optional<Guess>> guess_decoder(Span<const decode::NamedOutput> outputs,
                                           const image::Size& input, const Exported* exported) {
  const OutputFacts facts(outputs, input);
  if (exported) {
    const auto matched = exported_yolo(facts, *exported);
    return matched ? made_of(*matched, outputs, input) : std::optional<Guess>();
  }
  for (const auto match : kMatches) {
    const auto matched = match(facts);
    if (!matched) continue;
    DVNN_ASSIGN(auto guess, made_of(*matched, outputs, input));
    if (guess) return guess;
  }
  return std::optional<Guess>();
}

Result<std::string> doubt_preset(Span<const decode::NamedOutput> outputs, const image::Size& input,
                                 const std::string& preset, const Json& params,
                                 const Exported* exported) {
  DVNN_ASSIGN(const auto guess, guess_decoder(outputs, input, exported));
  // Shapes do not distinguish variants of a family, such as yolov8-obb.
  if (!guess || starts_with(preset, guess->preset)) return std::string();
  const auto entry = [](const Json& from, const char* name) {
    return from.contains(name) ? from.at(name) : Json();
  };
  // Families that agree in both are decoded alike.
  const bool alike = entry(guess->params, "parts") == entry(params, "parts") &&
                     entry(guess->params, "box") == entry(params, "box");
  if (alike) return std::string();
  return "the outputs look like those of " + guess->family + ", which --preset " + guess->preset +
         " reads; " + preset + " takes them as well, but may find nonsense";
}

}  // namespace dvnn::convert
