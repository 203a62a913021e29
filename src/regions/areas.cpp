// SPDX-License-Identifier: Apache-2.0
#include "regions/areas.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::regions {
namespace {

constexpr size_t kMostAreas = 256, kMostPoints = 256;
constexpr size_t kMostShownBytes = 67;  // of a user's text in messages

bool is_list_of(const Json& json, size_t least, size_t most) {
  return json.is_array() && json.size() >= least && json.size() <= most;
}

bool are_numbers(const Json& json) {
  return std::all_of(json.begin(), json.end(), [](const Json& number) {
    return number.is_number() && std::isfinite(number.get<double>());
  });
}

Status read_box(const Json& json, const std::string& what, image::Corners* box) {
  if (!is_list_of(json, 4, 4) || !are_numbers(json)) {
    return invalid_argument(what + " must be four numbers, [x, y, width, height], not " +
                            shown(json));
  }
  const double x = json.at(0).get<double>(), y = json.at(1).get<double>();
  *box = {x, y, x + json.at(2).get<double>(), y + json.at(3).get<double>()};
  return {};
}

Status read_points(const Json& json, const std::string& what, image::Corners* box) {
  if (!is_list_of(json, 3, kMostPoints)) {
    return invalid_argument(what +
                            format(" must be an array of 3 to %zu pairs [x, y]", kMostPoints));
  }
  for (size_t i = 0; i < json.size(); ++i) {
    if (!is_list_of(json.at(i), 2, 2) || !are_numbers(json.at(i))) {
      return invalid_argument(what + " has " + shown(json.at(i)) + ", which is no pair [x, y]");
    }
    const double x = json.at(i).at(0).get<double>(), y = json.at(i).at(1).get<double>();
    if (i == 0) *box = {x, y, x, y};
    *box = {std::min(box->x0, x), std::min(box->y0, y), std::max(box->x1, x), std::max(box->y1, y)};
  }
  return {};
}

Status read_shape(const Json& json, const std::string& what, Area* area) {
  DVNN_TRY(check_members(json, what, {"name", "box", "points", "unit"}));
  JsonReader in(json, what);
  area->name = in.text("name", area->name);
  const std::string unit = in.text("unit", "fractions");
  const Json* box = in.member("box");
  const Json* points = in.member("points");
  DVNN_TRY(in.status());
  if (!box == !points) return invalid_argument(what + " needs one of 'box' and 'points'");
  DVNN_TRY(box ? read_box(*box, what + ": box", &area->box)
               : read_points(*points, what + ": points", &area->box));
  area->pixels = unit == "pixels";
  if (!area->pixels && unit != "fractions") {
    return invalid_argument(what + ": unit is '" + short_text(unit, kMostShownBytes) +
                            "', must be fractions or pixels");
  }
  return {};
}

// A box of fractions larger than any frame must be in pixels, with the unit forgotten.
Status check_unit(const Area& area, const std::string& what) {
  constexpr double kMostFraction = 4;
  const image::Corners& b = area.box;
  if (area.pixels || std::max({b.x0, b.y0, b.x1 - b.x0, b.y1 - b.y0}) <= kMostFraction) return {};
  return invalid_argument(what +
                          ": the numbers are fractions of the frame, 1 is all of it; for pixels "
                          "write {\"box\": [x, y, width, height], \"unit\": \"pixels\"}");
}

Result<Area> read_area(const Json& json, size_t index, const std::string& what) {
  Area area;
  area.name = format("%zu", index);
  if (json.is_object()) {
    DVNN_TRY(read_shape(json, what, &area));
  } else {
    DVNN_TRY(read_box(json, what, &area.box));
  }
  DVNN_TRY(check_unit(area, what));
  if (area.name.empty()) return invalid_argument(what + " has an empty name");
  if (!has_area(area.box)) return invalid_argument(what + " is empty: " + shown(json));
  return area;
}

}  // namespace

Result<std::vector<Area>> parse_areas(const std::string& text, const std::string& what) {
  DVNN_ASSIGN(Json json, parse_written_json(text, what));
  if (!is_list_of(json, 1, kMostAreas)) {
    return invalid_argument(
        what +
        format(" must be an array of 1 to %zu areas, such as [[0, 0, 0.5, 1], [0.5, 0, 0.5, 1]]",
               kMostAreas));
  }
  std::vector<Area> areas;
  std::set<std::string> names;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string place = what + format(": [%zu]", i);
    DVNN_ASSIGN(Area area, read_area(json[i], i, place));
    if (!names.insert(area.name).second) {
      return invalid_argument(place + " is called '" + short_text(area.name, kMostShownBytes) +
                              "' like another one");
    }
    areas.push_back(std::move(area));
  }
  return areas;
}

image::RelativeRect share_of(const image::Corners& box, const image::Corners& visible) {
  const double width = visible.x1 - visible.x0, height = visible.y1 - visible.y0;
  return {(box.x0 - visible.x0) / width, (box.y0 - visible.y0) / height, (box.x1 - box.x0) / width,
          (box.y1 - box.y0) / height};
}

std::optional<image::RelativeRect> part_of(const image::Corners& box,
                                           const image::Corners& visible) {
  const double x0 = std::max(box.x0, visible.x0), x1 = std::min(box.x1, visible.x1);
  const double y0 = std::max(box.y0, visible.y0), y1 = std::min(box.y1, visible.y1);
  if (!(x1 > x0 && y1 > y0)) return std::nullopt;  // written so that NaN fails it, too
  // Regions are of whole pixels.
  const bool any = std::lround(x1 - visible.x0) > std::lround(x0 - visible.x0) &&
                   std::lround(y1 - visible.y0) > std::lround(y0 - visible.y0);
  if (!any) return std::nullopt;
  return share_of({x0, y0, x1, y1}, visible);
}

std::optional<image::RelativeRect> part_of(const Area& area, const image::Corners& visible) {
  if (area.pixels) return part_of(area.box, visible);
  const double width = visible.x1 - visible.x0, height = visible.y1 - visible.y0;
  return part_of({visible.x0 + area.box.x0 * width, visible.y0 + area.box.y0 * height,
                  visible.x0 + area.box.x1 * width, visible.y0 + area.box.y1 * height},
                 visible);
}

}  // namespace dvnn::regions
