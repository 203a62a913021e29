// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/decoders.md and docs/zones.md: scenes of a few shapes, and on them what
// decoders find, drawn as dvoverlay and `dvnet run --draw` do.
//
//     draw_pictures FOLDER
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "base/grid.h"
#include "draw/obscure.h"
#include "draw/painter.h"
#include "draw/picture.h"

using namespace dvnn;
using objects::Object;

namespace {

constexpr int kWidth = 256, kHeight = 160;
constexpr double kTurn = 2 * 3.14159265358979;

struct Color {
  double r, g, b;
};
constexpr Color kSky{0.80, 0.87, 0.93}, kRoad{0.45, 0.46, 0.48}, kGrass{0.55, 0.68, 0.47},
    kWater{0.42, 0.60, 0.72}, kRed{0.70, 0.25, 0.22}, kBlue{0.25, 0.35, 0.62},
    kSkin{0.89, 0.74, 0.62}, kDark{0.20, 0.18, 0.18}, kPaper{0.95, 0.94, 0.90},
    kCoat{0.33, 0.38, 0.42};

// Shapes of one colour on a scene.
class Scene {
 public:
  explicit Scene(const Color& ground)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, kWidth, kHeight)),
        cairo_(cairo_create(surface_)) {
    rect(ground, 0, 0, kWidth, kHeight);
  }
  ~Scene() {
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void rect(const Color& color, double x, double y, double w, double h, double angle = 0) {
    cairo_save(cairo_);
    cairo_translate(cairo_, x + w / 2, y + h / 2);
    cairo_rotate(cairo_, angle);
    cairo_rectangle(cairo_, -w / 2, -h / 2, w, h);
    fill(color);
    cairo_restore(cairo_);
  }
  void ellipse(const Color& color, double cx, double cy, double rx, double ry) {
    cairo_save(cairo_);
    cairo_translate(cairo_, cx, cy);
    cairo_scale(cairo_, rx, ry);
    cairo_arc(cairo_, 0, 0, 1, 0, kTurn);
    fill(color);
    cairo_restore(cairo_);
  }
  void line(const Color& color, double width, double x0, double y0, double x1, double y1) {
    cairo_set_source_rgb(cairo_, color.r, color.g, color.b);
    cairo_set_line_width(cairo_, width);
    cairo_set_line_cap(cairo_, CAIRO_LINE_CAP_ROUND);
    cairo_move_to(cairo_, x0, y0);
    cairo_line_to(cairo_, x1, y1);
    cairo_stroke(cairo_);
  }
  void text(const char* words, double size, double x, double y, double angle) {
    cairo_save(cairo_);
    cairo_translate(cairo_, x, y);
    cairo_rotate(cairo_, angle);
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    cairo_set_font_size(cairo_, size);
    cairo_set_source_rgb(cairo_, kDark.r, kDark.g, kDark.b);
    cairo_move_to(cairo_, 0, 0);
    cairo_show_text(cairo_, words);
    cairo_restore(cairo_);
  }
  void car(const Color& color, double x, double y, double w) {
    rect(color, x, y + 0.18 * w, w, 0.22 * w);
    rect(color, x + 0.2 * w, y, 0.55 * w, 0.25 * w);
    for (const double wheel : {0.22, 0.78}) {
      ellipse(kDark, x + wheel * w, y + 0.4 * w, 0.09 * w, 0.09 * w);
    }
  }
  void face(double cx, double cy, double r) {
    ellipse(kDark, cx, cy - 0.25 * r, 0.95 * r, r);
    ellipse(kSkin, cx, cy, 0.8 * r, r);
    for (const int side : {-1, 1})
      ellipse(kDark, cx + side * 0.32 * r, cy - 0.2 * r, 0.09 * r, 0.07 * r);
    line(kRed, 0.08 * r, cx - 0.28 * r, cy + 0.5 * r, cx + 0.28 * r, cy + 0.5 * r);
  }

  // Draws the objects onto the scene and writes it.
  bool write(const std::string& folder, const std::string& name, const objects::Objects& found,
             bool pixelate = false, const std::vector<draw::Figure>& figures = {}) {
    cairo_surface_flush(surface_);
    uint8_t* pixels = cairo_image_surface_get_data(surface_);
    const int stride = cairo_image_surface_get_stride(surface_);
    std::vector<draw::Item> items;
    for (const Object& object : found) {
      items.push_back(draw::item_of(object, {}));
      if (!pixelate) continue;
      const image::Corners& b = object.box;
      for (int c = 0; c < 3; ++c) {
        draw::obscure({pixels + c, stride, 4, kWidth, kHeight},
                      {static_cast<int>(b.x0), static_cast<int>(b.y0), static_cast<int>(b.x1),
                       static_cast<int>(b.y1)},
                      10, 10, draw::Obscure::kPixelate);
      }
    }
    std::vector<uint8_t> bgr;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const uint8_t* from = pixels + y * stride + 4 * x;
        bgr.insert(bgr.end(), from, from + 3);
      }
    }
    draw::Painter painter;
    draw::Style style;
    style.frame_width = kWidth;
    style.frame_height = kHeight;
    style.line = 2;
    style.text_height = 8;
    painter.configure(style);
    draw::blend(painter.paint(items, figures), {bgr.data(), kWidth, kHeight, 3 * kWidth});
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        std::copy_n(&bgr[static_cast<size_t>(3 * (y * kWidth + x))], 3,
                    pixels + y * stride + 4 * x);
      }
    }
    cairo_surface_mark_dirty(surface_);
    const std::string path = folder + "/" + name + ".png";
    if (cairo_surface_write_to_png(surface_, path.c_str()) == CAIRO_STATUS_SUCCESS) return true;
    std::fprintf(stderr, "'%s' cannot be written\n", path.c_str());
    return false;
  }

 private:
  void fill(const Color& color) {
    cairo_set_source_rgb(cairo_, color.r, color.g, color.b);
    cairo_fill(cairo_);
  }
  cairo_surface_t* surface_;
  cairo_t* cairo_;
};

