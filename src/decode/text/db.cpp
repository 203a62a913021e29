// SPDX-License-Identifier: Apache-2.0
// Regions of text from a map of its probability. Source: Liao et al., "Real-time Scene Text
// Detection with Differentiable Binarization" (2020), with PaddleOCR's boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/grid.h"
#include "base/json.h"
#include "base/nth.h"
#include "decode/box.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

struct Spot {
  float x = 0, y = 0;
};

// A rotated rectangle: its centre, the direction of its first side, and its sides' lengths.
struct TurnedRect {
  Spot centre, along = {1, 0};
  float width = 0, height = 0;  // width along `along`
};

float turn(const Spot& o, const Spot& a, const Spot& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

// Finds the convex hull, counter-clockwise in a picture with y downwards, by Andrew's monotone
// chain algorithm. Sorts `spots`.
void find_hull(std::vector<Spot>* spots, std::vector<Spot>* hull) {
  std::sort(spots->begin(), spots->end(),
            [](const Spot& a, const Spot& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  hull->clear();
  auto add = [&](const Spot& spot, size_t least) {
    while (hull->size() >= least + 2 && turn((*hull)[hull->size() - 2], hull->back(), spot) <= 0) {
      hull->pop_back();
    }
    hull->push_back(spot);
  };
  for (const Spot& spot : *spots) add(spot, 0);
  const size_t lower = hull->size() - 1;
  for (size_t i = spots->size(); i-- > 0;) add((*spots)[i], lower);
  if (hull->size() > 1) hull->pop_back();
}

// Returns the rectangle of the smallest area around a convex hull, one of whose sides is on an edge
// of the hull.
TurnedRect least_rectangle(const std::vector<Spot>& hull) {
  TurnedRect best;
  float least = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < hull.size(); ++i) {
    const Spot &a = hull[i], &b = hull[(i + 1) % hull.size()];
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    const Spot u = length > 0 ? Spot{(b.x - a.x) / length, (b.y - a.y) / length} : Spot{1, 0};
    constexpr float kFar = std::numeric_limits<float>::infinity();
    float low_u = kFar, high_u = -kFar, low_v = kFar, high_v = -kFar;
    for (const Spot& p : hull) {
      const float along = p.x * u.x + p.y * u.y, across = p.y * u.x - p.x * u.y;
      low_u = std::min(low_u, along);
      high_u = std::max(high_u, along);
      low_v = std::min(low_v, across);
      high_v = std::max(high_v, across);
    }
    const float area = (high_u - low_u) * (high_v - low_v);
    if (!(area < least)) continue;
    least = area;
    const float mid_u = (low_u + high_u) / 2, mid_v = (low_v + high_v) / 2;
    best = {
        {mid_u * u.x - mid_v * u.y, mid_u * u.y + mid_v * u.x}, u, high_u - low_u, high_v - low_v};
  }
  return best;
}

// Returns the corners, clockwise in the picture from the text's upper left one, so the first edge
// is above the text. Text is taken to be rotated by less than 45 degrees, or to lie on its side.
std::array<Spot, 4> corners_of(const TurnedRect& rect) {
  // Turns by quarters until the first side points to the right.
  Spot u = rect.along;
  float w = rect.width, h = rect.height;
  while (!(u.x > std::abs(u.y) || (u.x > 0 && u.x == u.y))) {
    u = {-u.y, u.x};
    std::swap(w, h);
    if (u.x == -u.y && u.x > 0) break;
  }
  const Spot v = {-u.y, u.x};
  auto corner = [&](float a, float b) {
    return Spot{rect.centre.x + a * w / 2 * u.x + b * h / 2 * v.x,
                rect.centre.y + a * w / 2 * u.y + b * h / 2 * v.y};
  };
  return {{corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)}};
}

struct DbRule {
  float bound = 0.3f;    // least probability of a cell of text
  float unclip = 1.5f;   // factor by which regions grow, as the network shrinks text
  float least_side = 3;  // shorter side of a region, cells
  int max_regions = 1000;
};

class DbDecoder final : public Decoder {
 public:
  DbDecoder(const DbRule& rule, Table table, int width, int height)
      : rule_(rule),
        table_(std::move(table)),
        width_(width),
        height_(height),
        map_(table_.cells()),
        seen_(table_.cells()),
        strip_(Table::kStripFloats) {}
  objects::Kind kind() const override { return objects::Kind::kDetection; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    table_.bind(outputs);
    const size_t first = out->size();
    read_map();
    int regions = 0;
    for (size_t cell = 0; cell < map_.size() && regions < rule_.max_regions; ++cell) {
      if (seen_[cell] || !(map_[cell] > rule_.bound)) continue;
      ++regions;
      walk(cell);
      add_region(threshold, out);
    }
    out->sort_from(first);
    return {};
  }

 private:
  void read_map() {
    const size_t block = table_.strip_cells();
    for (size_t place = 0; place < table_.cells(); place += block) {
      const size_t count = std::min(block, table_.cells() - place);
      const Table::Strip strip = table_.strip(0, 1, place, count, strip_.data());
      for (size_t i = 0; i < count; ++i) {
        map_[table_.cell_of(place + i)] = strip.values[i * strip.stride];
      }
    }
    std::fill(seen_.begin(), seen_.end(), uint8_t{0});
  }

  // Visits the cells of a region, whose neighbours touch at an edge or a corner, and collects the
  // ends of its rows, which have the same convex hull.
  void walk(size_t start) {
    spots_.clear();
    stack_.assign(1, static_cast<uint32_t>(start));
    seen_[start] = 1;
    while (!stack_.empty()) {
      const int at = static_cast<int>(stack_.back());
      stack_.pop_back();
      const int x = at % width_, y = at / width_;
      if (is_end(x, y)) spots_.push_back({static_cast<float>(x), static_cast<float>(y)});
      for (int v = std::max(0, y - 1); v <= std::min(height_ - 1, y + 1); ++v) {
        for (int u = std::max(0, x - 1); u <= std::min(width_ - 1, x + 1); ++u) {
          const size_t next = grid_index(u, v, width_);
          if (seen_[next] || !(map_[next] > rule_.bound)) continue;
          seen_[next] = 1;
          stack_.push_back(static_cast<uint32_t>(next));
        }
      }
    }
  }

  bool is_text(int x, int y) const {
    return x >= 0 && x < width_ && nth(map_, y * width_ + x) > rule_.bound;
  }
  bool is_end(int x, int y) const { return !is_text(x - 1, y) || !is_text(x + 1, y); }

  // Returns the mean of the map within a rectangle.
  float score_of(const TurnedRect& rect) const {
    const std::array<Spot, 4> corners = corners_of(rect);
    float low_x = 1e9f, high_x = -1e9f, low_y = 1e9f, high_y = -1e9f;
    for (const Spot& c : corners) {
      low_x = std::min(low_x, c.x);
      high_x = std::max(high_x, c.x);
      low_y = std::min(low_y, c.y);
      high_y = std::max(high_y, c.y);
    }
    const int x0 = std::max(0, static_cast<int>(std::floor(low_x)));
    const int x1 = std::min(width_ - 1, static_cast<int>(std::ceil(high_x)));
    const int y0 = std::max(0, static_cast<int>(std::floor(low_y)));
    const int y1 = std::min(height_ - 1, static_cast<int>(std::ceil(high_y)));
    constexpr float kEdge = 0.5f;  // so that cells on the edge are included
    double sum = 0;
    int count = 0;
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const float dx = static_cast<float>(x) - rect.centre.x;
        const float dy = static_cast<float>(y) - rect.centre.y;
        const float along = std::abs(dx * rect.along.x + dy * rect.along.y);
        const float across = std::abs(dy * rect.along.x - dx * rect.along.y);
        if (along > rect.width / 2 + kEdge || across > rect.height / 2 + kEdge) continue;
        sum += double{nth(map_, y * width_ + x)};
        ++count;
      }
    }
    return count > 0 ? static_cast<float>(sum / count) : 0;
  }

  void add_region(float threshold, objects::Objects* out) {
    find_hull(&spots_, &hull_);
    TurnedRect rect = least_rectangle(hull_);
    if (!(std::min(rect.width, rect.height) >= rule_.least_side)) return;
    const float score = score_of(rect);
    if (!(score >= threshold)) return;
    const float grown = rect.width * rect.height * rule_.unclip / (2 * (rect.width + rect.height));
    rect.width += 2 * grown;
    rect.height += 2 * grown;
    objects::Object& object = out->add();
    object.confidence = std::min(1.0f, score);
    object.box = {1e9, 1e9, -1e9, -1e9};
    for (const Spot& c : corners_of(rect)) {
      objects::Point corner;
      corner.x = std::clamp(double{c.x} / width_, 0.0, 1.0);
      corner.y = std::clamp(double{c.y} / height_, 0.0, 1.0);
      object.box = {std::min(object.box.x0, corner.x), std::min(object.box.y0, corner.y),
                    std::max(object.box.x1, corner.x), std::max(object.box.y1, corner.y)};
      object.outline.push_back(corner);
    }
  }

  DbRule rule_;
  Table table_;
  int width_, height_;
  std::vector<float> map_;
  std::vector<uint8_t> seen_;
  std::vector<float> strip_;
  std::vector<uint32_t> stack_;
  std::vector<Spot> spots_, hull_;
};

}  // namespace

