// SPDX-License-Identifier: Apache-2.0
#include "evaluate/annotations/coco_masks.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::evaluate {
namespace {

using Mask = std::shared_ptr<const RunLengths>;

constexpr size_t kMostCorners = 1 << 16;
constexpr double kFarCorner = 1e6;  // pixels

bool is_corner_list(const Json& list) {
  const auto is_place = [](const Json& v) {
    return v.is_number() && v.get<double>() >= -kFarCorner && v.get<double>() <= kFarCorner;
  };
  return list.is_array() && list.size() % 2 == 0 && list.size() >= 6 &&
         list.size() <= kMostCorners && std::all_of(list.begin(), list.end(), is_place);
}

Result<RunLengths> read_polygons(const Json& value, int width, int height) {
  std::vector<std::vector<double>> polygons;
  for (const Json& list : value) {
    if (!is_corner_list(list)) {
      return malformed(shown(list) +
                       " is no polygon: at least three pairs of x and y");
    }
    polygons.push_back(list.get<std::vector<double>>());
  }
  return fill_polygons(polygons, width, height);
}

Result<RunLengths> read_runs(const Json& value, int width, int height) {
  const auto size = value.find("size"), counts = value.find("counts");
  if (size == value.end() || counts == value.end()) {
    return malformed("has no size and counts");
  }
  if (*size != Json({height, width})) {
    return malformed("size " + shown(*size) +
                     format(" is not the picture's, [%d, %d]", height, width));
  }
  if (counts->is_string()) {
    return read_run_lengths(counts->get<std::string>(), width, height);
  }
  RunLengths runs;
  runs.width = width;
  runs.height = height;
  const auto is_length = [](const Json& v) {
    return v.is_number_unsigned() && v.get<uint64_t>() <= UINT32_MAX;
  };
  if (!counts->is_array() || !std::all_of(counts->begin(), counts->end(), is_length)) {
    return malformed("counts are no list of numbers of pixels, and no text");
  }
  runs.counts = counts->get<std::vector<uint32_t>>();
  DVNN_TRY(check_run_lengths(runs));
  return runs;
}

}  // namespace

Result<Mask> read_segmentation(JsonReader* in, int width, int height) {
  const Json* value = in->member("segmentation");
  if (!value || value->is_null() || value->empty() || width == 0 || height == 0) return Mask();
  if (!value->is_array() && !value->is_object()) {
    in->fail("segmentation", shown(*value) + ", and neither polygons nor runs");
    return Error(in->status().error());
  }
  auto runs = value->is_array() ? read_polygons(*value, width, height)
                                : read_runs(*value, width, height);
  if (!runs.ok()) {
    in->fail("segmentation", runs.error().message);
    return Error(in->status().error());
  }
  return std::make_shared<const RunLengths>(std::move(runs.value()));
}

Json segmentation_json(const RunLengths& runs) {
  return {{"size", {runs.height, runs.width}}, {"counts", run_lengths_text(runs)}};
}

}  // namespace dvnn::evaluate
