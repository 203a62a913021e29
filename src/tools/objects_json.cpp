// SPDX-License-Identifier: Apache-2.0
#include "tools/objects_json.h"

#include "base/json.h"

namespace dvnn::tools {
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