Object& add(objects::Objects* found, const char* label, int class_id, float confidence,
            const image::Corners& box) {
  Object& object = found->add();
  object.label = label;
  object.class_id = class_id;
  object.confidence = confidence;
  object.box = box;
  return object;
}

void draw_street(Scene* scene) {
  scene->rect(kGrass, 0, 62, kWidth, 30);
  scene->rect(kRoad, 0, 90, kWidth, 70);
  scene->car(kRed, 24, 70, 96);
  scene->car(kBlue, 150, 60, 70);
}

// A mask of the box's size, of what `inside` says.
void set_mask(Object* object, const std::function<bool(double x, double y)>& inside) {
  constexpr int kCells = 4;  // pixels of a cell
  objects::Mask& mask = object->mask;
  mask.place = object->box;
  mask.width = static_cast<int>((object->box.x1 - object->box.x0) / kCells);
  mask.height = static_cast<int>((object->box.y1 - object->box.y0) / kCells);
  uint8_t* cell = mask.cells.resize(grid_size(mask.width, mask.height));
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      const bool in =
          inside(object->box.x0 + (x + 0.5) * kCells, object->box.y0 + (y + 0.5) * kCells);
      *cell++ = in ? 255 : 0;
    }
  }
}

bool boxes(const std::string& folder) {
  Scene scene(kSky);
  draw_street(&scene);
  objects::Objects found;
  add(&found, "car", 2, 0.91f, {23, 69, 121, 118});
  add(&found, "van", 7, 0.78f, {149, 59, 221, 95});
  return scene.write(folder, "boxes", found);
}

