// SPDX-License-Identifier: Apache-2.0
// dvconvert's settings that choose the regions of a frame.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "properties.h"
#include "regions/alignment.h"
#include "regions/areas.h"
#include "regions/tiles.h"

namespace dvnn::gst {

enum class RegionMode { kFrame, kList, kTiles, kObjects };

/// How an object is fitted into the tensor.
enum class RegionAlign { kBox, kAspect, kPoints, kOutline };

using SharedAreas = std::shared_ptr<const std::vector<regions::Area>>;
using SharedGrids = std::shared_ptr<const std::vector<regions::Grid>>;

struct RegionSettings {
  RegionMode regions = RegionMode::kFrame;
  // regions=list
  std::string region_list, region_file, region_metas;
  SharedAreas of_list, of_file;  // read from region_list and region_file; null: empty
  // regions=tiles
  std::string tiles = "2x2,1x1";
  SharedGrids grids;  // read from `tiles`; null: the default
  double overlap = 0.2;
  guint tiles_per_frame = 0;  // 0: all
  // regions=objects
  std::string object_network, object_class;
  double min_size = 0, max_size = 0;        // fractions of the frame's height
  double margin = 0;                        // beyond each side of a box, as a fraction of its size
  guint max_per_frame = 0, refresh_ms = 0;  // see regions::BudgetRules
  double max_rate = 0;
  RegionAlign align = RegionAlign::kBox;
  std::string align_points;
  std::vector<regions::Place> places =
      regions::face_places();  // read from align_points, in fractions of the tensor
  double align_aspect = 1;
};

struct ConvertSettings;

/// Adds the rows of these settings to dvconvert's table.
void add_region_properties(Properties<ConvertSettings>* rows);

}  // namespace dvnn::gst