DecoderResult create_db_decoder(const Json& params, Span<const NamedOutput> outputs) {
  JsonReader in(params, "the parameters");
  const std::string name = in.text("output", "");
  DbRule rule;
  rule.bound = static_cast<float>(in.number("bound", 0.3));
  rule.unclip = static_cast<float>(in.number("unclip", 1.5));
  rule.least_side = static_cast<float>(in.number("least_side", 3));
  rule.max_regions = static_cast<int>(in.integer("max_regions", 1, 100000, 1000));
  if (!(rule.unclip >= 0)) in.fail("unclip", "must not be negative");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(const size_t index, find_output_or_first(outputs, name));
  const Shape& shape = outputs[index].desc.shape;
  if (shape.rank < 3 || shape[0] != 1 || shape.elements() <= 0) {
    return malformed("output '" + outputs[index].name + "' of " + shape.to_string() +
                     " is no map of 1x1xHxW");
  }
  const bool last = shape.rank == 4 && shape[3] == 1 && shape[1] > 1;
  const int height = last ? shape[1] : shape[shape.rank - 2];
  const int width = last ? shape[2] : shape[shape.rank - 1];
  DVNN_ASSIGN(Table table, Table::make(outputs[index], index, grid_size(width, height)));
  return std::unique_ptr<Decoder>(new DbDecoder(rule, std::move(table), width, height));
}

}  // namespace dvnn::decode
