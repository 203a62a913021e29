// SPDX-License-Identifier: Apache-2.0
// Average precision and recall of detectors by the rules of COCO:
// https://cocodataset.org/#detection-eval and T.-Y. Lin et al., "Microsoft COCO: Common Objects in
// Context", ECCV 2014. Where the page leaves a choice, such as which of two equal scores comes
// first, the project's own programs decide.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// How similar a found object is to a truth: overlap of boxes, OKS of key points, or
/// overlap of masks.
enum class Measure : uint8_t { kBoxes, kKeyPoints, kMasks };

/// Ranges of an object's area in pixels: all, less than 32 x 32, up to 96 x 96, and larger.
enum Area : uint8_t { kAll, kSmall, kMedium, kLarge, kAreas };

/// Number of overlaps from each of which on an object counts as found: 0.5, 0.55, ..., 0.95.
constexpr int kOverlaps = 10;
double overlap_at(int index);

/// Number of recalls at which the precision is read: 0, 0.01, ..., 1.
constexpr int kRecalls = 101;

/// Number of objects of a class that count in a picture: the most confident ones.
constexpr uint32_t kMostFound = 100, kMostPeople = 20;

/// One found object and its judgement in each range of areas: a bit for each overlap.
struct Judged {
  double score = 0;
  uint32_t picture = 0;
  uint32_t rank = 0;  // in its class and picture, by confidence; 0: the most confident one
  std::array<uint16_t, kAreas> right{}, ignored{};
};

/// Number of objects of a class in a picture, by area.
struct Wanted {
  uint32_t picture = 0;
  std::array<uint32_t, kAreas> count{};
};

/// Judgements of all objects of one class.
struct ClassJudgement {
  std::vector<Judged> found;  // the most confident one first
  std::vector<Wanted> wanted;

  uint64_t count(Area area) const;
};

using Judgement = std::vector<ClassJudgement>;  // by class

/// Decides for each found object whether it is right. `found` has a list for each picture of
/// `data`, with boxes in pixels.
Judgement judge(const DataSet& data, const FoundByPicture& found, Measure measure);

/// The part of a judgement that a figure is computed from.
struct Choice {
  Area area = kAll;
  uint32_t most = kMostFound;  // number of objects that count in a picture, most confident first
  int overlap = 0;             // index for overlap_at()
};

/// A curve of precision over recall, and what follows from it.
struct Curve {
  double precision = -1;                      // mean over the recalls; -1: no objects to find
  double recall = -1;                         // the largest recall reached
  std::array<double, kRecalls> precisions{};  // at each recall: the best at this or any larger one
};

/// Computes a curve. `weights`: how often each picture counts; null: once.
Curve curve_of(const ClassJudgement& of, const Choice& choice,
               const std::vector<uint32_t>* weights = nullptr);

/// COCO's twelve numbers. For key points, those of small objects are -1, and recall is that of up
/// to twenty objects in a picture. -1: no objects to find.
struct Figures {
  double ap = -1, ap50 = -1, ap75 = -1, ap_small = -1, ap_medium = -1, ap_large = -1;
  double ar1 = -1, ar10 = -1, ar = -1, ar_small = -1, ar_medium = -1, ar_large = -1;
  double ar50 = -1, ar75 = -1;  // COCO reports these for key points
};

/// Returns the means over all classes, or the figures of one.
Figures figures_of(const Judgement& judgement, Measure measure);
Figures figures_of(const ClassJudgement& judgement, Measure measure);

}  // namespace dvnn::evaluate
