// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/run_lengths.h"

namespace dvnn::evaluate {
namespace {

// A mask of COCO's annotations and results: polygons, or lengths of runs.
using Mask = std::shared_ptr<const RunLengths>;

constexpr size_t kMostCorners = 1 << 16;
constexpr double kFarCorner = 1e6;       // pixels
constexpr double kLongestOutline = 4e6;  // of all polygons of an object, pixels

// Returns the length of a polygon, as many steps of a pixel as its lines take.
double length_of(const std::vector<double>& polygon) {
  double length = 0;
  for (size_t i = 0; i < polygon.size(); i += 2) {
    const size_t next = (i + 2) % polygon.size();
    length += std::max(std::fabs(polygon[next] - polygon[i]),
                       std::fabs(polygon[next + 1] - polygon[i + 1]));
  }
  return length;
}

bool is_corner_list(const Json& list) {
  const auto is_place = [](const Json& v) {
    return v.is_number() && v.get<double>() >= -kFarCorner && v.get<double>() <= kFarCorner;
  };
  return list.is_array() && list.size() % 2 == 0 && list.size() >= 6 &&
         list.size() <= kMostCorners && std::all_of(list.begin(), list.end(), is_place);
}

Result<RunLengths> read_polygons(const Json& value, int width, int height) {
  std::vector<std::vector<double>> polygons;
  double length = 0;
  for (const Json& list : value) {
    if (!is_corner_list(list)) {
      return malformed(shown(list) + " is no polygon: at least three pairs of x and y");
    }
    polygons.push_back(list.get<std::vector<double>>());
    length += length_of(polygons.back());
    if (length > kLongestOutline)
      return too_large(format("an outline of more than %g pixels", kLongestOutline));
  }
  return fill_polygons(polygons, width, height);
}

Result<RunLengths> read_runs(const Json& value, int width, int height) {
  const auto size = value.find("size"), counts = value.find("counts");
  if (size == value.end() || counts == value.end()) {
    return malformed("has no size and counts");
  }
  if (*size != Json({height, width})) {
    return malformed(format("size is not the picture's, [%d, %d]", height, width));
  }
  if (counts->is_string()) {
    return read_run_lengths(counts->get<std::string>(), width, height);
  }
  RunLengths runs;
  runs.width = width;
  runs.height = height;
  const auto is_length = [](const Json& v) {
    return v.is_number_unsigned() && v.get<uint64_t>() <= UINT32_MAX;
  };
  if (!counts->is_array() || !std::all_of(counts->begin(), counts->end(), is_length)) {
    return malformed("counts are no list of numbers of pixels, and no text");
  }
  runs.counts = counts->get<std::vector<uint32_t>>();
  DVNN_TRY(check_run_lengths(runs));
  return runs;
}

// Returns the mask of the member `segmentation`, for a picture of that size; null if there is
// none, or if the size is not known (0).
Result<Mask> read_segmentation(JsonReader* in, int width, int height) {
  const Json* value = in->member("segmentation");
  if (!value || value->is_null() || value->empty() || width == 0 || height == 0) return Mask();
  if (uint64_t(width) * uint64_t(height) > UINT32_MAX) {
    in->fail("segmentation", format("is of a picture of %d x %d pixels", width, height));
    return Error(in->status().error());
  }
  if (!value->is_array() && !value->is_object()) {
    in->fail("segmentation", shown(*value) + ", and neither polygons nor runs");
    return Error(in->status().error());
  }
  auto runs =
      value->is_array() ? read_polygons(*value, width, height) : read_runs(*value, width, height);
  if (!runs.ok()) {
    in->fail("segmentation", runs.error().message);
    return Error(in->status().error());
  }
  return std::make_shared<const RunLengths>(std::move(runs.value()));
}

Json segmentation_json(const RunLengths& runs) {
  return {{"size", {runs.height, runs.width}}, {"counts", run_lengths_text(runs)}};
}

namespace fs = std::filesystem;

constexpr uint64_t kMostCocoBytes = uint64_t{1} << 30;
constexpr int64_t kLargestId = int64_t{1} << 53;  // largest exact one in JavaScript and COCO
constexpr int kLargestSide = 1 << 20;
constexpr size_t kMostPoints = 3 * 1024;

using Index = std::map<int64_t, size_t>;

std::string named(const char* what, size_t index, const std::string& path) {
  return format("%s %zu of '%s'", what, index, path.c_str());
}

// Returns a required list of objects.
Result<const Json*> list_of(const Json& file, const char* name, const std::string& path) {
  const auto at = file.find(name);
  if (at == file.end() || !at->is_array()) {
    return malformed("'" + path + "' has no list '" + name + "', as COCO's annotations have");
  }
  for (size_t i = 0; i < at->size(); ++i) {
    if (!at->at(i).is_object()) {
      return malformed(named(name, i, path) + " is " + shown(at->at(i)) + ", and not an object");
    }
  }
  return &*at;
}

Error twice(const std::string& where, int64_t id) {
  return {ErrorCode::kMalformed,
          where + format(": the id %lld is there twice", static_cast<long long>(id))};
}

// --- classes -------------------------------------------------------------------------------------

// Reads classes and sorts them by id, as COCO counts them.
Status read_categories(const Json& list, const std::string& path, DataSet* data, Index* index) {
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = named("categories", i, path);
    JsonReader in(list.at(i), where);
    const int64_t id = in.integer("id", 0, kLargestId);
    const std::string name = in.text("name");
    DVNN_TRY(in.status());
    DVNN_TRY(check_class_name(name, where));
    if (!names.emplace(id, name).second) return twice(where, id);
  }
  for (const auto& [id, name] : names) {
    index->emplace(id, data->classes.size());
    data->classes.push_back(name);
    data->class_ids.push_back(id);
  }
  return {};
}

// --- pictures ------------------------------------------------------------------------------------

// Returns the folders in which pictures may lie, in the order of the search.
std::vector<std::string> folders_for(const std::string& path) {
  const fs::path here =
      fs::path(path).parent_path().empty() ? fs::path(".") : fs::path(path).parent_path();
  const std::string stem = stem_of(path);
  const std::string split = stem.substr(stem.rfind('_') + 1);
  std::vector<std::string> folders;
  for (const fs::path& base : {here, here / ".."}) {
    for (const fs::path& folder : {base, base / "images", base / split, base / "images" / split}) {
      if (is_folder(folder.string())) folders.push_back(folder.lexically_normal().string());
    }
  }
  return folders;
}

// Refuses a file's name for a picture that would lead out of the folder.
Status check_file_name(const std::string& name, const std::string& where) {
  const fs::path as_path(name);
  const bool leaves =
      as_path.is_absolute() || std::find(as_path.begin(), as_path.end(), "..") != as_path.end();
  if (!name.empty() && !leaves && name.find('\0') == std::string::npos) return {};
  return malformed(where + ": file_name '" + short_text(name, 80) +
                   "' is no name within the folder of pictures");
}

// Returns the folder that has the picture; all others are expected there, too.
Result<std::string> folder_with(const std::string& name, const std::string& path) {
  std::string tried;
  for (const std::string& folder : folders_for(path)) {
    if (is_file(folder + "/" + name)) return folder;
    tried += (tried.empty() ? "'" : ", '") + folder + "'";
  }
  return Error{ErrorCode::kNotFound,
               "picture '" + name + "' of '" + path + "' is in none of " + tried};
}

Status read_images(const Json& list, const std::string& path, DataSet* data, Index* index) {
  std::vector<Picture>& pictures = data->pictures;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = named("images", i, path);
    JsonReader in(list.at(i), where);
    Picture picture;
    picture.id = in.integer("id", 0, kLargestId);
    picture.path = in.text("file_name");
    picture.width = static_cast<int>(in.integer("width", 0, kLargestSide, 0));
    picture.height = static_cast<int>(in.integer("height", 0, kLargestSide, 0));
    DVNN_TRY(in.status());
    DVNN_TRY(check_file_name(picture.path, where));
    pictures.push_back(std::move(picture));
  }
  std::sort(pictures.begin(), pictures.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (!index->emplace(pictures[i].id, i).second)
      return twice("'" + path + "', images", pictures[i].id);
  }
  return {};
}

