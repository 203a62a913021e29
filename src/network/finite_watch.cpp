// SPDX-License-Identifier: Apache-2.0
#include "network/finite_watch.h"

#include <algorithm>
#include <vector>

#include "base/format.h"

namespace dvnn::network {
namespace {

std::string describe(const std::string& layer) {
  const std::string where = layer.empty() ? "" : ", first at layer '" + printable(layer) + "'";
  return "not finite" + where +
         ": values exceed 65504, the largest of 16 bits; does the picture's mean and scale fit the "
         "model, and was it converted without --no-rescale?";
}

}  // namespace

// Returns whether to keep the input of the run that begins.
bool FiniteWatch::begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool keeps = (is_first_ || keeps_ == Keeps::kEvery) && !has_told_;
  is_first_ = false;
  keeping_ += keeps;
  return keeps;
}

// Returns whether the ended run reports results that are not finite, its own or another run's.
bool FiniteWatch::end(bool kept, bool is_finite) {
  const std::lock_guard<std::mutex> lock(mutex_);
  keeping_ -= kept;
  is_untold_ |= !is_finite;
  const bool can_say_where = kept && !is_finite;
  if (has_told_ || !is_untold_ || (keeping_ > 0 && !can_say_where)) return false;
  has_told_ = true;
  return true;
}

void FiniteWatch::Inputs::fill(Slot* slot) const {
  memory.fill(slot);
  if (live) live->fill(slot);
}

Status FiniteWatch::run(Slot* slot, StreamMemory* memory, RunTimes* times, std::string* warning,
                        const LiveInputs* live) {
  const uint64_t turn = memory->begin_run(slot);
  if (live) live->fill(slot);
  DVNN_TRY(run_watched(slot, {*memory, live}, times, warning));
  memory->end_run(*slot, turn);
  return {};
}

Status FiniteWatch::run_watched(Slot* slot, const Inputs& inputs, RunTimes* times,
                                std::string* warning) {
  if (has_told_) return slot->run(times);
  const Span<uint8_t> input = slot->input();
  const bool keeps = begin();
  std::vector<uint8_t> kept;
  if (keeps) kept.assign(input.begin(), input.end());
  const Status ran = slot->run(times);
  const bool is_finite = !ran.ok() || slot->has_finite_outputs();
  if (!end(keeps, is_finite)) return ran;
  std::string layer;
  if (keeps && !is_finite) {
    std::copy(kept.begin(), kept.end(), input.begin());
    inputs.fill(slot);
    DVNN_ASSIGN(layer, slot->first_not_finite());
    inputs.fill(slot);
    DVNN_TRY(slot->run());
  }
  *warning = describe(layer);
  return ran;
}

}  // namespace dvnn::network
