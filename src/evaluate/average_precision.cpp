// SPDX-License-Identifier: Apache-2.0
#include "evaluate/average_precision.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluate/run_lengths.h"

namespace dvnn::evaluate {
namespace {

// COCO's constants, from its page: standard deviation of annotators' points, divided by the root of
// the object's area. Nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles.
constexpr double kCocoSigmas[] = {.026, .025, .025, .035, .035, .079, .079, .072, .072,
                                  .062, .062, .107, .107, .087, .087, .089, .089};
constexpr size_t kCocoPoints = sizeof kCocoSigmas / sizeof *kCocoSigmas;
constexpr double kOtherSigma = 0.1;

double sigma_of(size_t point, size_t points) {
  return points == kCocoPoints ? kCocoSigmas[point] : kOtherSigma;
}

// Returns how far a point is outside of twice the box, along one axis.
double beyond(double at, double begin, double size) {
  return std::max(0.0, begin - size - at) + std::max(0.0, at - (begin + size * 2));
}

// Returns the similarity of two sets of key points, 0..1: COCO's object keypoint similarity, OKS
// (https://cocodataset.org/#keypoints-eval). Each annotated point counts by its distance, in
// relation to the object's area and to how precisely people annotate it: COCO's seventeen points
// have constants of their own; in other sets, each point has 0.1, COCO's eyes having 0.025 and its
// hips 0.107. If no point of `truth` is annotated, points within twice its box are right.
double key_point_similarity(const Found& found, const Truth& truth) {
  const size_t count = std::min(found.points.size(), truth.points.size());
  if (count == 0) return 0;
  size_t annotated = 0;
  for (size_t i = 0; i < count; ++i) annotated += truth.points[i].confidence > 0;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const objects::Point &to = truth.points[i], &at = found.points[i];
    if (annotated > 0 && !(to.confidence > 0)) continue;
    double dx = at.x - to.x, dy = at.y - to.y;
    if (annotated == 0) {
      dx = beyond(at.x, truth.box.x, truth.box.width);
      dy = beyond(at.y, truth.box.y, truth.box.height);
    }
    const double variance = std::pow(sigma_of(i, truth.points.size()) * 2, 2);
    // Avoids a division by zero for an object without area.
    constexpr double kEpsilon = 2.220446049250313e-16;
    sum += std::exp(-(dx * dx + dy * dy) / variance / (truth.area + kEpsilon) / 2);
  }
  return sum / static_cast<double>(annotated > 0 ? annotated : count);
}

constexpr double kSmallSide = 32, kLargeSide = 96, kUnlimited = 1e10;
// As in COCO, a bound belongs to both of the ranges that it divides.
constexpr double kRanges[kAreas][2] = {{0, kUnlimited},
                                       {0, kSmallSide* kSmallSide},
                                       {kSmallSide * kSmallSide, kLargeSide* kLargeSide},
                                       {kLargeSide * kLargeSide, kUnlimited}};

bool is_in(double area, int range) {
  return area >= kRanges[range][0] && area <= kRanges[range][1];
}

uint16_t bit(int index) {
  return static_cast<uint16_t>(1U << static_cast<unsigned>(index));
}

// Returns the area that decides a found object's range: the box's, for key points that of the box
// around them, or the mask's.
double area_of(const Found& found, Measure measure) {
  if (measure == Measure::kMasks) return found.mask ? static_cast<double>(found.mask->area()) : 0;
  if (measure == Measure::kBoxes || found.points.empty()) return found.box.area();
  const auto [left, right] =
      std::minmax_element(found.points.begin(), found.points.end(),
                          [](const auto& a, const auto& b) { return a.x < b.x; });
  const auto [top, bottom] =
      std::minmax_element(found.points.begin(), found.points.end(),
                          [](const auto& a, const auto& b) { return a.y < b.y; });
  return (right->x - left->x) * (bottom->y - top->y);
}

// Returns whether an object need not be found, whatever its area.
bool is_ignored(const Truth& truth, Measure measure) {
  const auto annotated = [](const objects::Point& point) { return point.confidence > 0; };
  return truth.crowd || truth.ignored ||
         (measure == Measure::kKeyPoints &&
          std::none_of(truth.points.begin(), truth.points.end(), annotated));
}

double likeness_of(const Found& found, const Truth& truth, Measure measure) {
  if (measure == Measure::kKeyPoints) return key_point_similarity(found, truth);
  if (measure == Measure::kBoxes) return overlap(found.box, truth.box, truth.crowd);
  const bool same = found.mask && truth.mask && found.mask->width == truth.mask->width &&
                    found.mask->height == truth.mask->height;
  return same ? overlap(*found.mask, *truth.mask, truth.crowd) : 0;
}

// The objects of one class in one picture.
struct Scene {
  std::vector<const Truth*> truths;
  std::vector<const Found*> found;  // the most confident one first
  std::vector<double> alike;        // similarity of each found object to each truth
  Measure measure;

