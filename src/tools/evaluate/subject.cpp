// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/subject.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <limits>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/grid.h"
#include "base/result.h"
#include "evaluate/run_lengths.h"
#include "objects/object.h"
#include "tools/pictures.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

// Reads pictures one after the other, a few ahead of their reader, on threads of its own.
class ReadAhead {
 public:
  explicit ReadAhead(std::vector<std::string> paths);
  // Returns the next picture, in the order of the paths. Do not call it more often than there are
  // any.
  Result<Bitmap> next();

 private:
  void begin_more();
  const std::vector<std::string> paths_;
  size_t begun_ = 0;
  std::deque<std::future<Result<Bitmap>>> pictures_;
};

ReadAhead::ReadAhead(std::vector<std::string> paths) : paths_(std::move(paths)) {
  begin_more();
}

Result<Bitmap> ReadAhead::next() {
  Result<Bitmap> picture = pictures_.front().get();
  pictures_.pop_front();
  begin_more();
  return picture;
}

void ReadAhead::begin_more() {
  // Decoding a photograph takes as long as running a small network; more pictures would only take
  // memory.
  constexpr size_t kMostAhead = 3;
  while (pictures_.size() < kMostAhead && begun_ < paths_.size()) {
    pictures_.push_back(std::async(std::launch::async, read_picture, paths_[begun_++]));
  }
}

std::string name_key(const std::string& name) {
  const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "" : lower_case(name.substr(begin, end - begin + 1));
}

// Returns the first names of a list, for an error.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    text += (i ? ", '" : "'") + short_text(names[i], 40) + "'";
  }
  return text + (names.size() > kMostShown ? ", ..." : "");
}

// Returns the data set's class for each class of the network.
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

// `masks`: theirs are wanted, in a picture of that size.
void add_found(const objects::Objects& objects, const Bitmap& pixels, bool masks, Subject* subject,
               std::vector<evaluate::Found>* to) {
  for (const objects::Object& object : objects) {
    const bool ours =
        object.class_id >= 0 && static_cast<size_t>(object.class_id) < subject->classes.size();
    const int class_id = ours ? subject->classes[static_cast<size_t>(object.class_id)] : -1;
    // For a classifier, a class that the data lacks still counts, as a wrong answer.
    const bool counts = class_id >= 0 || subject->finds == objects::Kind::kClassification;
    if (!counts || !std::isfinite(object.confidence)) continue;
    evaluate::Found found;
    found.class_id = class_id;
    found.score = double{object.confidence};
    const image::Corners& box = object.box;
    found.box = {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0};
    found.points = object.points;
    if (masks && object.mask.there()) {
      found.mask = std::make_shared<const evaluate::RunLengths>(
          evaluate::fill_cells(object.mask, object.box, pixels.width, pixels.height));
    }
    to->push_back(std::move(found));
  }
}

// Returns the cell of a map at the middle of each of `count` pixels of a row or a column. The map
// covers `begin` to `end`; pixels beyond get the cell at its edge.
std::vector<int> cells_at(int count, double begin, double end, int cells) {
  std::vector<int> at;
  for (int i = 0; i < count; ++i) {
    const double cell = std::floor((i + 0.5 - begin) / (end - begin) * cells);
    at.push_back(static_cast<int>(std::clamp(cell, 0.0, double(cells - 1))));
  }
  return at;
}

void count_pixels(const objects::Mask& map, const Bitmap& truth, Subject* subject) {
  const std::vector<int> columns = cells_at(truth.width, map.place.x0, map.place.x1, map.width);
  const std::vector<int> rows = cells_at(truth.height, map.place.y0, map.place.y1, map.height);
  for (int y = 0; y < truth.height; ++y) {
    const uint8_t* line = truth.row(y);
    const uint8_t* cells =
        map.cells.data() + grid_index(0, rows[static_cast<size_t>(y)], map.width);
    for (int x = 0; x < truth.width; ++x) {
      const size_t is = line[3 * x];
      if (is >= evaluate::kMostPixelClasses || !subject->known[is]) continue;
      const size_t cell = cells[columns[static_cast<size_t>(x)]];
      const int found = cell < subject->classes.size() ? subject->classes[cell] : -1;
      subject->pixels.add(is, found < 0 ? evaluate::kMostPixelClasses : static_cast<size_t>(found));
    }
  }
}

