// SPDX-License-Identifier: Apache-2.0
// dvconvert's settings about which regions of a frame are looked at.
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

/// The way in which an object's region stands in the tensor.
enum class RegionAlign { kBox, kAspect, kPoints, kOutline };

using SharedAreas = std::shared_ptr<const std::vector<regions::Area>>;
using SharedGrids = std::shared_ptr<const std::vector<regions::Grid>>;

struct RegionSettings {
  RegionMode regions = RegionMode::kFrame;
  // Lists.
  std::string region_list, region_file, region_metas;
  SharedAreas of_list, of_file;  // what these say; null: nothing
  // Tiles.
  std::string tiles = "2x2,1x1";
  SharedGrids grids;  // what that says; null: the default
  double overlap = 0.2;
  guint tiles_per_frame = 0;  // 0: all
  // Objects.
  std::string object_network, object_class;
  double min_size = 0, max_size = 0;        // fractions of the frame's height
  double margin = 0;                        // of the box's size, on each side
  guint max_per_frame = 0, refresh_ms = 0;  // see regions::BudgetRules
  double max_rate = 0;
  RegionAlign align = RegionAlign::kBox;
  std::string align_points;
  std::vector<regions::Place> places = regions::face_places();  // what that says
  double align_aspect = 1;
};

struct ConvertSettings;

/// Adds their rows to a table of all of dvconvert's settings.
void add_region_properties(Properties<ConvertSettings>* rows);

}  // namespace dvnn::gst
