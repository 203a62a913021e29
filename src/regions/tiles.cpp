// SPDX-License-Identifier: Apache-2.0
#include "regions/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/numbers.h"

namespace dvnn::regions {
namespace {

constexpr int kMostInARow = 16;
constexpr size_t kMostGrids = 16;
constexpr double kSmallest = 1.0 / 64;

// Distance from a tile's edge, as a share of the tile's size, within which a box ends at the edge:
// networks do not place boxes more accurately.
constexpr double kNear = 0.01;

bool ends_at(double edge, double at, double tile_size, double frame_edge) {
  const double near = kNear * tile_size;
  return std::abs(edge - frame_edge) > near && std::abs(at - edge) <= near;
}

// Returns whether an edge of the tile cuts the box, other than an edge of the frame.
bool is_cut(const image::Corners& box, const image::Corners& tile, const image::Size& frame) {
  const double width = tile.x1 - tile.x0, height = tile.y1 - tile.y0;
  return ends_at(tile.x0, std::max(box.x0, tile.x0), width, 0) ||
         ends_at(tile.y0, std::max(box.y0, tile.y0), height, 0) ||
         ends_at(tile.x1, std::min(box.x1, tile.x1), width, frame.width) ||
         ends_at(tile.y1, std::min(box.y1, tile.y1), height, frame.height);
}

// Returns the intersection of two boxes as a share of the smaller one.
double shared_part(const image::Corners& a, const image::Corners& b) {
  const image::Corners both = {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1),
                               std::min(a.y1, b.y1)};
  const double smaller = std::min(area_of(a), area_of(b));
  return smaller > 0 ? area_of(both) / smaller : 0;
}

struct TileBox {
  size_t index;  // in the list of objects
  uint32_t tile;
  bool cut;
};

}  // namespace

Result<std::vector<Grid>> parse_grids(const std::string& text) {
  std::vector<Grid> grids;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, end - at);
    Grid grid;
    int used = 0;
    bool good = false;
    if (entry.find('x') == std::string::npos) {
      std::string_view rest = entry;
      good = take_real(&rest, &grid.scale) && rest.empty() && grid.scale >= kSmallest &&
             grid.scale <= kMostInARow;
    } else {
      good = std::sscanf(entry.c_str(), " %2dx%2d %n", &grid.columns, &grid.rows, &used) == 2 &&
             static_cast<size_t>(used) == entry.size() && grid.columns >= 1 && grid.rows >= 1 &&
             grid.columns <= kMostInARow && grid.rows <= kMostInARow;
    }
    if (!good || grids.size() == kMostGrids) {
      return invalid_argument(
          "'" + short_text(text, 80) +
          format("' is not COLUMNSxROWS, with up to %d each, or a scale from %g to %d, or up to "
                 "%zu of them between commas, such as 3x2,1x1",
                 kMostInARow, kSmallest, kMostInARow, kMostGrids));
    }
    grids.push_back(grid);
    at = end + 1;
  }
  return grids;
}

// Returns the number of evenly spread tiles along an axis that overlap by at least `overlap`, up to
// the limit.
static int tiles_needed(double scale, double overlap) {
  constexpr double kRounding = 1e-6;  // 2.5 tiles of 0.4 each are 1 in spite of rounding
  const auto count = static_cast<int>(std::ceil((scale - overlap) / (1 - overlap) - kRounding));
  return std::clamp(count, 1, kMostInARow);
}

static double start_of(int tile, int count, double size, double whole) {
  return count > 1 ? tile * (whole - size) / (count - 1) : 0;
}

std::vector<image::RelativeRect> tiles_of(const std::vector<Grid>& grids, double overlap,
                                          const image::RelativeRect& whole) {
  std::vector<image::RelativeRect> tiles;
  for (const Grid& grid : grids) {
    const bool scaled = grid.scale > 0;
    const int columns = scaled ? tiles_needed(grid.scale, overlap) : grid.columns;
    const int rows = scaled ? columns : grid.rows;
    // n tiles in a row overlap n - 1 times.
    const double width = whole.width / (scaled ? grid.scale : columns - (columns - 1) * overlap);
    const double height = whole.height / (scaled ? grid.scale : rows - (rows - 1) * overlap);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        image::RelativeRect tile = {whole.x + start_of(column, columns, width, whole.width),
                                    whole.y + start_of(row, rows, height, whole.height), width,
                                    height};
        if (!scaled || grid.scale >= 1) {
          tile.width = std::min(tile.width, whole.x + whole.width - tile.x);
          tile.height = std::min(tile.height, whole.y + whole.height - tile.y);
        }
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

static void keep_best(std::vector<TileBox> boxes, double threshold, objects::Objects* objects) {
  std::stable_sort(boxes.begin(), boxes.end(), [&](const TileBox& a, const TileBox& b) {
    const objects::Object &x = (*objects)[a.index], &y = (*objects)[b.index];
    if (a.cut != b.cut) return b.cut;
    return a.cut ? area_of(x.box) > area_of(y.box) : x.confidence > y.confidence;
  });
  std::vector<bool> unwanted(objects->size(), false);
  std::vector<TileBox> kept;
  for (const TileBox& box : boxes) {
    const objects::Object& object = (*objects)[box.index];
    unwanted[box.index] = std::any_of(kept.begin(), kept.end(), [&](const TileBox& other) {
      const objects::Object& better = (*objects)[other.index];
      return other.tile != box.tile && better.class_id == object.class_id &&
             shared_part(better.box, object.box) > threshold;
    });
    if (!unwanted[box.index]) kept.push_back(box);
  }
  size_t at = 0;
  objects->remove_if([&](const objects::Object&) { return unwanted[at++]; });
  objects->sort_from(0);
}

void merge_tiles(const std::vector<image::Corners>& tiles, const image::Size& frame,
                 double threshold, objects::Objects* objects) {
  std::vector<TileBox> boxes;
  for (size_t i = 0; i < objects->size(); ++i) {
    const objects::Object& object = (*objects)[i];
    if (object.kind != objects::Kind::kDetection || object.region >= tiles.size()) continue;
    boxes.push_back({i, object.region, is_cut(object.box, tiles[object.region], frame)});
  }
  keep_best(std::move(boxes), threshold, objects);
}

void merge_regions(double threshold, objects::Objects* objects) {
  std::vector<TileBox> boxes;
  for (size_t i = 0; i < objects->size(); ++i) {
    const objects::Object& object = (*objects)[i];
    if (object.kind == objects::Kind::kDetection) boxes.push_back({i, object.region, false});
  }
  keep_best(std::move(boxes), threshold, objects);
}

}  // namespace dvnn::regions
