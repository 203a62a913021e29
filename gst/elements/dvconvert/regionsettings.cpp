// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/regionsettings.h"

#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "elements/dvconvert/convertsettings.h"
#include "elements/objectfilter.h"

namespace dvnn::gst {
namespace {

const GEnumValue kRegionModes[] = {
    {static_cast<gint>(RegionMode::kFrame), "The frame, or the part of it that roi says", "frame"},
    {static_cast<gint>(RegionMode::kList), "A list of areas", "list"},
    {static_cast<gint>(RegionMode::kTiles), "Tiles that overlap", "tiles"},
    {static_cast<gint>(RegionMode::kObjects), "Objects that an earlier network has found",
     "objects"},
    {0, nullptr, nullptr}};

const GEnumValue kRegionAligns[] = {
    {static_cast<gint>(RegionAlign::kBox), "The object's box", "box"},
    {static_cast<gint>(RegionAlign::kAspect),
     "The object's box, made wider or higher about its middle until it has align-aspect", "aspect"},
    {static_cast<gint>(RegionAlign::kPoints),
     "Turned and scaled so that the object's key points come to align-points; the box where it has "
     "none",
     "points"},
    {static_cast<gint>(RegionAlign::kOutline),
     "Upright, as the object's outline of four corners lies; the box where it has none", "outline"},
    {0, nullptr, nullptr}};

constexpr size_t kMostRegionBytes = 1 << 20;

Status take_areas(const std::string& text, const std::string& what, SharedAreas* areas) {
  areas->reset();
  if (text.empty()) return {};
  if (text.size() > kMostRegionBytes) {
    return too_large(what + format(" has more than %zu bytes", kMostRegionBytes));
  }
  DVNN_ASSIGN(auto parsed, regions::parse_areas(text, what));
  *areas = std::make_shared<const std::vector<regions::Area>>(std::move(parsed));
  return {};
}

Status take_region_list(const std::string& text, ConvertSettings* settings) {
  SharedAreas areas;
  DVNN_TRY(take_areas(text, "region-list", &areas));
  settings->of_list = std::move(areas);
  return {};
}

Status take_region_file(const std::string& path, ConvertSettings* settings) {
  SharedAreas areas;
  if (!path.empty()) {
    DVNN_ASSIGN(const std::string text, read_file(path, kMostRegionBytes));
    // An empty file is a mistake; an empty property is not.
    DVNN_TRY(take_areas(text.empty() ? " " : text, "'" + path + "'", &areas));
  }
  settings->of_file = std::move(areas);
  return {};
}

Status take_tiles(const std::string& text, ConvertSettings* settings) {
  DVNN_ASSIGN(auto grids, regions::parse_grids(text));
  settings->grids = std::make_shared<const std::vector<regions::Grid>>(std::move(grids));
  return {};
}

Status take_places(const std::string& text, ConvertSettings* settings) {
  if (text.empty()) {
    settings->places = regions::face_places();
    return {};
  }
  DVNN_ASSIGN(settings->places, regions::parse_places(text));
  return {};
}

void add_align_properties(Properties<ConvertSettings>* rows) {
  using S = ConvertSettings;
  rows->choice(&S::align, When::kPlaying, register_enum("GstDvConvertAlign", kRegionAligns),
               {"align", "Align", "With regions=objects, how objects stand in the tensor"});
  rows->text(
      &S::align_points, When::kPlaying,
      {"align-points", "Alignment points",
       "With align=points, where key points go, in fractions of the tensor: \"x,y x,y ...\"; "
       "empty for ArcFace's five"},
      take_places);
  constexpr double kFlattest = 1.0 / 64, kHighest = 64;
  rows->number(&S::align_aspect, When::kPlaying, kFlattest, kHighest,
               {"align-aspect", "Alignment aspect",
                "With align=points and aspect, the height of the network's input over its width"});
}

void add_object_properties(Properties<ConvertSettings>* rows) {
  using S = ConvertSettings;
  rows->text(&S::object_network, When::kPlaying,
             {"object-network", "Object network",
              "With regions=objects, the name of the network whose objects are looked at; empty "
              "for any"});
  add_label_list(
      &ConvertSettings::object_class, "object-class", "object-class-array", "Object class",
      "With regions=objects, the labels of the objects that are looked at, between commas; "
      "empty for all",
      rows);
  rows->number(&S::min_size, When::kPlaying, 0, kMostBoxSize,
               {"min-size", "Minimum size",
                "With regions=objects, least length of a box's longer side, as a fraction of the "
                "frame's height"});
  rows->number(&S::max_size, When::kPlaying, 0, kMostBoxSize,
               {"max-size", "Maximum size",
                "With regions=objects, greatest length of a box's longer side, as a fraction of "
                "the frame's height; 0 for any"});
  constexpr double kMostMargin = 4;
  rows->number(&S::margin, When::kPlaying, 0, kMostMargin,
               {"margin", "Margin",
                "With regions=objects, margin around each box that is looked at too, as a fraction "
                "of its width and height"});
  rows->number(
      &S::max_per_frame, When::kPlaying, 0, kMostCount,
      {"max-per-frame", "Maximum per frame",
       "With regions=objects, how many objects of a frame are looked at, by docs/regions.md's "
       "order; 0 for all"});
  constexpr double kMostRate = 1e6;
  rows->number(&S::max_rate, When::kPlaying, 0, kMostRate,
               {"max-rate", "Maximum rate",
                "With regions=objects, how many objects are looked at in a second on average; 0 "
                "for no limit"});
  rows->number(&S::refresh_ms, When::kPlaying, 0, kMostMilliseconds,
               {"refresh-ms", "Refresh",
                "With regions=objects, milliseconds after which a tracked object is looked at "
                "again; 0 for each frame"});
}

}  // namespace

void add_region_properties(Properties<ConvertSettings>* rows) {
  using S = ConvertSettings;
  rows->choice(&S::regions, When::kPlaying, register_enum("GstDvConvertRegions", kRegionModes),
               {"regions", "Regions",
                "Parts of a frame that the network is shown, each in a run of its own"});
  rows->text(&S::region_list, When::kPlaying,
             {"region-list", "Region list",
              "With regions=list, areas as JSON in fractions of the frame, or in pixels where they "
              "say so (docs/regions.md)"},
             take_region_list);
  rows->text(&S::region_file, When::kPlaying,
             {"region-file", "Region file",
              "With regions=list, a file with such a list; used if region-list is empty"},
             take_region_file);
  add_label_list(
      &ConvertSettings::region_metas, "region-metas", "region-metas-array", "Region metas",
      "With regions=list, types of other elements' regions and detections that are looked "
      "at too, between commas; * for all",
      rows);
  rows->text(&S::tiles, When::kPlaying,
             {"tiles", "Tiles",
              "With regions=tiles, grids between commas: COLUMNSxROWS, or a scale such as 1.5 "
              "(docs/regions.md)"},
             take_tiles);
  constexpr double kMostOverlap = 0.9;
  rows->number(&S::overlap, When::kPlaying, 0, kMostOverlap,
               {"overlap", "Overlap",
                "With regions=tiles, overlap of neighbouring tiles, as a fraction of their width "
                "and height"});
  rows->number(&S::tiles_per_frame, When::kPlaying, 0, kMostCount,
               {"tiles-per-frame", "Tiles per frame",
                "With regions=tiles, how many tiles of each frame are looked at, in turn; 0 for "
                "all"});
  add_object_properties(rows);
  add_align_properties(rows);
}

}  // namespace dvnn::gst
