// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/slottaker.h"

#include <algorithm>
#include <utility>

GST_DEBUG_CATEGORY_EXTERN(dv_convert_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_convert_debug

namespace dvnn::gst {

SlotPtr SlotTaker::take(GstObject* element, const TensorRequest& request, bool may_wait,
                        bool first) {
  const bool waits = may_wait && first && !waited_in_vain_;
  const auto patience = waits ? SlotPool::kPatience : std::chrono::milliseconds(0);
  auto taken = request.pool->take(SlotPool::Taker::kUpstream, patience);
  if (!taken.ok()) {
    GST_WARNING_OBJECT(element, "%s", taken.error().message.c_str());
    return nullptr;
  }
  const bool in_vain = taken.value().outcome == SlotPool::Outcome::kNoneFree;
  if (first) waited_in_vain_ = in_vain;
  if (in_vain) {
    GST_DEBUG_OBJECT(element, "no slot of %zu was free within %lld ms: dvinfer is to convert",
                     request.pool->size(), static_cast<long long>(patience.count()));
  }
  request.intake->stats.time(InferStats::Time::kWaiting,
                             static_cast<int64_t>(taken.value().waited.count()));
  return std::move(taken.value().slot);
}

size_t room_for_objects(const TensorRequest& request) {
  if (!request.intake->admission.rules().results_may_be_late) return 0;
  return std::max<size_t>(1, request.pool->free_upstream());
}

}  // namespace dvnn::gst
