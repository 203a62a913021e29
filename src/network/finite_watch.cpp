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

Status FiniteWatch::run(Slot* slot, RunTimes* times, std::string* warning) {
  const Span<uint8_t> input = slot->input();
  std::vector<uint8_t> kept;
  const bool keeps = is_first_.exchange(false) || keeps_ == Keeps::kEvery;
  if (keeps && !has_told_) kept.assign(input.begin(), input.end());
  DVNN_TRY(slot->run(times));
  if (has_told_ || slot->has_finite_outputs() || has_told_.exchange(true)) return {};
  std::string layer;
  if (!kept.empty()) {
    std::copy(kept.begin(), kept.end(), input.begin());
    DVNN_ASSIGN(layer, slot->first_not_finite());
    DVNN_TRY(slot->run());
  }
  *warning = describe(layer);
  return {};
}

}  // namespace dvnn::network
