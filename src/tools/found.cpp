// SPDX-License-Identifier: Apache-2.0
#include "tools/found.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "draw/painter.h"
#include "draw/picture.h"

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

namespace {

std::string name_of(const std::string& folder, const std::string& path) {
  return folder + "/" + base_name(path) + ".png";
}

// Converts a value to a byte. Models do not tell the range of their pictures, so it is derived from
// the values.
uint8_t to_byte(float value, float least, float most) {
  float byte = value;  // 0..255
  if (most <= 2) byte = least < -0.25f ? (value + 1) * 127.5f : value * 255;
  return std::isnan(byte) ? 0 : static_cast<uint8_t>(std::lround(std::clamp(byte, 0.0f, 255.0f)));
}

}  // namespace

Status write_drawn(const std::string& folder, const std::string& path, const Bitmap& picture,
                   const objects::Objects& found) {
  std::vector<draw::Item> items;
  for (const objects::Object& object : found) items.push_back(draw::item_of(object, {}));
  draw::Painter painter;
  draw::Style style;
  style.frame_width = picture.width;
  style.frame_height = picture.height;
  painter.configure(style);
  Bitmap drawn = picture;
  draw::blend(painter.paint(items), {drawn.bytes.data(), drawn.width, drawn.height,
                                     static_cast<ptrdiff_t>(drawn.stride())});
  return write_png(name_of(folder, path), drawn);
}

Status write_output_picture(const std::string& folder, const std::string& path, Session* session) {
  constexpr int64_t kLeastSide = 8;
  const network::Model& model = session->model();
  const auto none = [&](const std::string& why) {
    return unsupported("there is nothing to draw on '" + path +
                       "': the network has no decoder, and " + why);
  };
  if (model.outputs.size() != 1) return none("more than one output");
  const ConstTensorView view = session->slot().output(0);
  const Shape& shape = view.desc.shape;
  const bool fits = shape.rank == 4 && shape.n() == 1 && (shape.c() == 1 || shape.c() == 3) &&
                    shape.h() >= kLeastSide && shape.w() >= kLeastSide;
  if (!fits) return none("an output of " + shape.to_string() + " is no picture");
  std::vector<float> values(shape.count());
  read_nchw(view, values.data());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const int width = static_cast<int>(shape.w()), height = static_cast<int>(shape.h());
  const int channels = static_cast<int>(shape.c());
  const bool rgb = model.input.picture.order == ChannelOrder::kRgb;
  Bitmap picture(width, height, channels);
  for (int y = 0; y < height; ++y) {
    uint8_t* row = picture.row(y);
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int from = channels == 3 && rgb ? 2 - c : c;  // PNG's writer expects blue first
        const size_t at = grid_index(x, from * height + y, width);
        row[x * channels + c] = to_byte(values[at], *least, *most);
      }
    }
  }
  return write_png(name_of(folder, path), picture);
}

}  // namespace dvnn::tools