// --- annotations ---------------------------------------------------------------------------------

// Reads x, y, width and height.
Status read_box(JsonReader* in, const char* name, Box* box) {
  const Json* value = in->member(name);
  const bool fits =
      value && value->is_array() && value->size() == 4 &&
      std::all_of(value->begin(), value->end(), [](const Json& v) { return v.is_number(); });
  if (fits) {
    *box = {value->at(0).get<double>(), value->at(1).get<double>(), value->at(2).get<double>(),
            value->at(3).get<double>()};
  }
  constexpr double kFar = 1e9;
  const auto near = [](double v) { return v >= -kFar && v <= kFar; };
  if (!fits || !near(box->x) || !near(box->y) || !near(box->width) || !near(box->height) ||
      box->width < 0 || box->height < 0) {
    in->fail(name, (value ? shown(*value) : std::string("nothing")) +
                       ", and not x, y, width and height in pixels");
  }
  return in->status();
}

Result<std::vector<objects::Point>> read_points(JsonReader* in) {
  const std::vector<float> numbers = in->numbers("keypoints", kMostPoints);
  if (numbers.size() % 3 != 0) in->fail("keypoints", "is no list of x, y and visibility");
  DVNN_TRY(in->status());
  std::vector<objects::Point> points;
  for (size_t i = 0; i < numbers.size(); i += 3) {
    points.push_back({double{numbers[i]}, double{numbers[i + 1]}, numbers[i + 2]});
  }
  return points;
}

