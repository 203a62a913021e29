// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluate_report.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/json.h"
#include "tools/evaluate_text.h"
#include "tools/page/page.h"
#include "tools/pictures.h"

namespace dvnn::tools {
namespace {

constexpr size_t kMostPictures = 12;
constexpr int kMostWidth = 640;  // largest width of a picture on the page, pixels

// Returns the pictures with most mistakes; of equals, the first.
std::vector<size_t> worst_of(const std::vector<size_t>& mistakes) {
  std::vector<size_t> order(mistakes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return mistakes[a] > mistakes[b]; });
  while (order.size() > kMostPictures || (!order.empty() && mistakes[order.back()] == 0))
    order.pop_back();
  return order;
}

// Returns a smaller picture: each pixel is the mean of a square.
Bitmap smaller(const Bitmap& picture) {
  const int step = (picture.width + kMostWidth - 1) / kMostWidth;
  if (step <= 1 || picture.height < step) return picture;
  Bitmap small(picture.width / step, picture.height / step, 3);
  for (int y = 0; y < small.height; ++y) {
    uint8_t* to = small.row(y);
    for (int x = 0; x < small.width * 3; ++x) {
      int sum = 0;
      for (int dy = 0; dy < step; ++dy) {
        const uint8_t* from = picture.row(y * step + dy) + x / 3 * step * 3 + x % 3;
        for (int dx = 0; dx < step; ++dx) sum += from[3 * dx];
      }
      to[x] = static_cast<uint8_t>(sum / (step * step));
    }
  }
  return small;
}

OrderedJson box_json(const evaluate::Box& box, const char* state, const std::string& text) {
  return {{"box", {box.x, box.y, box.width, box.height}}, {"state", state}, {"text", text}};
}

// Returns the boxes of truths and found objects, with how each was judged.
OrderedJson boxes_json(const evaluate::Picture& picture, const std::vector<evaluate::Found>& found,
                       const evaluate::Comparison& comparison,
                       const std::vector<std::string>& classes) {
  OrderedJson boxes = OrderedJson::array();
  const auto name = [&](int class_id) { return classes[static_cast<size_t>(class_id)]; };
  const auto told = [&](const evaluate::Found& f) {
    return name(f.class_id) + format(" %.3f", f.score);
  };
  for (const evaluate::Truth& truth : picture.truths) {
    if (truth.crowd || truth.ignored)
      boxes.push_back(box_json(truth.box, "crowd", name(truth.class_id) + ", does not count"));
  }
  for (const auto& [f, t] : comparison.pairs) {
    const evaluate::Truth& truth = picture.truths[t];
    const bool same = found[f].class_id == truth.class_id;
    boxes.push_back(box_json(truth.box, "truth", name(truth.class_id) + ", is there"));
    boxes.push_back(box_json(
        found[f].box, same ? "right" : "wrong",
        told(found[f]) + (same ? ", found" : ", found, but it is " + name(truth.class_id))));
  }
  for (const size_t t : comparison.missed) {
    boxes.push_back(box_json(picture.truths[t].box, "missed",
                             name(picture.truths[t].class_id) + ", not found"));
  }
  for (const size_t f : comparison.alarms)
    boxes.push_back(box_json(found[f].box, "wrong", told(found[f]) + ", is not there"));
  return boxes;
}

Result<OrderedJson> picture_json(const evaluate::DataSet& data, const Subject& subject,
                                 const MeasuredDetector& measured, size_t index) {
  const evaluate::Picture picture = counted_picture(data, subject, index);
  const std::vector<evaluate::Found>& found = subject.found[index];
  DVNN_ASSIGN(const Bitmap pixels, read_picture(picture.path));
  DVNN_ASSIGN(const std::string png, encode_png(smaller(pixels)));
  return OrderedJson{
      {"path", picture.path},
      {"width", pixels.width},
      {"height", pixels.height},
      {"mistakes", measured.mistakes[index]},
      {"image", "data:image/png;base64," + base64(png)},
      {"boxes",
       boxes_json(picture, found, compare(picture, found, measured.by_class), data.classes)}};
}

}  // namespace

Result<std::string> evaluate_page(const evaluate::DataSet& data,
                                  const std::vector<Subject>& subjects,
                                  const std::vector<Measured>& measured, OrderedJson report) {
  for (size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].detector) continue;
    OrderedJson worst = OrderedJson::array();
    for (const size_t picture : worst_of(measured[i].detector->mistakes)) {
      // Results that were read from a file may come without pictures.
      if (!subjects[i].session) break;
      DVNN_ASSIGN(OrderedJson json,
                  picture_json(data, subjects[i], *measured[i].detector, picture));
      worst.push_back(std::move(json));
    }
    report["networks"][i]["detection"]["worst"] = std::move(worst);
  }
  return assemble_page(kEvaluateHtml, kEvaluateStyles, kEvaluateScripts,
                       json_text(report, -1, true));
}

}  // namespace dvnn::tools