bool oriented(const std::string& folder) {
  Scene scene(kWater);
  objects::Objects found;
  const double angles[] = {0.5, -0.4}, places[][2] = {{70, 90}, {180, 80}};
  for (int i = 0; i < 2; ++i) {
    const double cx = places[i][0], cy = places[i][1], w = 90, h = 26;
    scene.rect(kPaper, cx - w / 2 + 4, cy - h / 2 + 4, w - 8, h - 8, angles[i]);
    scene.rect(kCoat, cx - 12, cy - 6, 24, 12, angles[i]);
    const double c = std::cos(angles[i]), s = std::sin(angles[i]);
    const double rx = (w * std::abs(c) + h * std::abs(s)) / 2;
    const double ry = (w * std::abs(s) + h * std::abs(c)) / 2;
    Object& ship = add(&found, "ship", 1, 0.9f - 0.1f * static_cast<float>(i),
                       {cx - rx, cy - ry, cx + rx, cy + ry});
    for (const auto& sign : {std::pair(-1, -1), {1, -1}, {1, 1}, {-1, 1}}) {
      const double u = sign.first * w / 2, v = sign.second * h / 2;
      ship.outline.push_back({cx + u * c - v * s, cy + u * s + v * c, 1});
    }
  }
  return scene.write(folder, "oriented", found);
}

bool points(const std::string& folder) {
  Scene scene(kSky);
  objects::Objects found;
  for (const auto& [cx, r] : {std::pair(80.0, 44.0), std::pair(190.0, 30.0)}) {
    const double cy = 92;
    scene.face(cx, cy, r);
    Object& face = add(&found, "face", 0, 0.97f, {cx - r, cy - 1.25 * r, cx + r, cy + 1.05 * r});
    face.skeleton = "face-5";
    face.points = {{cx - 0.32 * r, cy - 0.2 * r, 1},
                   {cx + 0.32 * r, cy - 0.2 * r, 1},
                   {cx, cy + 0.15 * r, 1},
                   {cx - 0.28 * r, cy + 0.5 * r, 1},
                   {cx + 0.28 * r, cy + 0.5 * r, 1}};
  }
  return scene.write(folder, "points", found);
}

// Someone who waves: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles.
bool poses(const std::string& folder) {
  Scene scene(kGrass);
  const double p[17][2] = {{128, 36},  {124, 32},  {132, 32},  {119, 35},  {137, 35}, {108, 58},
                           {148, 58},  {92, 78},   {168, 46},  {88, 100},  {182, 24}, {114, 100},
                           {142, 100}, {110, 124}, {150, 122}, {106, 148}, {158, 144}};
  for (const auto& [a, b] : {std::pair(5, 7), {7, 9}, {6, 8}, {8, 10}}) {
    scene.line(kBlue, 11, p[a][0], p[a][1], p[b][0], p[b][1]);
  }
  for (const auto& [a, b] : {std::pair(11, 13), {13, 15}, {12, 14}, {14, 16}}) {
    scene.line(kCoat, 13, p[a][0], p[a][1], p[b][0], p[b][1]);
  }
  scene.rect(kBlue, 106, 54, 44, 50);
  scene.ellipse(kSkin, 128, 34, 12, 15);
  objects::Objects found;
  Object& person = add(&found, "person", 0, 0.94f, {78, 14, 190, 156});
  person.skeleton = "coco-17";
  for (const auto& point : p) person.points.push_back({point[0], point[1], 0.9f});
  return scene.write(folder, "poses", found);
}

bool instances(const std::string& folder) {
  Scene scene(kSky);
  draw_street(&scene);
  objects::Objects found;
  const auto on_car = [](double x, double y, double w) {
    return [=](double u, double v) {
      const bool body = v >= y + 0.18 * w && v < y + 0.45 * w;
      return body || (u >= x + 0.2 * w && u < x + 0.75 * w);
    };
  };
  set_mask(&add(&found, "car", 2, 0.91f, {24, 70, 120, 114}), on_car(24, 70, 96));
  set_mask(&add(&found, "van", 7, 0.78f, {150, 60, 220, 92}), on_car(150, 60, 70));
  return scene.write(folder, "instances", found);
}

