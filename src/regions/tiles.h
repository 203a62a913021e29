// SPDX-License-Identifier: Apache-2.0
// Splits a frame into tiles to find small objects, and merges what the tiles have found.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::regions {

/// A number of tiles side by side and on top of each other; 1 x 1 is the whole. Or, if `scale` is
/// not 0, as many tiles as are needed to show the whole magnified by it. Below 1, that is one tile
/// with the whole in its upper left corner.
struct Grid {
  int columns = 1, rows = 1;
  double scale = 0;
};

/// Parses grids: "3x2,1x1", or scales: "2,1.41,1,0.71".
Result<std::vector<Grid>> parse_grids(const std::string& text);

/// Returns the tiles of all grids; each grid covers `whole`. Neighbours overlap by `overlap`, a
/// share of a tile's width or height.
std::vector<image::RelativeRect> tiles_of(const std::vector<Grid>& grids, double overlap,
                                          const image::RelativeRect& whole);

/// Merges the objects of several tiles. Of two boxes of a class from different tiles that share
/// more than `threshold` of the smaller one, one is kept: a complete one rather than one that a
/// tile's edge within the frame cuts; the more confident of two complete ones, the larger of two
/// cut ones. The objects are then sorted by confidence. `tiles` are the tiles in pixels, indexed by
/// the objects' regions.
void merge_tiles(const std::vector<image::Corners>& tiles, const image::Size& frame,
                 double threshold, objects::Objects* objects);

/// Merges overlapping objects of any regions in the same way, by confidence alone.
void merge_regions(double threshold, objects::Objects* objects);

}  // namespace dvnn::regions
