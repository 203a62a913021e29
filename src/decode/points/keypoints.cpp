// SPDX-License-Identifier: Apache-2.0
// Key points of the one object that the network is shown: as coordinates, heat maps, or a
// distribution per axis (SimCC).
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "base/nth.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"
#include "kernels/arithmetic/reductions.h"
#include "objects/skeletons.h"

namespace dvnn::decode {
namespace {

struct PointRule {
  std::string skeleton;
  int size = 2;            // numbers per point
  bool confident = false;  // the third number is the confidence
  float width = 1, height = 1, offset = 0;
  Activation score = Activation::kNone;
  int score_output = -1;  // output with the score of the whole; -1: none
};

class PointsDecoder : public Decoder {
 public:
  explicit PointsDecoder(PointRule rule) : rule_(std::move(rule)) {}
  objects::Kind kind() const override { return objects::Kind::kAttributes; }

 protected:
  // Completes the last object, which has its points. Points with NaN count as not seen.
  void finish(float threshold, objects::Objects* out) const {
    objects::Object& object = out->back();
    float sum = 0;
    for (objects::Point& point : object.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) point = {0, 0, 0};
      point.confidence =
          std::isnan(point.confidence) ? 0 : std::clamp(point.confidence, 0.0f, 1.0f);
      sum += point.confidence;
    }
    if (rule_.score_output < 0) {
      object.confidence = sum / static_cast<float>(std::max<size_t>(1, object.points.size()));
    }
    if (!(object.confidence >= threshold)) return out->pop_back();
    object.kind = objects::Kind::kAttributes;
    object.box = {0, 0, 1, 1};
    object.skeleton = rule_.skeleton;
  }
  PointRule rule_;
};

class CoordinatesDecoder final : public PointsDecoder {
 public:
  CoordinatesDecoder(PointRule rule, size_t output, size_t values)
      : PointsDecoder(std::move(rule)), output_(output), values_(values) {}

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    objects::Object& object = out->add();
    if (rule_.score_output >= 0) {
      float score = 0;
      read_nchw(nth(outputs, rule_.score_output), &score);
      object.confidence = activated(rule_.score, score);
    }
    read_nchw(outputs[output_], values_.data());
    const auto size = static_cast<size_t>(rule_.size);
    object.points.resize(values_.size() / size);
    for (size_t k = 0; k < object.points.size(); ++k) {
      const float* numbers = &values_[k * size];
      object.points[k].x = double{(numbers[0] + rule_.offset) / rule_.width};
      object.points[k].y = double{(numbers[1] + rule_.offset) / rule_.height};
      if (rule_.confident) object.points[k].confidence = activated(rule_.score, numbers[2]);
    }
    finish(threshold, out);
    return {};
  }

 private:
  size_t output_;
  std::vector<float> values_;
};

class HeatmapsDecoder final : public PointsDecoder {
 public:
  HeatmapsDecoder(PointRule rule, Table table, int width, int height)
      : PointsDecoder(std::move(rule)),
        table_(std::move(table)),
        width_(width),
        height_(height),
        strip_(Table::kStripFloats) {}

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    table_.bind(outputs);
    objects::Object& object = out->add();
    for (size_t k = 0; k < table_.values(); ++k) object.points.push_back(peak(k));
    finish(threshold, out);
    return {};
  }

 private:
  // Returns the peak's position, shifted by a quarter of a cell towards the higher neighbour on
  // each axis, as these networks were trained. Source: Newell et al., "Stacked Hourglass" (2016).
  objects::Point peak(size_t k) {
    size_t at = 0;
    float best = -std::numeric_limits<float>::infinity();
    const size_t block = table_.strip_cells();
    for (size_t place = 0; place < table_.cells(); place += block) {
      const size_t count = std::min(block, table_.cells() - place);
      const Table::Strip strip = table_.strip(k, 1, place, count, strip_.data());
      for (size_t i = 0; i < count; ++i) {
        if (!(strip.values[i * strip.stride] > best)) continue;
        best = strip.values[i * strip.stride];
        at = table_.cell_of(place + i);
      }
    }
    const int x = static_cast<int>(at) % width_, y = static_cast<int>(at) / width_;
    auto value = [&](int u, int v) { return table_.at(grid_index(u, v, width_), k); };
    auto nudge = [](float before, float after) {
      constexpr float kQuarter = 0.25f;
      return after > before ? kQuarter : after < before ? -kQuarter : 0.0f;
    };
    const float dx = x > 0 && x + 1 < width_ ? nudge(value(x - 1, y), value(x + 1, y)) : 0;
    const float dy = y > 0 && y + 1 < height_ ? nudge(value(x, y - 1), value(x, y + 1)) : 0;
    constexpr double kCentre = 0.5;
    return {(x + kCentre + double{dx}) / width_, (y + kCentre + double{dy}) / height_,
            activated(rule_.score, best)};
  }

  Table table_;
  int width_, height_;
  std::vector<float> strip_;
};

