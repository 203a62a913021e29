// SPDX-License-Identifier: Apache-2.0
#include <glib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/format.h"
#include "evaluate/annotations/annotations.h"

namespace dvnn::evaluate {
namespace {

constexpr uint64_t kMostXmlBytes = 16 << 20;
constexpr size_t kMostDepth = 16;

// An object in the file.
struct VocObject {
  std::string name, difficult;
  std::map<std::string, std::string> corners;  // xmin, ymin, xmax, ymax
  int line = 0;
};

// The contents of a file, and the state of its parser.
struct VocFile {
  std::string filename;
  std::vector<VocObject> objects;
  std::vector<std::string> open;  // names of elements that have not ended
  std::string problem;            // set before GLib's parser is stopped
};

// Returns the path of open elements: "annotation/object/name".
std::string path_of(const VocFile& file) {
  return joined(file.open, "/");
}

void begin_element(GMarkupParseContext* context, const gchar* name, const gchar** /*attributes*/,
                   const gchar** /*values*/, gpointer data, GError** error) {
  auto* file = static_cast<VocFile*>(data);
  file->open.emplace_back(name);
  if (file->open.size() > kMostDepth) {
    g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                        "elements are nested too deep");
    return;
  }
  if (path_of(*file) != "annotation/object") return;
  file->objects.emplace_back();
  g_markup_parse_context_get_position(context, &file->objects.back().line, nullptr);
}

void end_element(GMarkupParseContext* /*context*/, const gchar* /*name*/, gpointer data,
                 GError** /*error*/) {
  static_cast<VocFile*>(data)->open.pop_back();
}

void take_text(GMarkupParseContext* /*context*/, const gchar* text, gsize length, gpointer data,
               GError** /*error*/) {
  auto* file = static_cast<VocFile*>(data);
  const std::string path = path_of(*file), value(text, length);
  if (path == "annotation/filename") file->filename += value;
  if (file->objects.empty()) return;
  VocObject& object = file->objects.back();
  if (path == "annotation/object/name") object.name += value;
  if (path == "annotation/object/difficult") object.difficult += value;
  const std::string box = "annotation/object/bndbox/";
  if (path.compare(0, box.size(), box) == 0) object.corners[path.substr(box.size())] += value;
}

Result<VocFile> parse(const std::string& path) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMostXmlBytes));
  VocFile file;
  constexpr GMarkupParser kParser = {begin_element, end_element, take_text, nullptr, nullptr};
  const std::unique_ptr<GMarkupParseContext, decltype(&g_markup_parse_context_free)> context(
      g_markup_parse_context_new(&kParser, GMarkupParseFlags(0), &file, nullptr),
      g_markup_parse_context_free);
  GError* error = nullptr;
  if (!g_markup_parse_context_parse(context.get(), text.data(), static_cast<gssize>(text.size()),
                                    &error) ||
      !g_markup_parse_context_end_parse(context.get(), &error)) {
    const std::string why = error ? error->message : "is no XML";
    g_clear_error(&error);
    return malformed("'" + path + "': " + printable(why));
  }
  return file;
}

Result<double> corner_of(const VocObject& object, const char* name, const std::string& where) {
  const auto at = object.corners.find(name);
  const std::string text = at == object.corners.end() ? "" : trimmed(at->second);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kFar = 1e9;
  if (error != std::errc() || rest != text.data() + text.size() || !(std::abs(value) <= kFar)) {
    return malformed(where + ": " + name + " of the box is '" + short_text(text, 80) +
                     "', and not a number of pixels");
  }
  return value;
}

Result<Truth> truth_of(const VocObject& object, const std::string& path) {
  const std::string where = format("'%s', line %d", path.c_str(), object.line);
  DVNN_TRY(check_class_name(trimmed(object.name), where));
  DVNN_ASSIGN(const double x0, corner_of(object, "xmin", where));
  DVNN_ASSIGN(const double y0, corner_of(object, "ymin", where));
  DVNN_ASSIGN(const double x1, corner_of(object, "xmax", where));
  DVNN_ASSIGN(const double y1, corner_of(object, "ymax", where));
  if (x1 < x0 || y1 < y0) {
    return malformed(where +
                     format(": the box %g,%g .. %g,%g ends before it begins", x0, y0, x1, y1));
  }
  Truth truth;
  truth.box = {x0 - 1, y0 - 1, x1 - x0 + 1, y1 - y0 + 1};
  truth.area = truth.box.area();
  const std::string difficult = trimmed(object.difficult);
  truth.ignored = !difficult.empty() && difficult != "0";
  return truth;
}

// Returns the picture of an XML file: by the name in it, or by its own.
Result<std::string> picture_of(const VocFile& file, const std::string& xml) {
  const std::string folder = folder_name(xml);
  const std::string name = base_name(trimmed(file.filename));
  for (const std::string& at : {folder, folder + "../JPEGImages/", folder + "../images/"}) {
    if (is_picture_name(name) && is_file(at + name)) return at + name;
    for (const char* end : {".jpg", ".jpeg", ".png", ".JPG", ".bmp"}) {
      if (is_file(at + stem_of(xml) + end)) return at + stem_of(xml) + end;
    }
  }
  return Error{ErrorCode::kNotFound, "the picture '" + short_text(name, 80) + "' of '" + xml +
                                         "' is not beside it, nor in ../JPEGImages or ../images"};
}

}  // namespace

Result<DataSet> read_voc(const std::string& path) {
  std::vector<std::string> files = files_in(path + "/Annotations", ".xml");
  if (files.empty()) files = files_in(path, ".xml");
  if (files.empty()) {
    return Error{ErrorCode::kNotFound,
                 "'" + path + "' has no .xml files, nor has 'Annotations' in it"};
  }
  DataSet data;
  data.source = path;
  std::map<std::string, std::vector<std::pair<size_t, size_t>>>
      by_class;  // by class: picture and truth
  for (const std::string& xml : files) {
    DVNN_ASSIGN(const VocFile file, parse(xml));
    Picture picture;
    DVNN_ASSIGN(picture.path, picture_of(file, xml));
    for (const VocObject& object : file.objects) {
      DVNN_ASSIGN(Truth truth, truth_of(object, xml));
      by_class[trimmed(object.name)].emplace_back(data.pictures.size(), picture.truths.size());
      picture.truths.push_back(std::move(truth));
    }
    data.pictures.push_back(std::move(picture));
  }
  for (const auto& [name, places] : by_class) {
    for (const auto& [picture, truth] : places) {
      data.pictures[picture].truths[truth].class_id = static_cast<int>(data.classes.size());
    }
    data.classes.push_back(name);
  }
  return data;
}

}  // namespace dvnn::evaluate
