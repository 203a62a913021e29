// SPDX-License-Identifier: Apache-2.0
// A frame in tiles, for things that are small on it, and what they found together as one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::regions {

/// Numbers of tiles side by side, and above each other; 1 x 1 is the whole. Or, if `scale` is not
/// 0, as many tiles as show the whole so many times as large as one would; below 1 that is one, in
/// whose upper left corner the whole lies.
struct Grid {
  int columns = 1, rows = 1;
  double scale = 0;
};

/// Grids by their text: "3x2,1x1", or scales: "2,1.41,1,0.71".
Result<std::vector<Grid>> parse_grids(const std::string& text);

/// The tiles of all grids, which together cover `whole`. Neighbours share `overlap`, a share of a
/// tile's width or height.
std::vector<image::RelativeRect> tiles_of(const std::vector<Grid>& grids, double overlap,
                                          const image::RelativeRect& whole);

/// Makes one list of what several tiles have found. Of two boxes of a class from different tiles
/// that share more than `threshold` of the smaller one, one stays: a whole one rather than one that
/// a tile's edge within the frame cuts; the more confident of whole ones, the larger of cut ones.
/// Objects are then in the order of their confidence. `tiles` are the parts of the frame, in
/// pixels, by the objects' regions.
void merge_tiles(const std::vector<image::Corners>& tiles, const image::Size& frame,
                 double threshold, objects::Objects* objects);

/// The same of what was found in any regions, by confidence alone.
void merge_regions(double threshold, objects::Objects* objects);

}  // namespace dvnn::regions
