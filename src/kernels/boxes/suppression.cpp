// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/suppression.h"

#include <algorithm>

#include "base/nth.h"
#include "kernels/boxes/greedy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/boxes/suppression.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Returns whether one of the kept boxes from `i` on, a vector of them, overlaps by more than
// `threshold`, or by NaN. The operations are those of intersection_over_union() in the same order,
// so results match bit for bit.
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
                                          Divide(both, hn::Sub(areas, both)));
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

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {
namespace {

HWY_EXPORT(Overlaps);

float area_of(const Box& box) {
  return (box.x1 - box.x0) * (box.y1 - box.y0);
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
  sort_candidates(options, candidates);
  const bool has_grid = may_use_grid(options) && kept->grid.lay(boxes, *candidates);
  keep_greedily(
      options, candidates,
      [&](size_t index, size_t count, float threshold) {
        const Box& box = boxes[index];
        // Comparing a vector of boxes takes as long as comparing one box of a list.
        constexpr size_t kFew = 8, kAtOnce = 8;
        bool many = true, overlaps = false;
        if (has_grid) {
          overlaps = kept->grid.visit(
              box, kFew + count / kAtOnce,
              [&](int number) {
                const Candidate& better = nth((*candidates), number);
                const Box& other = nth(boxes, better.index);
                return !(intersection_over_union(box, other) <= threshold);
              },
              &many);
        }
        return many ? HWY_DYNAMIC_DISPATCH(Overlaps)(*kept, box, area_of(box), threshold)
                    : overlaps;
      },
      [&](size_t index, size_t number) {
        const Box& box = boxes[index];
        kept->x0.push_back(box.x0);
        kept->y0.push_back(box.y0);
        kept->x1.push_back(box.x1);
        kept->y1.push_back(box.y1);
        kept->area.push_back(area_of(box));
        if (has_grid) kept->grid.add(box, static_cast<int>(number));
      });
}

namespace plain {

void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates) {
  keep_by_all_pairs(options, candidates, [&](size_t a, size_t b) {
    return intersection_over_union(boxes[a], boxes[b]);
  });
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
