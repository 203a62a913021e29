// SPDX-License-Identifier: Apache-2.0
#include "track/looks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "track/random.h"

namespace dvnn::test {
namespace {

constexpr size_t kLength = 32;

using Look = std::vector<double>;

// About as long as 1.
Look any_look(Random* random) {
  Look look(kLength);
  for (double& value : look) value = random->normal() / std::sqrt(kLength);
  return look;
}

void add(const Look& other, double share, Look* look) {
  for (size_t i = 0; i < kLength; ++i) (*look)[i] += share * other[i];
}

// The thing that hides most of another one, and how much; -1 if none does.
int hider_of(const std::vector<NamedBox>& things, size_t hidden, double* share) {
  const Box& box = things[hidden].box;
  int hider = -1;
  *share = 0;
  for (size_t i = 0; i < things.size(); ++i) {
    const Box& other = things[i].box;
    const double width = std::min(box.x1, other.x1) - std::max(box.x0, other.x0);
    const double height = std::min(box.y1, other.y1) - std::max(box.y0, other.y0);
    if (other.y1 <= box.y1 || width <= 0 || height <= 0) continue;
    const double covered = width * height / area_of(box);
    if (covered <= *share) continue;
    *share = covered;
    hider = static_cast<int>(i);
  }
  return hider;
}

}  // namespace

void give_looks(const Describer& describer, unsigned seed, Sampled* sampled) {
  Random random(seed);
  const Look common = any_look(&random);
  std::map<long, Look> own;
  const auto own_of = [&](long id) -> const Look& {
    Look& look = own[id];
    if (look.empty()) look = any_look(&random);
    return look;
  };
  Sequence& sequence = sampled->sequence;
  for (size_t f = 0; f < sequence.detections.size(); ++f) {
    const std::vector<NamedBox>& things = sequence.truth[f];
    for (size_t k = 0; k < sequence.detections[f].size(); ++k) {
      Seen& seen = sequence.detections[f][k];
      const int owner = sampled->owners[f][k];
      Look look(kLength);
      add(common, describer.common, &look);
      add(any_look(&random), describer.noise, &look);
      long id = 0;
      if (owner >= 0) {
        id = things[static_cast<size_t>(owner)].id;
        double share = 0;
        const int hider = hider_of(things, static_cast<size_t>(owner), &share);
        add(own_of(id), 1 - share, &look);
        if (hider >= 0) add(own_of(things[static_cast<size_t>(hider)].id), share, &look);
      } else {
        add(any_look(&random), 1, &look);
      }
      const bool flips = random.chance(describer.flips);
      seen.class_id = describer.flips > 0 ? 1 + static_cast<int>((id + flips) % 2) : 0;
      if (random.chance(describer.described)) seen.look.assign(look.begin(), look.end());
    }
  }
}

}  // namespace dvnn::test
