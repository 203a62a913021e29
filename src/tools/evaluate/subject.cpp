// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/subject.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "objects/frame_map.h"
#include "tools/evaluate/read_ahead.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

std::string name_key(const std::string& name) {
  const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "" : lower_case(name.substr(begin, end - begin + 1));
}

// The first names of a list, for an error.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    text += (i ? ", '" : "'") + short_text(names[i], 40) + "'";
  }
  return text + (names.size() > kMostShown ? ", ..." : "");
}

// By the network's class: the data set's.
std::vector<int> matches_by_index(const evaluate::DataSet& data, size_t classes) {
  std::vector<int> matches;
  for (size_t i = 0; i < classes; ++i) {
    matches.push_back(i < data.classes.size() ? static_cast<int>(i) : -1);
  }
  return matches;
}

std::vector<int> matches_by_name(const evaluate::DataSet& data,
                                 const std::vector<std::string>& labels) {
  std::map<std::string, int> index;
  for (size_t i = 0; i < data.classes.size(); ++i)
    index.emplace(name_key(data.classes[i]), static_cast<int>(i));
  std::vector<int> matches;
  for (const std::string& label : labels) {
    const auto at = index.find(name_key(label));
    matches.push_back(at == index.end() ? -1 : at->second);
  }
  return matches;
}

void add_found(const objects::Objects& objects, Subject* subject,
               std::vector<evaluate::Found>* to) {
  for (const objects::Object& object : objects) {
    const bool ours =
        object.class_id >= 0 && static_cast<size_t>(object.class_id) < subject->classes.size();
    const int class_id = ours ? subject->classes[static_cast<size_t>(object.class_id)] : -1;
    // A class that the data does not have is a wrong answer of a classifier all the same.
    const bool counts = class_id >= 0 || subject->classifies;
    if (!counts || !std::isfinite(object.confidence)) continue;
    evaluate::Found found;
    found.class_id = class_id;
    found.score = double{object.confidence};
    const image::Corners& box = object.box;
    found.box = {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0};
    found.points = object.points;
    to->push_back(std::move(found));
  }
}

Status run_picture(const evaluate::Picture& picture, const cv::Mat& pixels, float threshold,
                   Subject* subject, std::vector<evaluate::Found>* to) {
  DVNN_TRY(subject->session->load(pixels));
  DVNN_TRY(subject->session->run(picture.path));
  DVNN_ASSIGN(objects::Objects objects,
              subject->session->found(subject->classifies ? 0.0F : threshold));
  // As dvdecode does it.
  const image::Corners frame = {0, 0, double(pixels.cols), double(pixels.rows)};
  if (!subject->classifies) {
    objects.remove_if(
        [&](objects::Object& object) { return !objects::clip_box(frame, &object.box); });
  }
  add_found(objects, subject, to);
  return {};
}

// Annotations that are fractions of the picture become pixels.
void set_size(int width, int height, evaluate::Picture* picture) {
  picture->width = width;
  picture->height = height;
  if (!picture->in_fractions) return;
  picture->in_fractions = false;
  for (evaluate::Truth& truth : picture->truths) {
    truth.box = {truth.box.x * width, truth.box.y * height, truth.box.width * width,
                 truth.box.height * height};
    truth.area *= double{1} * width * height;
    for (objects::Point& point : truth.points) {
      point.x *= width;
      point.y *= height;
    }
  }
}

// Boxes in pixels are those of the picture as it is only if its size is the annotations'.
Status check_size(const evaluate::Picture& picture, const cv::Mat& pixels) {
  const bool same = picture.width == 0 || picture.height == 0 ||
                    (picture.width == pixels.cols && picture.height == pixels.rows);
  if (same) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      format("'%s' has %d x %d pixels; its annotations are for %d x %d", picture.path.c_str(),
             pixels.cols, pixels.rows, picture.width, picture.height)};
}

}  // namespace

Status match_classes(const evaluate::DataSet& data, bool by_index, Subject* subject) {
  const network::Model& model = subject->session->model();
  const std::vector<std::string>& labels = model.labels;
  const auto count = static_cast<size_t>(std::max(0, subject->session->decoder()->class_count()));
  const size_t classes = std::max(labels.size(), count ? count : data.classes.size());
  by_index = by_index || labels.empty() || !data.named;
  subject->classes = by_index ? matches_by_index(data, classes) : matches_by_name(data, labels);
  subject->labels = data.classes;
  subject->known.assign(data.classes.size(), false);
  for (size_t i = 0; i < subject->classes.size(); ++i) {
    const std::string label = objects::label_of(labels, static_cast<int>(i));
    if (subject->classes[i] < 0) {
      subject->foreign.push_back(label);
      continue;
    }
    const auto to = static_cast<size_t>(subject->classes[i]);
    subject->known[to] = true;
    subject->labels[to] = label;
  }
  if (std::any_of(subject->known.begin(), subject->known.end(), [](bool known) { return known; }))
    return {};
  return Error{ErrorCode::kInvalidArgument, "none of the labels of '" + subject->path + "' (" +
                                                some_of(labels) + ") is a class of the data (" +
                                                some_of(data.classes) +
                                                "); --by-index matches them by their index"};
}

Status run_subjects(float threshold, evaluate::DataSet* data, std::vector<Subject>* subjects) {
  std::vector<Subject*> running;
  for (Subject& subject : *subjects) {
    if (subject.session) running.push_back(&subject);
  }
  if (running.empty()) return {};
  for (Subject* subject : running) subject->found.resize(data->pictures.size());
  std::vector<std::string> paths;
  for (const evaluate::Picture& picture : data->pictures) paths.push_back(picture.path);
  ReadAhead pictures(std::move(paths));
  Progress progress("evaluating", data->pictures.size());
  for (size_t i = 0; i < data->pictures.size(); ++i) {
    DVNN_ASSIGN(const cv::Mat pixels, pictures.next());
    evaluate::Picture* picture = &data->pictures[i];
    DVNN_TRY(check_size(*picture, pixels));
    set_size(pixels.cols, pixels.rows, picture);
    for (Subject* subject : running) {
      DVNN_TRY(run_picture(*picture, pixels, threshold, subject, &subject->found[i]));
    }
    progress.advance();
  }
  return {};
}

}  // namespace dvnn::tools
