// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/regionsettings.h"

#include <utility>

#include "base/format.h"
#include "base/text_file.h"
#include "elements/dvconvert/convertsettings.h"

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
    return Error{ErrorCode::kLimit, what + format(" has more than %zu bytes", kMostRegionBytes)};
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
    DVNN_ASSIGN(const std::string text, read_text_file(path, kMostRegionBytes));
    // An empty file is a mistake, while an empty text is none.
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
               {"align", "Align",
                "regions=objects: how objects stand in the tensor. An aligned region fills the "
                "tensor, whatever resize says; beyond the frame it has the padding colour"});
  rows->text(&S::align_points, When::kPlaying,
             {"align-points", "Alignment points",
              "align=points: where the object's key points are to be, in fractions of the tensor's "
              "width and height, \"x,y x,y ...\" (default: the five points of ArcFace)"},
             take_places);
  constexpr double kFlattest = 1.0 / 64, kHighest = 64;
  rows->number(&S::align_aspect, When::kPlaying, kFlattest, kHighest,
               {"align-aspect", "Alignment aspect",
                "align=points and aspect: the height of the network's input over its width"});
}

void add_object_properties(Properties<ConvertSettings>* rows) {
  using S = ConvertSettings;
  rows->text(
      &S::object_network, When::kPlaying,
      {"object-network", "Object network",
       "regions=objects: the name of the network whose objects are looked at (empty = any)"});
  rows->text(&S::object_class, When::kPlaying,
             {"object-class", "Object class",
              "regions=objects: labels of the objects that are looked at, between commas (empty = "
              "all)"});
  constexpr double kLargest = 65536, kMostMargin = 4;
  rows->number(&S::min_size, When::kPlaying, 0, kLargest,
               {"min-size", "Minimum size",
                "regions=objects: least length of a box's longer side: up to 1 as a fraction of "
                "the frame's height, above that in pixels"});
  rows->number(&S::max_size, When::kPlaying, 0, kLargest,
               {"max-size", "Maximum size",
                "regions=objects: greatest length of a box's longer side, measured as min-size is "
                "(0 = any)"});
  rows->number(&S::margin, When::kPlaying, 0, kMostMargin,
               {"margin", "Margin",
                "regions=objects: what is looked at beyond each side of a box, as a part of its "
                "width and height"});
  rows->number(&S::max_per_frame, When::kPlaying, 0, G_MAXUINT,
               {"max-per-frame", "Maximum per frame",
                "regions=objects: so many objects of a frame are looked at: new ones, then those "
                "that have grown by a fifth, then those that were looked at longest ago (0 = all). "
                "Objects are known again by their tracks: dvtrack gives them"});
  constexpr double kMostRate = 1e6;
  rows->number(&S::max_rate, When::kPlaying, 0, kMostRate,
               {"max-rate", "Maximum rate",
                "regions=objects: so many objects are looked at in a second on average, chosen as "
                "for max-per-frame (0 = no limit)"});
  rows->number(
      &S::refresh, When::kPlaying, 0, G_MAXUINT,
      {"refresh", "Refresh",
       "regions=objects: milliseconds after which an object that keeps its track is looked "
       "at again, unless its box has grown by a fifth before; its result stays with it "
       "meanwhile (0 = in each frame)"});
}

}  // namespace

void add_region_properties(Properties<ConvertSettings>* rows) {
  using S = ConvertSettings;
  rows->choice(
      &S::regions, When::kPlaying, register_enum("GstDvConvertRegions", kRegionModes),
      {"regions", "Regions",
       "Parts of a frame that the network is shown: each region is a run of its own, and what is "
       "found there comes back in the frame's coordinates"});
  rows->text(&S::region_list, When::kPlaying,
             {"region-list", "Region list",
              "regions=list: areas as JSON, in fractions of the frame or, where a number is above "
              "1, in pixels: [[x, y, width, height], {\"name\": \"door\", \"box\": [x, y, width, "
              "height]}, {\"points\": [[x, y], [x, y], [x, y]]}]"},
             take_region_list);
  rows->text(&S::region_file, When::kPlaying,
             {"region-file", "Region file",
              "regions=list: a file with such a list, for where region-list is empty; read when it "
              "is set"},
             take_region_file);
  rows->text(
      &S::region_metas, When::kPlaying,
      {"region-metas", "Region metas",
       "regions=list: types of what others have attached and is looked at, too, between commas, * "
       "for all: regions of interest (GstVideoRegionOfInterestMeta) and, with GStreamer 1.24 or "
       "newer, detections of GstAnalyticsRelationMeta"});
  rows->text(&S::tiles, When::kPlaying,
             {"tiles", "Tiles",
              "regions=tiles: COLUMNSxROWS, 1x1 for the whole; or scales, such as 1.5 for as many "
              "tiles as show the whole so much larger, 0.5 for the whole in a corner of the "
              "tensor; several of them between commas"},
             take_tiles);
  constexpr double kMostOverlap = 0.9;
  rows->number(&S::overlap, When::kPlaying, 0, kMostOverlap,
               {"overlap", "Overlap",
                "regions=tiles: what neighbours share, as a part of a tile's width and height; "
                "things up to that size are whole on one of them"});
  rows->number(&S::tiles_per_frame, When::kPlaying, 0, G_MAXUINT,
               {"tiles-per-frame", "Tiles per frame",
                "regions=tiles: so many tiles of each frame, in turn (0 = all)"});
  add_object_properties(rows);
  add_align_properties(rows);
}

}  // namespace dvnn::gst