  double likeness(size_t found_at, size_t truth_at) const {
    return alike[found_at * truths.size() + truth_at];
  }
};

// The truths of a scene for one range of areas, those that must be found first.
struct InRange {
  std::vector<size_t> order;  // indices of truths
  std::vector<bool> ignored;  // by place in `order`
};

InRange in_range(const Scene& scene, int range) {
  const auto ignored = [&](size_t i) {
    return is_ignored(*scene.truths[i], scene.measure) || !is_in(scene.truths[i]->area, range);
  };
  InRange result;
  result.order.resize(scene.truths.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  std::stable_partition(result.order.begin(), result.order.end(),
                        [&](size_t i) { return !ignored(i); });
  for (const size_t i : result.order) result.ignored.push_back(ignored(i));
  return result;
}

constexpr size_t kNone = SIZE_MAX;

// Returns the place of the free truth that is most similar to a found object, by at least `least`;
// of equals, the last. A truth that must be found comes before one that need not be.
size_t best_of(const Scene& scene, size_t found_at, const InRange& range, double least,
               const std::vector<bool>& taken) {
  size_t best = kNone;
  for (size_t i = 0; i < range.order.size(); ++i) {
    if (taken[i] && !scene.truths[range.order[i]]->crowd) continue;
    if (best != kNone && !range.ignored[best] && range.ignored[i]) break;
    const double alike = scene.likeness(found_at, range.order[i]);
    if (alike < least) continue;
    least = alike;
    best = i;
  }
  return best;
}

void judge_range(const Scene& scene, int range, Span<Judged> judged) {
  const InRange truths = in_range(scene, range);
  for (int overlap = 0; overlap < kOverlaps; ++overlap) {
    // An overlap of exactly 1 counts at any threshold, whatever the rounding.
    constexpr double kAlmostAll = 1 - 1e-10;
    const double least = std::min(overlap_at(overlap), kAlmostAll);
    std::vector<bool> taken(scene.truths.size());
    for (size_t i = 0; i < scene.found.size(); ++i) {
      const size_t best = best_of(scene, i, truths, least, taken);
      if (best == kNone) {
        const bool outside = !is_in(area_of(*scene.found[i], scene.measure), range);
        if (outside) judged[i].ignored[range] |= bit(overlap);
        continue;
      }
      taken[best] = true;
      judged[i].right[range] |= bit(overlap);
      if (truths.ignored[best]) judged[i].ignored[range] |= bit(overlap);
    }
  }
}

void judge_scene(Scene* scene, uint32_t picture, ClassJudgement* to) {
  const size_t most = scene->measure == Measure::kKeyPoints ? kMostPeople : kMostFound;
  std::stable_sort(scene->found.begin(), scene->found.end(),
                   [](const Found* a, const Found* b) { return a->score > b->score; });
  if (scene->found.size() > most) scene->found.resize(most);
  scene->alike.clear();
  for (const Found* found : scene->found) {
    for (const Truth* truth : scene->truths) {
      scene->alike.push_back(likeness_of(*found, *truth, scene->measure));
    }
  }
  const size_t before = to->found.size();
  for (size_t i = 0; i < scene->found.size(); ++i) {
    Judged judged;
    judged.score = scene->found[i]->score;
    judged.picture = picture;
    judged.rank = static_cast<uint32_t>(i);
    to->found.push_back(judged);
  }
  Wanted wanted;
  wanted.picture = picture;
  for (int range = 0; range < kAreas; ++range) {
    judge_range(*scene, range, {to->found.data() + before, scene->found.size()});
    for (const Truth* truth : scene->truths) {
      wanted.count[range] += !is_ignored(*truth, scene->measure) && is_in(truth->area, range);
    }
  }
  if (wanted.count[kAll] > 0) to->wanted.push_back(wanted);
}

double mean(double sum, size_t count) {
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

}  // namespace

double overlap(const Box& found, const Box& truth, bool crowd) {
  const double width =
      std::min(found.x + found.width, truth.x + truth.width) - std::max(found.x, truth.x);
  const double height =
      std::min(found.y + found.height, truth.y + truth.height) - std::max(found.y, truth.y);
  if (!(width > 0) || !(height > 0)) return 0;
  const double common = width * height;
  return common / (crowd ? found.area() : found.area() + truth.area() - common);
}

double overlap_at(int index) {
  // This order of operations gives COCO's numbers to the last bit.
  constexpr double kFirst = 0.5, kLast = 0.95;
  constexpr double kStep = (kLast - kFirst) / (kOverlaps - 1);
  return index == kOverlaps - 1 ? kLast : index * kStep + kFirst;
}

uint64_t ClassJudgement::count(Area area) const {
  uint64_t count = 0;
  for (const Wanted& in : wanted) count += in.count[area];
  return count;
}

Judgement judge(const DataSet& data, const FoundByPicture& found, Measure measure) {
  Judgement judgement(data.classes.size());
  std::vector<Scene> scenes(data.classes.size());
  for (Scene& scene : scenes) scene.measure = measure;
  for (size_t p = 0; p < data.pictures.size(); ++p) {
    std::vector<size_t> touched;
    const auto scene_of = [&](int class_id) {
      Scene* scene = &scenes[static_cast<size_t>(class_id)];
      if (scene->truths.empty() && scene->found.empty()) {
        touched.push_back(static_cast<size_t>(class_id));
      }
      return scene;
    };
    for (const Truth& t : data.pictures[p].truths) scene_of(t.class_id)->truths.push_back(&t);
    for (const Found& f : found[p]) scene_of(f.class_id)->found.push_back(&f);
    for (const size_t i : touched) {
      judge_scene(&scenes[i], static_cast<uint32_t>(p), &judgement[i]);
      scenes[i].truths.clear();
      scenes[i].found.clear();
    }
  }
  for (ClassJudgement& of : judgement) {
    std::stable_sort(of.found.begin(), of.found.end(),
                     [](const Judged& a, const Judged& b) { return a.score > b.score; });
  }
  return judgement;
}

Curve curve_of(const ClassJudgement& of, const Choice& choice,
               const std::vector<uint32_t>* weights) {
  const auto weight = [&](uint32_t picture) { return weights ? (*weights)[picture] : 1U; };
  double wanted = 0;
  for (const Wanted& in : of.wanted)
    wanted += double{1} * weight(in.picture) * in.count[choice.area];
  Curve curve;
  if (wanted <= 0) return curve;
  std::vector<double> recalls, precisions;
  double right = 0, wrong = 0;
  for (const Judged& found : of.found) {
    if (found.rank >= choice.most || weight(found.picture) == 0) continue;
    const bool counts = !(found.ignored[choice.area] & bit(choice.overlap));
    const bool is_right = found.right[choice.area] & bit(choice.overlap);
    if (counts) (is_right ? right : wrong) += weight(found.picture);
    constexpr double kEpsilon = 2.220446049250313e-16;
    recalls.push_back(right / wanted);
    precisions.push_back(right / (wrong + right + kEpsilon));
  }
  curve.recall = recalls.empty() ? 0 : recalls.back();
  for (size_t i = precisions.size(); i-- > 1;) {
    precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  }
  double sum = 0;
  for (int i = 0; i < kRecalls; ++i) {
    // A product instead of a literal: COCO's 0.7 is a little more than 0.7.
    const double recall = i == kRecalls - 1 ? 1 : i * 0.01;
    const auto at = std::lower_bound(recalls.begin(), recalls.end(), recall) - recalls.begin();
    if (static_cast<size_t>(at) < precisions.size()) {
      curve.precisions[static_cast<size_t>(i)] = precisions[static_cast<size_t>(at)];
    }
    sum += curve.precisions[static_cast<size_t>(i)];
  }
  curve.precision = sum / kRecalls;
  return curve;
}

namespace {

// Means over classes and, unless one overlap is chosen, over overlaps. Classes without objects to
// find do not count.
struct Means {
  double precision = -1, recall = -1;
};

Means means_of(Span<const ClassJudgement> classes, Area area, uint32_t most, int only = -1) {
  double precision = 0, recall = 0;
  size_t count = 0;
  for (const ClassJudgement& of : classes) {
    for (int overlap = 0; overlap < kOverlaps; ++overlap) {
      if (only >= 0 && overlap != only) continue;
      const Curve curve = curve_of(of, {area, most, overlap});
      if (curve.precision < 0) continue;
      precision += curve.precision;
      recall += curve.recall;
      ++count;
    }
  }
  return {mean(precision, count), mean(recall, count)};
}

Figures figures_of(Span<const ClassJudgement> classes, Measure measure) {
  constexpr int kHalf = 0, kThreeQuarters = 5;
  const bool boxes = measure != Measure::kKeyPoints;
  const uint32_t most = boxes ? kMostFound : kMostPeople;
  Figures figures;
  const Means all = means_of(classes, kAll, most), half = means_of(classes, kAll, most, kHalf),
              strict = means_of(classes, kAll, most, kThreeQuarters),
              medium = means_of(classes, kMedium, most), large = means_of(classes, kLarge, most);
  figures.ap = all.precision;
  figures.ar = all.recall;
  figures.ap50 = half.precision;
  figures.ar50 = half.recall;
  figures.ap75 = strict.precision;
  figures.ar75 = strict.recall;
  figures.ap_medium = medium.precision;
  figures.ar_medium = medium.recall;
  figures.ap_large = large.precision;
  figures.ar_large = large.recall;
  if (!boxes) return figures;
  const Means small = means_of(classes, kSmall, most);
  figures.ap_small = small.precision;
  figures.ar_small = small.recall;
  figures.ar1 = means_of(classes, kAll, 1).recall;
  figures.ar10 = means_of(classes, kAll, 10).recall;
  return figures;
}

}  // namespace

Figures figures_of(const Judgement& judgement, Measure measure) {
  return figures_of(Span<const ClassJudgement>(judgement), measure);
}

Figures figures_of(const ClassJudgement& judgement, Measure measure) {
  return figures_of(Span<const ClassJudgement>(&judgement, 1), measure);
}

}  // namespace dvnn::evaluate
