// SPDX-License-Identifier: Apache-2.0
#include "evaluate/run_lengths.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/format.h"
#include "base/grid.h"

namespace dvnn::evaluate {
namespace {

// Calls `take` with each run that both masks have in common, and whether each of them is inside.
template <typename Take>
void walk(const RunLengths& a, const RunLengths& b, Take take) {
  size_t i = 0, k = 0;
  uint64_t left_a = a.counts.empty() ? 0 : a.counts[0], left_b = b.counts.empty() ? 0 : b.counts[0];
  while (i < a.counts.size() && k < b.counts.size()) {
    const uint64_t length = std::min(left_a, left_b);
    if (length > 0) take(length, i % 2 == 1, k % 2 == 1);
    left_a -= length;
    left_b -= length;
    if (left_a == 0 && ++i < a.counts.size()) left_a = a.counts[i];
    if (left_b == 0 && ++k < b.counts.size()) left_b = b.counts[k];
  }
}

RunLengths both(const RunLengths& a, const RunLengths& b) {
  RunLengths result;
  result.width = a.width;
  result.height = a.height;
  bool state = false;
  uint64_t length = 0;
  walk(a, b, [&](uint64_t count, bool in_a, bool in_b) {
    if ((in_a || in_b) != state) {
      result.counts.push_back(static_cast<uint32_t>(length));
      length = 0;
      state = !state;
    }
    length += count;
  });
  result.counts.push_back(static_cast<uint32_t>(length));
  return result;
}

struct Corner {
  int x = 0, y = 0;
};

// Appends the places of a line's pixels, in the finer raster, from its begin to its end.
void draw_line(const Corner& from, const Corner& to, std::vector<Corner>* places) {
  const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
  const bool flat = dx >= dy;
  const bool turned = (flat && from.x > to.x) || (!flat && from.y > to.y);
  const Corner &begin = turned ? to : from, &end = turned ? from : to;
  const int steps = std::max(dx, dy);
  const double slope = steps == 0 ? 0
                       : flat     ? double(end.y - begin.y) / dx
                                  : double(end.x - begin.x) / dy;
  for (int step = 0; step <= steps; ++step) {
    const int at = turned ? steps - step : step;
    if (flat) {
      places->push_back({begin.x + at, static_cast<int>(begin.y + slope * at + 0.5)});
    } else {
      places->push_back({static_cast<int>(begin.x + slope * at + 0.5), begin.y + at});
    }
  }
}

// Fills one polygon: wherever its outline crosses the middle of a column of pixels, the column
// changes between outside and inside.
RunLengths fill(const std::vector<double>& polygon, int width, int height) {
  constexpr double kFiner = 5;
  std::vector<Corner> corners, outline;
  for (size_t i = 0; i + 1 < polygon.size(); i += 2) {
    corners.push_back({static_cast<int>(kFiner * polygon[i] + 0.5),
                       static_cast<int>(kFiner * polygon[i + 1] + 0.5)});
  }
  for (size_t i = 0; i < corners.size(); ++i)
    draw_line(corners[i], corners[(i + 1) % corners.size()], &outline);
  std::vector<uint64_t> changes;
  for (size_t i = 1; i < outline.size(); ++i) {
    const Corner &now = outline[i], &before = outline[i - 1];
    if (now.x == before.x) continue;
    const double column = ((now.x < before.x ? now.x : now.x - 1) + 0.5) / kFiner - 0.5;
    if (std::floor(column) != column || column < 0 || column > width - 1) continue;
    const double row = std::clamp((std::min(now.y, before.y) + 0.5) / kFiner - 0.5, 0.0,
                                  static_cast<double>(height));
    changes.push_back(static_cast<uint64_t>(column) * static_cast<uint64_t>(height) +
                      static_cast<uint64_t>(std::ceil(row)));
  }
  changes.push_back(static_cast<uint64_t>(width) * static_cast<uint64_t>(height));
  std::sort(changes.begin(), changes.end());
  RunLengths runs;
  runs.width = width;
  runs.height = height;
  uint64_t begin = 0;
  // Two changes at one place are none: the run before goes on.
  for (const uint64_t change : changes) {
    if (change == begin && !runs.counts.empty()) {
      begin -= runs.counts.back();
      runs.counts.pop_back();
    } else {
      runs.counts.push_back(static_cast<uint32_t>(change - begin));
      begin = change;
    }
  }
  if (begin < changes.back()) runs.counts.push_back(static_cast<uint32_t>(changes.back() - begin));
  return runs;
}

}  // namespace

uint64_t RunLengths::area() const {
  uint64_t area = 0;
  for (size_t i = 1; i < counts.size(); i += 2) area += counts[i];
  return area;
}

Box RunLengths::box() const {
  uint64_t at = 0;
  const auto side = static_cast<uint64_t>(height);
  uint64_t left = UINT64_MAX, right = 0, top = UINT64_MAX, bottom = 0;
  for (size_t i = 0; i < counts.size(); at += counts[i++]) {
    if (i % 2 == 0 || counts[i] == 0) continue;
    const uint64_t last = at + counts[i] - 1;
    left = std::min(left, at / side);
    right = std::max(right, last / side);
    const bool whole = at / side != last / side;
    top = std::min(top, whole ? 0 : at % side);
    bottom = std::max(bottom, whole ? side - 1 : last % side);
  }
  if (left == UINT64_MAX) return {};
  return {double(left), double(top), double(right - left + 1), double(bottom - top + 1)};
}

Status check_run_lengths(const RunLengths& runs) {
  uint64_t sum = 0;
  for (const uint32_t count : runs.counts) sum += count;
  const uint64_t pixels = static_cast<uint64_t>(runs.width) * static_cast<uint64_t>(runs.height);
  if (sum == pixels) return {};
  return malformed(format("runs of %llu pixels, for a picture of %d x %d",
                          static_cast<unsigned long long>(sum), runs.width, runs.height));
}

Result<RunLengths> read_run_lengths(const std::string& text, int width, int height) {
  constexpr int kFirst = '0', kBits = 5, kMore = 0x20, kSign = 0x10, kMostGroups = 7;
  RunLengths runs;
  runs.width = width;
  runs.height = height;
  const uint64_t pixels = static_cast<uint64_t>(width) * static_cast<uint64_t>(height);
  for (size_t at = 0; at < text.size();) {
    int64_t value = 0;
    int groups = 0;
    for (bool more = true; more; ++groups) {
      const int part = at < text.size() ? text[at++] - kFirst : -1;
      if (part < 0 || part >= 2 * kMore || groups == kMostGroups) {
        return malformed("'" + short_text(text, 40) + "' is no compressed list of runs");
      }
      value |= static_cast<int64_t>(part & (kMore - 1)) << (kBits * groups);
      more = part & kMore;
      if (!more && (part & kSign)) value -= int64_t{1} << (kBits * (groups + 1));
    }
    // From the fourth on, lengths are told by their difference from the one two places before.
    if (runs.counts.size() > 2) value += runs.counts[runs.counts.size() - 2];
    if (value < 0 || static_cast<uint64_t>(value) > pixels) {
      return malformed(format("a run of %lld pixels", static_cast<long long>(value)));
    }
    runs.counts.push_back(static_cast<uint32_t>(value));
  }
  DVNN_TRY(check_run_lengths(runs));
  return runs;
}

std::string run_lengths_text(const RunLengths& runs) {
  constexpr int kFirst = '0', kBits = 5, kMore = 0x20, kSign = 0x10;
  std::string text;
  for (size_t i = 0; i < runs.counts.size(); ++i) {
    int64_t value = runs.counts[i];
    if (i > 2) value -= runs.counts[i - 2];
    for (bool more = true; more;) {
      const auto part = static_cast<int>(value & (kMore - 1));
      value >>= kBits;
      more = (part & kSign) ? value != -1 : value != 0;
      text += static_cast<char>((more ? part | kMore : part) + kFirst);
    }
  }
  return text;
}

RunLengths fill_polygons(const std::vector<std::vector<double>>& polygons, int width, int height) {
  RunLengths all = fill({}, width, height);
  for (const std::vector<double>& polygon : polygons) all = both(all, fill(polygon, width, height));
  return all;
}

RunLengths fill_cells(const objects::Mask& mask, const image::Corners& box, int width, int height) {
  const image::Corners& place = mask.place;
  if (!(place.x1 > place.x0) || !(place.y1 > place.y0)) return fill({}, width, height);
  constexpr double kEdge = 127.5;
  const auto pixel = [](double at, int most) {
    return static_cast<int>(std::clamp(std::round(at), 0.0, double(most)));
  };
  const auto cell = [](int at, double begin, double end, int cells) {
    return std::clamp((at + 0.5 - begin) / (end - begin) * cells - 0.5, 0.0, cells - 1.0);
  };
  const auto value = [&](int x, int y) { return double(mask.cells[grid_index(x, y, mask.width)]); };
  const auto inside = [&](int x, int y) {
    const double u = cell(x, place.x0, place.x1, mask.width);
    const double v = cell(y, place.y0, place.y1, mask.height);
    const int left = static_cast<int>(u), top = static_cast<int>(v);
    const int right = std::min(left + 1, mask.width - 1), low = std::min(top + 1, mask.height - 1);
    const double upper = value(left, top) + (value(right, top) - value(left, top)) * (u - left);
    const double lower = value(left, low) + (value(right, low) - value(left, low)) * (u - left);
    return upper + (lower - upper) * (v - top) >= kEdge;
  };
  return run_lengths_of(width, height, pixel(std::max(place.x0, box.x0), width),
                        pixel(std::max(place.y0, box.y0), height),
                        pixel(std::min(place.x1, box.x1), width),
                        pixel(std::min(place.y1, box.y1), height), inside);
}

double overlap(const RunLengths& found, const RunLengths& truth, bool crowd) {
  uint64_t common = 0, either = 0;
  walk(found, truth, [&](uint64_t count, bool in_found, bool in_truth) {
    if (in_found && in_truth) common += count;
    if (in_found || in_truth) either += count;
  });
  if (common == 0) return 0;
  return static_cast<double>(common) / static_cast<double>(crowd ? found.area() : either);
}

}  // namespace dvnn::evaluate
