// SPDX-License-Identifier: Apache-2.0
#include "evaluate/classification.h"

#include <algorithm>

namespace dvnn::evaluate {
namespace {

size_t place_of(int class_id, const std::vector<Found>& found) {
  const auto is = [&](const Found& f) { return f.class_id == class_id; };
  const auto at = std::find_if(found.begin(), found.end(), is);
  if (at == found.end()) return SIZE_MAX;
  // Classes ahead of it: earlier ones with at least its score, and later ones with a larger score.
  const auto earlier =
      std::count_if(found.begin(), at, [&](const Found& f) { return f.score >= at->score; });
  const auto surer =
      std::count_if(at, found.end(), [&](const Found& f) { return f.score > at->score; });
  return static_cast<size_t>(earlier + surer);
}

}  // namespace

void Hits::add(size_t place, uint64_t times) {
  constexpr size_t kFive = 5;
  pictures += times;
  if (place == 0) first += times;
  if (place < kFive) among_five += times;
}

std::vector<size_t> places_of(const DataSet& data, const FoundByPicture& found) {
  std::vector<size_t> places;
  for (size_t p = 0; p < data.pictures.size(); ++p)
    places.push_back(place_of(data.pictures[p].class_id, found[p]));
  return places;
}

Accuracy accuracy_of(const DataSet& data, const std::vector<size_t>& places,
                     const std::vector<bool>& known) {
  Accuracy accuracy;
  accuracy.classes.resize(data.classes.size());
  for (size_t p = 0; p < data.pictures.size(); ++p) {
    const int class_id = data.pictures[p].class_id;
    if (class_id < 0 || !known[static_cast<size_t>(class_id)]) continue;
    accuracy.all.add(places[p]);
    accuracy.classes[static_cast<size_t>(class_id)].add(places[p]);
  }
  return accuracy;
}

}  // namespace dvnn::evaluate