// Each point has a distribution over x and one over y. Source: Li et al., "SimCC" (2022).
class SimccDecoder final : public PointsDecoder {
 public:
  SimccDecoder(PointRule rule, size_t x, size_t y, size_t count, size_t columns, size_t rows)
      : PointsDecoder(std::move(rule)),
        x_(x),
        y_(y),
        count_(count),
        columns_(columns * count_),
        rows_(rows * count_) {}

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    read_nchw(outputs[x_], columns_.data());
    read_nchw(outputs[y_], rows_.data());
    objects::Object& object = out->add();
    for (size_t k = 0; k < count_; ++k) {
      const Peak x = peak(columns_, k), y = peak(rows_, k);
      object.points.push_back(
          {x.place, y.place, activated(rule_.score, std::min(x.value, y.value))});
    }
    finish(threshold, out);
    return {};
  }

 private:
  struct Peak {
    double place;
    float value;
  };
  Peak peak(const std::vector<float>& lines, size_t k) const {
    const size_t length = lines.size() / count_;
    const float* line = lines.data() + k * length;
    const size_t at = kernels::first_largest(line, length);
    return {static_cast<double>(at) / static_cast<double>(length), line[at]};
  }

  size_t x_, y_, count_;
  std::vector<float> columns_, rows_;
};

Status check_skeleton(const PointRule& rule, int64_t count) {
  const objects::Skeleton* skeleton = objects::find_skeleton(rule.skeleton);
  if (!skeleton || skeleton->count == count) return {};
  return malformed(format("the output has %lld points, the skeleton '%s' %d",
                          static_cast<long long>(count), rule.skeleton.c_str(), skeleton->count));
}

DecoderResult create_simcc(const PointRule& rule, JsonReader* in, Span<const NamedOutput> outputs) {
  const std::vector<std::string> names = read_texts(in, "outputs");
  DVNN_TRY(in->status());
  size_t x = 0, y = 1;
  if (names.size() == 2) {
    DVNN_ASSIGN(x, find_output(outputs, names[0]));
    DVNN_ASSIGN(y, find_output(outputs, names[1]));
  }
  if (outputs.size() < 2) return malformed("SimCC needs two outputs");
  const Shape &a = outputs[x].desc.shape, &b = outputs[y].desc.shape;
  if (a.rank != 3 || b.rank != 3 || a[0] != 1 || b[0] != 1 || a[1] != b[1] || a.elements() <= 0 ||
      b.elements() <= 0) {
    return malformed("SimCC needs outputs of 1xPOINTSxLENGTH, the network has " + a.to_string() +
                     " and " + b.to_string());
  }
  DVNN_TRY(check_skeleton(rule, a[1]));
  return std::unique_ptr<Decoder>(
      new SimccDecoder(rule, x, y, a.extent(1), a.extent(2), b.extent(2)));
}

DecoderResult create_heatmaps(const PointRule& rule, size_t index,
                              Span<const NamedOutput> outputs) {
  const Shape& shape = outputs[index].desc.shape;
  if (shape.rank != 4 || shape.n() != 1 || shape.elements() <= 0) {
    return malformed("output '" + outputs[index].name + "' of " + shape.to_string() +
                     " is not 1xPOINTSxHxW");
  }
  DVNN_TRY(check_skeleton(rule, shape.c()));
  DVNN_ASSIGN(Table table, Table::make(outputs[index], index, shape.pixels()));
  return std::unique_ptr<Decoder>(
      new HeatmapsDecoder(rule, std::move(table), shape.w(), shape.h()));
}

DecoderResult create_coordinates(const PointRule& rule, size_t index,
                                 Span<const NamedOutput> outputs) {
  constexpr int64_t kManyNumbers = 1 << 16;
  const int64_t numbers = outputs[index].desc.shape.elements();
  if (numbers <= 0 || numbers > kManyNumbers || numbers % rule.size != 0) {
    return malformed(format("output '%s' has %lld numbers, which are no points of %d each",
                            outputs[index].name.c_str(), static_cast<long long>(numbers),
                            rule.size));
  }
  DVNN_TRY(check_skeleton(rule, numbers / rule.size));
  return std::unique_ptr<Decoder>(
      new CoordinatesDecoder(rule, index, outputs[index].desc.shape.count()));
}

}  // namespace

DecoderResult create_keypoints_decoder(const Json& params, Span<const NamedOutput> outputs) {
  JsonReader in(params, "the parameters");
  PointRule rule;
  rule.skeleton = in.text("skeleton", "");
  rule.size = static_cast<int>(in.integer("point_size", 2, 8, 2));
  rule.confident = in.boolean("point_confidence", false);
  rule.score = read_activation(&in, "score", "none");
  const std::string form = in.text("form", "coordinates");
  const std::string unit = in.text("unit", "fractions");
  if (form != "coordinates" && form != "heatmaps" && form != "simcc") {
    in.fail("form", "must be coordinates, heatmaps or simcc");
  }
  if (unit != "fractions" && unit != "pixels") in.fail("unit", "must be fractions or pixels");
  if (form == "coordinates" && unit == "pixels") {
    const image::Size size = read_image(&in);
    rule.width = static_cast<float>(size.width);
    rule.height = static_cast<float>(size.height);
  }
  rule.offset = static_cast<float>(in.number("offset", 0));
  const std::string name = in.text("output", ""), score_name = in.text("score_output", "");
  if (rule.confident && rule.size < 3) in.fail("point_confidence", "needs point_size 3");
  DVNN_TRY(in.status());
  if (form == "simcc") return create_simcc(rule, &in, outputs);
  DVNN_ASSIGN(const size_t index, find_output_or_first(outputs, name));
  if (!score_name.empty()) {
    DVNN_ASSIGN(const size_t score, find_output(outputs, score_name));
    if (outputs[score].desc.shape.elements() != 1) {
      return malformed("output '" + score_name + "' is not one number");
    }
    rule.score_output = static_cast<int>(score);
  }
  if (form == "heatmaps") return create_heatmaps(rule, index, outputs);
  return create_coordinates(rule, index, outputs);
}

}  // namespace dvnn::decode