bool maps(const std::string& folder) {
  Scene scene(kSky);
  draw_street(&scene);
  objects::Objects found;
  Object& map = add(&found, "", 0, 1, {0, 0, kWidth, kHeight});
  map.kind = objects::Kind::kSegmentation;
  map.mask.place = map.box;
  map.mask.width = kWidth / 4;
  map.mask.height = kHeight / 4;
  uint8_t* cell = map.mask.cells.resize(grid_size(map.mask.width, map.mask.height));
  for (int y = 0; y < map.mask.height; ++y) {
    for (int x = 0; x < map.mask.width; ++x) {
      *cell++ = 4 * y < 62 ? 0 : 4 * y < 90 ? 1 : 2;
    }
  }
  return scene.write(folder, "maps", found);
}

bool text(const std::string& folder) {
  Scene scene(kPaper);
  constexpr double kAngle = -0.12;
  const struct {
    const char* words;
    double x, y, width, size;
  } lines[] = {{"Zimmer 27", 40, 70, 178, 28}, {"9 - 17 Uhr", 60, 130, 124, 20}};
  objects::Objects found;
  for (const auto& line : lines) {
    scene.text(line.words, line.size, line.x, line.y, kAngle);
    const double c = std::cos(kAngle), s = std::sin(kAngle);
    Object& region = add(&found, "text", 3, 0.9f,
                         {line.x - 4, line.y - 2 * line.size, line.x + line.width, line.y + 6});
    const double up = 0.95 * line.size, down = 0.3 * line.size;
    const double corners[4][2] = {{-4, -up}, {line.width, -up}, {line.width, down}, {-4, down}};
    for (const auto& k : corners) {
      region.outline.push_back({line.x + k[0] * c - k[1] * s, line.y + k[0] * s + k[1] * c, 1});
    }
    region.text = line.words;
  }
  return scene.write(folder, "text", found);
}

bool whole(const std::string& folder) {
  Scene scene(kSky);
  scene.face(170, 92, 50);
  objects::Objects found;
  const struct {
    const char* label;
    float confidence;
  } classes[] = {{"portrait", 0.83f}, {"wig", 0.09f}, {"bow tie", 0.03f}};
  int id = 0;
  for (const auto& c : classes) {
    Object& object = add(&found, c.label, id++, c.confidence, {0, 0, kWidth, kHeight});
    object.kind = objects::Kind::kClassification;
  }
  Object& age = add(&found, "", 0, 1, {0, 0, kWidth, kHeight});
  age.kind = objects::Kind::kAttributes;
  age.numbers.push_back({"age", 34});
  return scene.write(folder, "whole", found);
}

bool obscured(const std::string& folder) {
  Scene scene(kSky);
  objects::Objects found;
  for (const auto& [cx, r] : {std::pair(80.0, 44.0), std::pair(190.0, 30.0)}) {
    scene.face(cx, 92, r);
    add(&found, "face", 0, 0.97f, {cx - r, 92 - 1.25 * r, cx + r, 92 + 1.05 * r});
  }
  return scene.write(folder, "obscured", found, true);
}

// Two cars, of which one has crossed a line and stands in an area.
bool zones(const std::string& folder) {
  Scene scene(kSky);
  draw_street(&scene);
  objects::Objects found;
  add(&found, "#1 car", 4, 0.91f, {23, 69, 121, 118});
  add(&found, "#2 van", 7, 0.78f, {149, 59, 221, 95});
  draw::Figure area, line, trail;
  area.points = {{14, 100, 1}, {124, 100, 1}, {124, 150, 1}, {14, 150, 1}};
  area.closed = true;
  area.text = "bay: 1";
  area.color = 1000;
  line.points = {{140, 150, 1}, {134, 40, 1}};
  line.arrow = true;
  line.text = "gate: +0 -1";
  line.color = 1001;
  for (int i = 0; i <= 20; ++i) trail.points.push_back({232.0 - 8 * i, 108 + 0.5 * i, 1});
  trail.tapers = true;
  trail.color = 4;
  return scene.write(folder, "zones", found, false, {area, line, trail});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  bool good = true;
  for (const auto picture :
       {boxes, oriented, points, poses, instances, maps, text, whole, obscured, zones}) {
    good = picture(folder) && good;
  }
  return good ? 0 : 1;
}
