// SPDX-License-Identifier: Apache-2.0
// Annotations that anybody may have written, for dvnet evaluate: COCO's, others' results, YOLO's
// lines and data.yaml, VOC's XML, and texts. What is taken has classes that exist and boxes that
// are numbers; what is not is named with its file.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "evaluate/annotations/annotations.h"
#include "evaluate/average_precision.h"
#include "fuzzed_data.h"
#include "target.h"

namespace dvnn::fuzz::annotations_target {

using evaluate::Annotations;
using evaluate::DataSet;
using fuzz::expect;
using fuzz::FuzzedData;

namespace {

// A folder in memory with a picture, `images/a.jpg`, whose name is all that readers want.
std::string& folder() {
  static auto* const path = new std::string();
  return *path;
}

void put(const std::string& name, const std::string& text) {
  expect(write_file(folder() + "/" + name, text).ok(), "the folder cannot be written");
}

void check_numbers(const evaluate::Box& box, const std::vector<objects::Point>& points) {
  expect(std::isfinite(box.x + box.y + box.width + box.height), "a box that is no numbers");
  expect(box.width >= 0 && box.height >= 0, "a box ends before it begins");
  for (const objects::Point& point : points) {
    expect(std::isfinite(point.x + point.y), "a point that is no numbers");
  }
}

void check(const DataSet& data) {
  const auto classes = static_cast<int>(data.classes.size());
  expect(data.class_ids.empty() || data.class_ids.size() == data.classes.size(), "ids are missing");
  for (const evaluate::Picture& picture : data.pictures) {
    expect(picture.class_id >= -1 && picture.class_id < classes, "a picture of no class");
    for (const evaluate::Truth& truth : picture.truths) {
      expect(truth.class_id >= 0 && truth.class_id < classes, "an object of no class");
      expect(std::isfinite(truth.area) && truth.area >= 0, "an area that is none");
      check_numbers(truth.box, truth.points);
    }
  }
}

// Figures are shares, or -1 of nothing, whatever is held against the truth.
void check_figures(const DataSet& data, const evaluate::FoundByPicture& found) {
  for (const auto measure : {evaluate::Measure::kBoxes, evaluate::Measure::kKeyPoints}) {
    const evaluate::Figures f =
        evaluate::figures_of(evaluate::judge(data, found, measure), measure);
    for (double share : {f.ap, f.ap50, f.ap75, f.ap_small, f.ap_medium, f.ap_large, f.ar1, f.ar10,
                         f.ar, f.ar_small, f.ar_medium, f.ar_large, f.ar50, f.ar75}) {
      expect(share == -1 || (share >= 0 && share <= 1), "a figure is no share");
    }
  }
}

// What is annotated is found, and beside it.
void check_judgement(const DataSet& data) {
  evaluate::FoundByPicture found(data.pictures.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (const evaluate::Truth& truth : data.pictures[i].truths) {
      const double score = static_cast<double>(found[i].size() % 7);
      found[i].push_back({truth.class_id, score, truth.box, truth.points});
      found[i].push_back({truth.class_id, score / 2, truth.box, {}});
      found[i].back().box.x += truth.box.width / 3;
    }
  }
  check_figures(data, found);
}

// Reads as this form.
void read(const std::string& name, Annotations kind) {
  const auto data = evaluate::read_data_set(folder() + name, kind);
  if (fuzz::is_good(data)) {
    ++accepted;
    check(data.value());
    return check_judgement(data.value());
  }
  expect(data.error().message.find(folder()) != std::string::npos, data.error().message.c_str());
}

void read_results(const std::string& text) {
  DataSet data;
  data.classes = {"one", "two"};
  data.class_ids = {1, 7};
  data.pictures.resize(2);
  data.pictures[1].id = 5;
  put("results.json", text);
  const auto found = evaluate::read_coco_results(folder() + "/results.json", data);
  if (!fuzz::is_good(found)) return;
  ++accepted;
  for (size_t i = 0; i < data.pictures.size(); ++i) {
    for (const evaluate::Found& one : found.value()[i]) {
      expect(one.class_id == 0 || one.class_id == 1, "an object of no class");
      expect(std::isfinite(one.score), "a confidence that is no number");
      check_numbers(one.box, one.points);
      // They are what was to be found in the other picture.
      evaluate::Truth truth;
      truth.class_id = one.class_id;
      truth.box = one.box;
      truth.area = one.score;
      truth.points = one.points;
      data.pictures[1 - i].truths.push_back(truth);
    }
  }
  check_figures(data, found.value());
  const std::string again = evaluate::coco_results_text(found.value(), data);
  put("again.json", again);
  expect(fuzz::is_good(evaluate::read_coco_results(folder() + "/again.json", data)),
         "results cannot be read again");
}

}  // namespace

static void prepare() {
  std::string path = "/dev/shm/dvnn-fuzz-annotations-XXXXXX";
  if (!mkdtemp(path.data())) {
    path.replace(0, std::strlen("/dev/shm"), "/tmp");
    if (!mkdtemp(path.data())) std::abort();
  }
  folder() = path;
  for (const char* name : {"/images", "/labels", "/xml"}) {
    std::filesystem::create_directory(path + name);
  }
  put("images/a.jpg", "");
  put("xml/a.jpg", "");
  std::atexit([] { std::filesystem::remove_all(folder()); });
}

static void try_input(const uint8_t* data, size_t size) {
  FuzzedData in(data, size);
  const uint8_t kind = in.byte() % 6;
  std::string text = in.rest();
  switch (kind) {
    case 0:
      put("coco.json", text);
      return read("/coco.json", Annotations::kCoco);
    case 1:
      return read_results(text);
    case 2: {
      // Two files, with a mark between them that no text has.
      const size_t mark = text.find('\1');
      put("data.yaml", mark == std::string::npos ? "" : text.substr(0, mark));
      put("labels/a.txt", mark == std::string::npos ? text : text.substr(mark + 1));
      return read("", Annotations::kYolo);
    }
    case 3:
      put("xml/a.xml", text);
      return read("/xml", Annotations::kVoc);
    case 4:
      put("texts.txt", text);
      return read("/texts.txt", Annotations::kTexts);
    default:
      // The form is guessed.
      put("guess.json", text);
      return read("/guess.json", Annotations::kFind);
  }
}

DVNN_FUZZ_TARGET(annotations)

}  // namespace dvnn::fuzz::annotations_target