// Keeps the text, or the embedding, of a whole picture. A text may be empty.
Status take_whole(const objects::Objects& objects, const evaluate::Picture& picture, bool reads,
                  Subject* subject) {
  std::string text;
  std::vector<float> embedding;
  for (const objects::Object& object : objects) {
    if (text.empty()) text = object.text;
    if (embedding.empty()) embedding = object.embedding;
  }
  if (reads) {
    subject->texts.push_back(std::move(text));
    return {};
  }
  const auto is_number = [](float value) { return std::isfinite(value); };
  const auto is_zero = [](float value) { return value == 0; };
  if (std::all_of(embedding.begin(), embedding.end(), is_number) &&
      !std::all_of(embedding.begin(), embedding.end(), is_zero)) {
    subject->embeddings.push_back(std::move(embedding));
    return {};
  }
  return unsupported("network '" + subject->path + "' gives no embedding of '" + picture.path +
                     "', or one whose length is 0 or no number");
}

Result<objects::Objects> found_on(const evaluate::Picture& picture, const Bitmap& pixels,
                                  float threshold, Subject* subject) {
  if (subject->in_fp32) return subject->in_fp32->run(pixels, threshold);
  DVNN_TRY(subject->session->load(pixels));
  DVNN_TRY(subject->session->run(picture.path));
  return subject->session->decode(threshold);
}

// Runs the network on a picture. `truth`: its mask, if it has one. `reads`: its text is wanted;
// `masks`: objects' masks are.
Status run_picture(const evaluate::Picture& picture, const Bitmap& pixels, const Bitmap& truth,
                   bool reads, bool masks, float threshold, Subject* subject,
                   std::vector<evaluate::Found>* to) {
  const bool detects = subject->finds == objects::Kind::kDetection;
  DVNN_ASSIGN(objects::Objects objects,
              found_on(picture, pixels, detects ? threshold : 0.0F, subject));
  if (subject->finds == objects::Kind::kSegmentation) {
    for (const objects::Object& object : objects) {
      if (object.mask.there()) count_pixels(object.mask, truth, subject);
    }
    return {};
  }
  if (subject->finds == objects::Kind::kAttributes) {
    return take_whole(objects, picture, reads, subject);
  }
  // As dvdecode does it.
  const image::Corners frame = {0, 0, double(pixels.width), double(pixels.height)};
  if (detects) {
    objects.remove_if(
        [&](objects::Object& object) { return !objects::clip_box(frame, &object.box); });
  }
  add_found(objects, pixels, masks, subject, to);
  return {};
}

// Checks a mask. It was read as a colour picture, so it must be gray, and as large as its picture.
Status check_mask(const evaluate::Picture& picture, const Bitmap& mask, size_t classes) {
  const std::string what = "mask '" + picture.mask + "'";
  if (mask.width != picture.width || mask.height != picture.height) {
    return invalid_argument(format("%s has %d x %d pixels, its picture %d x %d", what.c_str(),
                                   mask.width, mask.height, picture.width, picture.height));
  }
  for (int y = 0; y < mask.height; ++y) {
    const uint8_t* line = mask.row(y);
    for (int x = 0; x < mask.width; ++x) {
      const uint8_t value = line[3 * x];
      if (value >= classes && value != evaluate::kMostPixelClasses) {
        return malformed(
            format("%s has the value %d at %d,%d; there are %zu classes, and 255 does not count",
                   what.c_str(), value, x, y, classes));
      }
      if (value == line[3 * x + 1] && value == line[3 * x + 2]) continue;
      return malformed(format(
          "%s has a colour at %d,%d; masks are gray, a pixel's value being the index of its class",
          what.c_str(), x, y));
    }
  }
  return {};
}

bool same_objects(const std::vector<evaluate::Found>& a, const std::vector<evaluate::Found>& b) {
  const auto same = [](const evaluate::Found& x, const evaluate::Found& y) {
    return x.class_id == y.class_id && x.score == y.score && x.box.x == y.box.x &&
           x.box.y == y.box.y && x.box.width == y.box.width && x.box.height == y.box.height;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

// Compares the outputs of two sessions of one network that have run on the same picture.
void compare_outputs(size_t picture, const Subject& other, Subject* subject) {
  PictureDifference difference;
  difference.picture = picture;
  const std::vector<network::OutputInfo>& outputs = subject->session->model().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ConstTensorView ours = subject->session->slot().output(i);
    const ConstTensorView theirs = other.session->slot().output(i);
    std::vector<float> a(ours.desc.shape.count()), b(a.size());
    read_nchw(ours, a.data());
    read_nchw(theirs, b.data());
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
      const double far = std::fabs(double{a[k]} - double{b[k]});
      const double by = std::isnan(far) ? std::numeric_limits<double>::infinity() : far;
      if (difference.values++ == 0 || by > difference.largest) {
        difference.largest = by;
        difference.output = outputs[i].name;
      }
    }
  }
  if (difference.values == 0) return;
  difference.objects = !same_objects(subject->found[picture], other.found[picture]);
  subject->differences.push_back(std::move(difference));
}

