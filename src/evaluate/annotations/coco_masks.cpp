// SPDX-License-Identifier: Apache-2.0
#include "evaluate/annotations/coco_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/format.h"

namespace dvnn::evaluate {
namespace {

using Mask = std::shared_ptr<const RunLengths>;

constexpr size_t kMostCorners = 1 << 16;
constexpr double kFarCorner = 1e6;       // pixels
constexpr double kLongestOutline = 4e6;  // of all polygons of an object, pixels

// Returns the length of a polygon, as many steps of a pixel as its lines take.
double length_of(const std::vector<double>& polygon) {
  double length = 0;
  for (size_t i = 0; i < polygon.size(); i += 2) {
    const size_t next = (i + 2) % polygon.size();
    length += std::max(std::fabs(polygon[next] - polygon[i]),
                       std::fabs(polygon[next + 1] - polygon[i + 1]));
  }
  return length;
}

bool is_corner_list(const Json& list) {
  const auto is_place = [](const Json& v) {
    return v.is_number() && v.get<double>() >= -kFarCorner && v.get<double>() <= kFarCorner;
  };
  return list.is_array() && list.size() % 2 == 0 && list.size() >= 6 &&
         list.size() <= kMostCorners && std::all_of(list.begin(), list.end(), is_place);
}

Result<RunLengths> read_polygons(const Json& value, int width, int height) {
  std::vector<std::vector<double>> polygons;
  double length = 0;
  for (const Json& list : value) {
    if (!is_corner_list(list)) {
      return malformed(shown(list) + " is no polygon: at least three pairs of x and y");
    }
    polygons.push_back(list.get<std::vector<double>>());
    length += length_of(polygons.back());
    if (length > kLongestOutline)
      return too_large(format("an outline of more than %g pixels", kLongestOutline));
  }
  return fill_polygons(polygons, width, height);
}

Result<RunLengths> read_runs(const Json& value, int width, int height) {
  const auto size = value.find("size"), counts = value.find("counts");
  if (size == value.end() || counts == value.end()) {
    return malformed("has no size and counts");
  }
  if (*size != Json({height, width})) {
    return malformed(format("size is not the picture's, [%d, %d]", height, width));
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
  if (uint64_t(width) * uint64_t(height) > UINT32_MAX) {
    in->fail("segmentation", format("is of a picture of %d x %d pixels", width, height));
    return Error(in->status().error());
  }
  if (!value->is_array() && !value->is_object()) {
    in->fail("segmentation", shown(*value) + ", and neither polygons nor runs");
    return Error(in->status().error());
  }
  auto runs =
      value->is_array() ? read_polygons(*value, width, height) : read_runs(*value, width, height);
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
