// SPDX-License-Identifier: Apache-2.0
#include "kernels/suppression.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/suppression.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {

// Whether one of the kept boxes from `i` on, a vector of them, overlaps by more than `threshold`,
// or by NaN. The operations are those of intersection_over_union() in the same order, so results
// match bit for bit.
template <class D>
HWY_INLINE bool OverlapsOne(D d, const KeptBoxes& kept, size_t i, const Box& box, float area,
                            float threshold) {
  const auto zero = hn::Zero(d);
  const auto w = hn::Sub(MinOf(hn::Set(d, box.x1), hn::LoadU(d, kept.x1.data() + i)),
                         MaxOf(hn::Set(d, box.x0), hn::LoadU(d, kept.x0.data() + i)));
  const auto h = hn::Sub(MinOf(hn::Set(d, box.y1), hn::LoadU(d, kept.y1.data() + i)),
                         MaxOf(hn::Set(d, box.y0), hn::LoadU(d, kept.y0.data() + i)));
  const auto both = hn::Mul(w, h);
  const auto areas = hn::Add(hn::Set(d, area), hn::LoadU(d, kept.area.data() + i));
  const auto overlap = hn::IfThenElseZero(hn::And(hn::Gt(w, zero), hn::Gt(h, zero)),
                                          hn::Div(both, hn::Sub(areas, both)));
  return !hn::AllTrue(d, hn::Le(overlap, hn::Set(d, threshold)));
}

bool Overlaps(const KeptBoxes& kept, const Box& box, float area, float threshold) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const size_t count = kept.area.size();
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    if (OverlapsOne(d, kept, i, box, area, threshold)) return true;
  }
  for (; i < count; ++i) {
    if (OverlapsOne(one, kept, i, box, area, threshold)) return true;
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {
namespace {

HWY_EXPORT(Overlaps);

float area_of(const Box& box) {
  return (box.x1 - box.x0) * (box.y1 - box.y0);
}

// overlaps(box, kept, threshold): whether a box overlaps one of the first `kept` candidates;
// keep(box) is called for each that does not.
template <typename Overlaps, typename Keep>
void suppress(Span<const Box> boxes, const NmsOptions& options, std::vector<Candidate>* candidates,
              Overlaps overlaps, Keep keep) {
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  if (options.top_k >= 0 && candidates->size() > static_cast<size_t>(options.top_k)) {
    std::nth_element(candidates->begin(), candidates->begin() + options.top_k, candidates->end(),
                     better);
    candidates->resize(static_cast<size_t>(options.top_k));
  }
  std::sort(candidates->begin(), candidates->end(), better);
  float threshold = options.iou_threshold;
  size_t kept = 0;
  if (options.max_kept == 0) candidates->clear();
  for (size_t i = 0; i < candidates->size(); ++i) {
    const Candidate candidate = (*candidates)[i];
    const Box& box = boxes[static_cast<size_t>(candidate.index)];
    if (overlaps(box, kept, threshold)) continue;
    keep(box);
    (*candidates)[kept++] = candidate;
    if (options.max_kept >= 0 && kept >= static_cast<size_t>(options.max_kept)) break;
    if (options.eta < 1 && threshold > 0.5f) threshold *= options.eta;
  }
  candidates->resize(kept);
}

}  // namespace

float intersection_over_union(const Box& a, const Box& b) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(w > 0 && h > 0)) return 0;
  const float both = w * h;
  return both / (area_of(a) + area_of(b) - both);
}

void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates, KeptBoxes* kept) {
  for (auto* list : {&kept->x0, &kept->y0, &kept->x1, &kept->y1, &kept->area}) list->clear();
  suppress(
      boxes, options, candidates,
      [&](const Box& box, size_t, float threshold) {
        return HWY_DYNAMIC_DISPATCH(Overlaps)(*kept, box, area_of(box), threshold);
      },
      [&](const Box& box) {
        kept->x0.push_back(box.x0);
        kept->y0.push_back(box.y0);
        kept->x1.push_back(box.x1);
        kept->y1.push_back(box.y1);
        kept->area.push_back(area_of(box));
      });
}

namespace plain {

void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates) {
  suppress(
      boxes, options, candidates,
      [&](const Box& box, size_t kept, float threshold) {
        for (size_t k = 0; k < kept; ++k) {
          const Box& better = boxes[static_cast<size_t>((*candidates)[k].index)];
          if (!(intersection_over_union(box, better) <= threshold)) return true;
        }
        return false;
      },
      [](const Box&) {});
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