// Whether objects have masks, which is worth computing those of networks for.
bool has_masks(const evaluate::DataSet& data) {
  const auto any = [](const evaluate::Picture& picture) {
    return std::any_of(picture.truths.begin(), picture.truths.end(),
                       [](const evaluate::Truth& truth) { return truth.mask != nullptr; });
  };
  return std::any_of(data.pictures.begin(), data.pictures.end(), any);
}

// Converts annotations in fractions of the picture to pixels.
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

// Checks that the picture has the size that annotations in pixels were made for.
Status check_size(const evaluate::Picture& picture, const Bitmap& pixels) {
  const bool same = picture.width == 0 || picture.height == 0 ||
                    (picture.width == pixels.width && picture.height == pixels.height);
  if (same) return {};
  return invalid_argument(format("'%s' has %d x %d pixels; its annotations are for %d x %d",
                                 picture.path.c_str(), pixels.width, pixels.height, picture.width,
                                 picture.height));
}

}  // namespace

Status match_classes(const evaluate::DataSet& data, bool by_index, Subject* subject) {
  if (subject->finds == objects::Kind::kAttributes) {
    // The network need not know identities, and texts have no classes.
    subject->labels = data.classes;
    subject->known.assign(data.classes.size(), true);
    return {};
  }
  const network::Model& model = subject->session->model();
  const std::vector<std::string>& labels = model.labels;
  const auto count = static_cast<size_t>(std::max(0, subject->session->decoder()->class_count()));
  const size_t classes = std::max(labels.size(), count ? count : data.classes.size());
  by_index = by_index || labels.empty() || !data.named;
  subject->classes = by_index ? matches_by_index(data, classes) : matches_by_name(data, labels);
  subject->labels = data.classes;
  subject->known.assign(data.classes.size(), false);
  // Without names, unknown classes cannot be told from wrong results: they count as wrong.
  if (!data.named) subject->known.assign(data.classes.size(), true);
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
  return invalid_argument("none of the labels of '" + subject->path + "' (" + some_of(labels) +
                          ") is a class of the data (" + some_of(data.classes) +
                          "); --by-index matches them by their index");
}

Status run_subjects(float threshold, evaluate::DataSet* data, std::vector<Subject>* subjects,
                    const SeePicture& see, const char* doing) {
  std::vector<Subject*> running;
  for (Subject& subject : *subjects) {
    if (subject.session) running.push_back(&subject);
  }
  if (running.empty()) return {};
  for (Subject* subject : running) subject->found.resize(data->pictures.size());
  std::vector<std::string> paths, masks;
  for (const evaluate::Picture& picture : data->pictures) {
    paths.push_back(picture.path);
    if (!picture.mask.empty()) masks.push_back(picture.mask);
  }
  const bool outlined = has_masks(*data);
  ReadAhead pictures(std::move(paths)), truths(std::move(masks));
  Progress progress(doing, data->pictures.size());
  for (size_t i = 0; i < data->pictures.size(); ++i) {
    DVNN_ASSIGN(const Bitmap pixels, pictures.next());
    evaluate::Picture* picture = &data->pictures[i];
    DVNN_TRY(check_size(*picture, pixels));
    set_size(pixels.width, pixels.height, picture);
    if (see) see(i, pixels);
    Bitmap truth;
    if (!picture->mask.empty()) {
      DVNN_ASSIGN(truth, truths.next());
      DVNN_TRY(check_mask(*picture, truth, data->classes.size()));
    }
    for (Subject* subject : running) {
      DVNN_TRY(run_picture(*picture, pixels, truth, data->kind == evaluate::Annotations::kTexts,
                           outlined, threshold, subject, &subject->found[i]));
    }
    for (Subject* subject : running) {
      if (subject->compared_with != Subject::kNone)
        compare_outputs(i, (*subjects)[subject->compared_with], subject);
    }
    progress.advance();
  }
  return {};
}

#ifndef DVNN_HAVE_CONVERT
Result<std::unique_ptr<FloatRun>> create_float_run(network::Model, const std::string&,
                                                   const decode::CustomDecoders*) {
  return unsupported("--as: this dvnet was built without the converter, which runs in FP32");
}
#endif

}  // namespace dvnn::tools
