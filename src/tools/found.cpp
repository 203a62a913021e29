// SPDX-License-Identifier: Apache-2.0
#include "tools/found.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::tools {
namespace {

// Returns a box for printing: fractions of the picture in single precision.
std::array<float, 4> printed_box(const image::Corners& box, int width, int height) {
  return {{static_cast<float>(box.x0 / width), static_cast<float>(box.y0 / height),
           static_cast<float>(box.x1 / width), static_cast<float>(box.y1 / height)}};
}

// Returns the pixel of a position; bounded, because networks may put boxes anywhere.
int pixel_of(float position, int size) {
  constexpr double kFar = 1e6;
  return static_cast<int>(std::lround(std::clamp(double{position} * size, -kFar, kFar)));
}

// Prints the percentage of each class among the cells of a map.
void print_map(const objects::Mask& mask) {
  std::array<size_t, 256> cells{};
  for (const uint8_t cell : mask.cells) ++cells[cell];
  std::printf("  a map of %d x %d:", mask.width, mask.height);
  for (size_t c = 0; c < cells.size(); ++c) {
    if (cells[c] == 0) continue;
    std::printf(" class %zu %.1f %%", c,
                100.0 * static_cast<double>(cells[c]) / static_cast<double>(mask.cells.size()));
  }
  std::printf("\n");
}

// Describes an object's details other than box and label.
std::string describe_rest(const objects::Object& o) {
  constexpr size_t kMostShown = 200;
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!o.text.empty()) add("'" + short_text(o.text, kMostShown) + "'");
  for (const objects::Number& number : o.numbers) {
    add(short_text(number.name, kMostShown) + " " + format("%g", number.value));
  }
  if (!o.points.empty()) {
    const std::string of =
        o.skeleton.empty() ? "" : " (" + short_text(o.skeleton, kMostShown) + ")";
    add(format("%zu points", o.points.size()) + of);
  }
  if (!o.embedding.empty()) add(format("%zu numbers", o.embedding.size()));
  if (o.mask.width > 0) add(format("mask of %dx%d", o.mask.width, o.mask.height));
  if (!o.outline.empty()) add(format("outline of %zu corners", o.outline.size()));
  return text;
}

}  // namespace

void print_objects(const std::string& path, const objects::Objects& found, int width, int height) {
  constexpr size_t kMostShown = 200;
  std::printf("%s\n", printable(path).c_str());
  for (const objects::Object& o : found) {
    const std::string label = short_text(o.label, kMostShown);
    if (o.kind == objects::Kind::kClassification) {
      std::printf("  %6.2f %%  %s\n", 100.0 * o.confidence, label.c_str());
    } else if (o.kind == objects::Kind::kSegmentation) {
      print_map(o.mask);
    } else if (o.kind == objects::Kind::kAttributes) {
      std::printf("  %s\n", describe_rest(o).c_str());
    } else {
      const std::array<float, 4> box = printed_box(o.box, width, height);
      const std::string rest = describe_rest(o);
      std::printf("  %6.2f %%  %-16s  %d,%d .. %d,%d%s%s\n", 100.0 * o.confidence, label.c_str(),
                  pixel_of(box[0], width), pixel_of(box[1], height), pixel_of(box[2], width),
                  pixel_of(box[3], height), rest.empty() ? "" : "  ", rest.c_str());
    }
  }
  if (found.empty()) std::printf("  nothing found\n");
}

namespace {

struct Picture {
  double width, height;
  float x(double at) const { return static_cast<float>(at / width); }
  float y(double at) const { return static_cast<float>(at / height); }
};

OrderedJson corners_json(const image::Corners& c, const Picture& picture) {
  return {picture.x(c.x0), picture.y(c.y0), picture.x(c.x1), picture.y(c.y1)};
}

OrderedJson points_json(const std::vector<objects::Point>& points, const Picture& picture) {
  OrderedJson list = OrderedJson::array();
  for (const objects::Point& p : points) {
    list.push_back({picture.x(p.x), picture.y(p.y), p.confidence});
  }
  return list;
}

OrderedJson runs_json(const objects::MaskCells& cells) {
  OrderedJson runs = OrderedJson::array();
  for (size_t at = 0; at < cells.size();) {
    size_t end = at;
    while (end < cells.size() && cells[end] == cells[at]) ++end;
    runs.push_back(cells[at]);
    runs.push_back(end - at);
    at = end;
  }
  return runs;
}

}  // namespace

static OrderedJson object_json(const objects::Object& o, double width, double height) {
  const Picture picture{width, height};
  if (o.kind == objects::Kind::kClassification) {
    return {
        {"cls", o.class_id}, {"label", o.label}, {"prob", o.confidence}, {"logit", o.raw_score}};
  }
  OrderedJson json = {{"cls", o.class_id},
                      {"label", o.label},
                      {"conf", o.confidence},
                      {"box", corners_json(o.box, picture)}};
  if (!o.outline.empty()) json["outline"] = points_json(o.outline, picture);
  if (!o.points.empty()) json["points"] = points_json(o.points, picture);
  if (!o.skeleton.empty()) json["skeleton"] = o.skeleton;
  if (!o.text.empty()) json["text"] = o.text;
  for (const objects::Number& number : o.numbers) json["numbers"][number.name] = number.value;
  if (!o.embedding.empty()) json["embedding"] = o.embedding;
  if (o.mask.width > 0) {
    json["mask"] = {{"width", o.mask.width},
                    {"height", o.mask.height},
                    {"place", corners_json(o.mask.place, picture)},
                    {"runs", runs_json(o.mask.cells)}};
  }
  return json;
}

OrderedJson objects_json(const objects::Objects& found, double width, double height) {
  OrderedJson list = OrderedJson::array();
  for (const objects::Object& o : found) list.push_back(object_json(o, width, height));
  return list;
}

}  // namespace dvnn::tools