// Returns the index of an id that was read before.
Result<size_t> look_up(JsonReader* in, const char* name, const Index& index, const char* what) {
  const int64_t id = in->integer(name, 0, kLargestId);
  DVNN_TRY(in->status());
  const auto at = index.find(id);
  if (at == index.end()) {
    in->fail(name, format("%lld is the id of none of the %s", static_cast<long long>(id), what));
    return Error(in->status().error());
  }
  return at->second;
}

Result<bool> read_flag(JsonReader* in, const char* name) {
  const Json* value = in->member(name);
  if (!value) return false;
  if (value->is_boolean()) return value->get<bool>();
  const int64_t flag = in->integer(name, 0, 1, 0);
  DVNN_TRY(in->status());
  return flag == 1;
}

Status read_annotation(JsonReader* in, const Index& images, const Index& categories,
                       DataSet* data) {
  DVNN_ASSIGN(const size_t picture, look_up(in, "image_id", images, "images"));
  DVNN_ASSIGN(const size_t category, look_up(in, "category_id", categories, "categories"));
  Truth truth;
  truth.class_id = static_cast<int>(category);
  DVNN_TRY(read_box(in, "bbox", &truth.box));
  truth.area = in->number("area", truth.box.area());
  if (!(truth.area >= 0)) in->fail("area", format("%g is no number of pixels", truth.area));
  DVNN_ASSIGN(truth.crowd, read_flag(in, "iscrowd"));
  DVNN_ASSIGN(truth.points, read_points(in));
  const Picture& of = data->pictures[picture];
  DVNN_ASSIGN(truth.mask, read_segmentation(in, of.width, of.height));
  data->pictures[picture].truths.push_back(std::move(truth));
  return in->status();
}

Result<Json> read_json(const std::string& path) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMostCocoBytes));
  return parse_json(text, "'" + path + "'");
}

}  // namespace

Result<DataSet> read_coco(const std::string& path) {
  DVNN_ASSIGN(const Json file, read_json(path));
  if (!file.is_object()) {
    return malformed("'" + path + "' is not an object with images, categories and annotations");
  }
  DVNN_ASSIGN(const Json* categories, list_of(file, "categories", path));
  DVNN_ASSIGN(const Json* images, list_of(file, "images", path));
  DVNN_ASSIGN(const Json* annotations, list_of(file, "annotations", path));
  DataSet data;
  data.source = path;
  Index by_category, by_image;
  DVNN_TRY(read_categories(*categories, path, &data, &by_category));
  DVNN_TRY(read_images(*images, path, &data, &by_image));
  for (size_t i = 0; i < annotations->size(); ++i) {
    JsonReader in(annotations->at(i), named("annotations", i, path));
    DVNN_TRY(read_annotation(&in, by_image, by_category, &data));
  }
  return data;
}

Status locate_pictures(DataSet* data) {
  for (const Sequence& sequence : data->sequences) {
    if (!data->pictures[sequence.first].path.empty()) continue;
    return Error{ErrorCode::kNotFound, "'" + sequence.folder +
                                           "' has no img1 with pictures, or what imDir in "
                                           "seqinfo.ini names, which a network needs"};
  }
  if (data->kind != Annotations::kCoco) return {};
  std::string folder;
  for (Picture& picture : data->pictures) {
    if (folder.empty() || !is_file(folder + "/" + picture.path)) {
      DVNN_ASSIGN(folder, folder_with(picture.path, data->source));
    }
    picture.path = folder + "/" + picture.path;
  }
  return {};
}

// --- results -------------------------------------------------------------------------------------

namespace {

// Returns the box around points, as COCO's programs compute it.
Box box_around(const std::vector<objects::Point>& points) {
  if (points.empty()) return {};
  double x0 = points[0].x, x1 = x0, y0 = points[0].y, y1 = y0;
  for (const objects::Point& point : points) {
    x0 = std::min(x0, point.x);
    x1 = std::max(x1, point.x);
    y0 = std::min(y0, point.y);
    y1 = std::max(y1, point.y);
  }
  return {x0, y0, x1 - x0, y1 - y0};
}

Status read_result(JsonReader* in, const Index& images, const Index& categories,
                   const DataSet& data, FoundByPicture* found) {
  DVNN_ASSIGN(const size_t picture, look_up(in, "image_id", images, "images"));
  DVNN_ASSIGN(const size_t category, look_up(in, "category_id", categories, "categories"));
  Found one;
  one.class_id = static_cast<int>(category);
  one.score = in->number("score");
  DVNN_ASSIGN(one.points, read_points(in));
  const Picture& of = data.pictures[picture];
  DVNN_ASSIGN(one.mask, read_segmentation(in, of.width, of.height));
  one.box = one.mask ? one.mask->box() : box_around(one.points);
  if (in->member("bbox") || (one.points.empty() && !one.mask))
    DVNN_TRY(read_box(in, "bbox", &one.box));
  (*found)[picture].push_back(std::move(one));
  return in->status();
}

}  // namespace

Result<FoundByPicture> read_coco_results(const std::string& path, const DataSet& data) {
  Index by_category, by_image;
  for (size_t i = 0; i < data.class_ids.size(); ++i) by_category.emplace(data.class_ids[i], i);
  for (size_t i = 0; i < data.pictures.size(); ++i) by_image.emplace(data.pictures[i].id, i);
  DVNN_ASSIGN(const Json file, read_json(path));
  if (!file.is_array()) {
    return malformed("'" + path + "' is not a list of results as COCO's programs read them");
  }
  FoundByPicture found(data.pictures.size());
  for (size_t i = 0; i < file.size(); ++i) {
    if (!file.at(i).is_object()) return malformed(named("result", i, path) + " is not an object");
    JsonReader in(file.at(i), named("result", i, path));
    DVNN_TRY(read_result(&in, by_image, by_category, data, &found));
  }
  return found;
}

std::string coco_results_text(const FoundByPicture& found, const DataSet& data) {
  // Written object by object: a value of all of them would take many times as much memory.
  std::string text = "[";
  for (size_t p = 0; p < found.size(); ++p) {
    for (const Found& one : found[p]) {
      Json json = {{"image_id", data.pictures[p].id},
                   {"category_id", data.class_ids[static_cast<size_t>(one.class_id)]},
                   {"bbox", {one.box.x, one.box.y, one.box.width, one.box.height}},
                   {"score", one.score}};
      for (const objects::Point& point : one.points) {
        for (const double value : {point.x, point.y, double{point.confidence}}) {
          json["keypoints"].push_back(value);
        }
      }
      if (one.mask) json["segmentation"] = segmentation_json(*one.mask);
      text += (text.size() > 1 ? ",\n" : "\n") + json_text(json);
    }
  }
  return text + "\n]\n";
}

}  // namespace dvnn::evaluate
