// SPDX-License-Identifier: Apache-2.0
// MediaPipe's operators that look at a part of a map again, around landmarks that were found in it:
// a matrix from the output's places to the map's, the map's values there, and landmarks of the part
// brought back. They are those of version 2, as the face mesh with attention has them.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "flatbuffers/flexbuffers.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

constexpr int64_t kMostSide = 4096;
constexpr size_t kMostLandmarks = 4096;

// The options of a custom operator, which are a map of names to numbers or lists of these.
class LandmarkOptions {
 public:
  static Result<LandmarkOptions> read(const TfliteNode& node) {
    const auto* given = node.op().custom_options();
    LandmarkOptions made;
    if (given) made.bytes_.assign(given->begin(), given->end());
    const bool is_map = !made.bytes_.empty() &&
                        flexbuffers::VerifyBuffer(made.bytes_.data(), made.bytes_.size()) &&
                        made.root().IsMap();
    if (!is_map) return malformed("its options are no map");
    return made;
  }

  Result<int64_t> integer(const char* name, int64_t least, int64_t most) const {
    const int64_t value = root().AsMap()[name].AsInt64();
    if (value >= least && value <= most) return value;
    return malformed(format("its option '%s' is %lld, where %lld to %lld are possible", name,
                            static_cast<long long>(value), static_cast<long long>(least),
                            static_cast<long long>(most)));
  }
  double number(const char* name) const { return root().AsMap()[name].AsDouble(); }
  std::vector<int64_t> list(const char* name) const {
    const flexbuffers::Reference value = root().AsMap()[name];
    std::vector<int64_t> made;
    const auto take = [&](const auto& items) {
      for (size_t i = 0; i < std::min(items.size(), kMostLandmarks); ++i) {
        made.push_back(items[i].AsInt64());
      }
    };
    if (value.IsTypedVector()) {
      take(value.AsTypedVector());
    } else if (value.IsVector()) {
      take(value.AsVector());
    }
    return made;
  }

 private:
  flexbuffers::Reference root() const { return flexbuffers::GetRoot(bytes_.data(), bytes_.size()); }
  std::vector<uint8_t> bytes_;  // aligned for numbers of any size
};

std::string known_numbers(const TfliteNode& node, std::vector<int64_t> dims,
                          std::vector<double> values) {
  OnnxConstant made;
  made.dims = std::move(dims);
  made.values = std::move(values);
  return node.numbers(std::move(made));
}

// The part from `begin` to `end` of axis `axis`.
Result<std::string> cut_axis(const TfliteNode& node, const std::string& in, int64_t axis,
                             int64_t begin, int64_t end) {
  return node.run("Slice", {in, node.list({begin}), node.list({end}), node.list({axis})});
}

Result<std::string> landmark_matrix(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string matrix, node.plain(1));
  DVNN_ASSIGN(const auto dims, node.dims(1));
  if (dims == std::vector<int64_t>{1, 4, 4}) return matrix;
  return malformed("its matrix is " + joined(dims, "x") + ", not 1x4x4");
}

// A turn by an angle: its cosine and sine, of one number each.
struct TurnAngle {
  std::string cosine, sine;
};

// Returns x cos - y sin and x sin + y cos; with `back`, the turn the other way.
Result<std::pair<std::string, std::string>> turned_by(const TfliteNode& node, const std::string& x,
                                                      const std::string& y, const TurnAngle& by,
                                                      bool back) {
  DVNN_ASSIGN(const std::string xc, node.run("Mul", {x, by.cosine}));
  DVNN_ASSIGN(const std::string ys, node.run("Mul", {y, by.sine}));
  DVNN_ASSIGN(const std::string xs, node.run("Mul", {x, by.sine}));
  DVNN_ASSIGN(const std::string yc, node.run("Mul", {y, by.cosine}));
  DVNN_ASSIGN(std::string first, node.run(back ? "Add" : "Sub", {xc, ys}));
  DVNN_ASSIGN(std::string second, node.run(back ? "Sub" : "Add", {yc, xs}));
  return std::pair(std::move(first), std::move(second));
}

// The angle of the line between two landmarks, less `target`.
Result<TurnAngle> angle_of(const TfliteNode& node, const std::string& all, int64_t left,
                           int64_t right, double target) {
  DVNN_ASSIGN(const std::string from, node.run("Gather", {all, node.list({left})}, {{"axis", 1}}));
  DVNN_ASSIGN(const std::string to, node.run("Gather", {all, node.list({right})}, {{"axis", 1}}));
  DVNN_ASSIGN(const std::string whole, node.run("Sub", {to, from}));
  DVNN_ASSIGN(const std::string line, cut_axis(node, whole, 2, 0, 2));
  DVNN_ASSIGN(const std::string length, node.run("ReduceL2", {line, node.list({2})}));
  DVNN_ASSIGN(const std::string unit, node.run("Div", {line, length}));
  DVNN_ASSIGN(const std::string cosine, cut_axis(node, unit, 2, 0, 1));
  DVNN_ASSIGN(const std::string sine, cut_axis(node, unit, 2, 1, 2));
  if (target == 0) return TurnAngle{cosine, sine};
  const TurnAngle by = {node.number(std::cos(target)), node.number(std::sin(target))};
  DVNN_ASSIGN(auto both, turned_by(node, cosine, sine, by, true));
  return TurnAngle{std::move(both.first), std::move(both.second)};
}

// The middle of some numbers' range, and its length.
struct LandmarkRange {
  std::string middle, length;
};
Result<LandmarkRange> range_of(const TfliteNode& node, const std::string& numbers) {
  DVNN_ASSIGN(const std::string most, node.run("ReduceMax", {numbers, node.list({1})}));
  DVNN_ASSIGN(const std::string least, node.run("ReduceMin", {numbers, node.list({1})}));
  DVNN_ASSIGN(const std::string sum, node.run("Add", {most, least}));
  DVNN_ASSIGN(std::string middle, node.run("Mul", {sum, node.number(0.5)}));
  DVNN_ASSIGN(std::string length, node.run("Sub", {most, least}));
  return LandmarkRange{std::move(middle), std::move(length)};
}

}  // namespace

// The smallest rectangle around some landmarks, turned so that the line between two of them is
// level, becomes the output: the matrix brings its places to those of the landmarks.
Status import_tflite_landmarks_to_matrix(const TfliteNode& node) {
  DVNN_ASSIGN(const LandmarkOptions options, LandmarkOptions::read(node));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  if (dims.size() != 3 || dims[0] != 1 || dims[2] < 2) {
    return malformed("its landmarks are " + joined(dims, "x"));
  }
  DVNN_ASSIGN(const std::string all, node.plain(0));
  DVNN_ASSIGN(const int64_t left, options.integer("left_rotation_idx", 0, dims[1] - 1));
  DVNN_ASSIGN(const int64_t right, options.integer("right_rotation_idx", 0, dims[1] - 1));
  DVNN_ASSIGN(const int64_t width, options.integer("output_width", 1, kMostSide));
  DVNN_ASSIGN(const int64_t height, options.integer("output_height", 1, kMostSide));
  const std::vector<int64_t> subset = options.list("subset_idxs");
  if (subset.empty()) return malformed("its subset of landmarks is empty");
  for (int64_t i : subset) {
    if (i < 0 || i >= dims[1]) return malformed("a landmark of its subset does not exist");
  }
  DVNN_ASSIGN(const TurnAngle angle,
              angle_of(node, all, left, right, options.number("target_rotation_radians")));
  DVNN_ASSIGN(const std::string some, node.run("Gather", {all, node.list(subset)}, {{"axis", 1}}));
  DVNN_ASSIGN(const std::string x, cut_axis(node, some, 2, 0, 1));
  DVNN_ASSIGN(const std::string y, cut_axis(node, some, 2, 1, 2));
  DVNN_ASSIGN(const auto level, turned_by(node, x, y, angle, true));
  DVNN_ASSIGN(const LandmarkRange across, range_of(node, level.first));
  DVNN_ASSIGN(const LandmarkRange down, range_of(node, level.second));
  DVNN_ASSIGN(const auto middle, turned_by(node, across.middle, down.middle, angle, false));
  const auto scaled = [&](const LandmarkRange& range, const char* name, int64_t side) {
    const double factor = options.number(name) / static_cast<double>(side);
    return node.run("Mul", {range.length, node.number(factor)});
  };
  DVNN_ASSIGN(const std::string sx, scaled(across, "scale_x", width));
  DVNN_ASSIGN(const std::string sy, scaled(down, "scale_y", height));
  DVNN_ASSIGN(const std::string xx, node.run("Mul", {angle.cosine, sx}));
  DVNN_ASSIGN(const std::string yx, node.run("Mul", {angle.sine, sx}));
  DVNN_ASSIGN(const std::string yy, node.run("Mul", {angle.cosine, sy}));
  DVNN_ASSIGN(const std::string sine_y, node.run("Mul", {angle.sine, sy}));
  DVNN_ASSIGN(const std::string xy, node.run("Neg", {sine_y}));
  // The output's middle lies on the rectangle's.
  const auto moved = [&](const std::string& to, const std::string& by_x,
                         const std::string& by_y) -> Result<std::string> {
    const double half = 0.5;
    DVNN_ASSIGN(const std::string a,
                node.run("Mul", {by_x, node.number(half * static_cast<double>(width))}));
    DVNN_ASSIGN(const std::string b,
                node.run("Mul", {by_y, node.number(half * static_cast<double>(height))}));
    DVNN_ASSIGN(const std::string rest, node.run("Sub", {to, a}));
    return node.run("Sub", {rest, b});
  };
  DVNN_ASSIGN(const std::string tx, moved(middle.first, xx, xy));
  DVNN_ASSIGN(const std::string ty, moved(middle.second, yx, yy));
  const std::string zero = known_numbers(node, {1, 1, 1}, {0});
  const std::string rest = known_numbers(node, {1, 1, 8}, {0, 0, 1, 0, 0, 0, 0, 1});
  DVNN_ASSIGN(const std::string row,
              node.run("Concat", {xx, xy, zero, tx, yx, yy, zero, ty, rest}, {{"axis", 2}}));
  return node.done(node.run("Reshape", {row, node.list({1, 4, 4})}));
}

// The map's values at the places to which the matrix brings the output's; 0 beyond the map.
Status import_tflite_transform_tensor(const TfliteNode& node) {
  DVNN_ASSIGN(const LandmarkOptions options, LandmarkOptions::read(node));
  DVNN_ASSIGN(const int64_t width, options.integer("output_width", 1, kMostSide));
  DVNN_ASSIGN(const int64_t height, options.integer("output_height", 1, kMostSide));
  DVNN_ASSIGN(const std::string map, node.picture(0));
  DVNN_ASSIGN(const std::string matrix, landmark_matrix(node));
  const auto in = node.dims_of(map);
  if (in.size() != 4 || in[0] != 1) return malformed("its map is " + joined(in, "x"));
  // Middles of pixels, of which the matrix makes middles of the map's.
  const int64_t count = width * height;
  DVNN_TRY(node.importer().onnx.check_numbers(static_cast<uint64_t>(4 * count)));
  std::vector<double> places(static_cast<size_t>(4 * count));
  for (int64_t i = 0; i < count; ++i) {
    places[static_cast<size_t>(i)] = static_cast<double>(i % width) + 0.5;
    places[static_cast<size_t>(count + i)] = static_cast<double>(i / width) + 0.5;
    places[static_cast<size_t>(3 * count + i)] = 1;
  }
  const std::string from = known_numbers(node, {4, count}, std::move(places));
  DVNN_ASSIGN(const std::string two, cut_axis(node, matrix, 1, 0, 2));
  DVNN_ASSIGN(const std::string at, node.run("MatMul", {two, from}));
  const auto w = static_cast<double>(in[3]), h = static_cast<double>(in[2]);
  DVNN_ASSIGN(const std::string parts,
              node.run("Mul", {at, known_numbers(node, {1, 2, 1}, {2 / w, 2 / h})}));
  DVNN_ASSIGN(const std::string about, node.run("Sub", {parts, node.number(1)}));
  DVNN_ASSIGN(const std::string pairs,
              node.run("Transpose", {about}, {{"perm", std::vector<int64_t>{0, 2, 1}}}));
  DVNN_ASSIGN(const std::string grid,
              node.run("Reshape", {pairs, node.list({1, height, width, 2})}));
  DVNN_ASSIGN(const std::string values,
              node.run("GridSample", {map, grid},
                       {{"mode", std::string("linear")}, {"padding_mode", std::string("zeros")}}));
  // What lies between the last pixel's middle and its edge is beyond the map, too.
  constexpr int64_t kFloat = 1;
  DVNN_ASSIGN(const std::string after, node.run("GreaterOrEqual", {at, node.number(0.5)}));
  DVNN_ASSIGN(const std::string before,
              node.run("LessOrEqual", {at, known_numbers(node, {1, 2, 1}, {w - 0.5, h - 0.5})}));
  DVNN_ASSIGN(const std::string both, node.run("And", {after, before}));
  DVNN_ASSIGN(const std::string factors, node.run("Cast", {both}, {{"to", kFloat}}));
  DVNN_ASSIGN(const std::string factor, node.run("ReduceMin", {factors, node.list({1})}));
  DVNN_ASSIGN(const std::string mask,
              node.run("Reshape", {factor, node.list({1, 1, height, width})}));
  return node.done_picture(node.run("Mul", {values, mask}));
}

// Landmarks of the part, as landmarks of the whole.
Status import_tflite_transform_landmarks(const TfliteNode& node) {
  DVNN_ASSIGN(const auto dims, node.dims(0));
  if (dims.size() != 3 || dims[0] != 1 || dims[2] != 2) {
    return unsupported("landmarks of " + joined(dims, "x") + ", where 1xNx2 are supported");
  }
  DVNN_ASSIGN(const std::string landmarks, node.plain(0));
  DVNN_ASSIGN(const std::string matrix, landmark_matrix(node));
  DVNN_ASSIGN(const std::string rows, cut_axis(node, matrix, 1, 0, 2));
  DVNN_ASSIGN(const std::string columns,
              node.run("Transpose", {rows}, {{"perm", std::vector<int64_t>{0, 2, 1}}}));
  DVNN_ASSIGN(const std::string turn, cut_axis(node, columns, 1, 0, 2));
  DVNN_ASSIGN(const std::string shift, cut_axis(node, columns, 1, 3, 4));
  DVNN_ASSIGN(const std::string product, node.run("MatMul", {landmarks, turn}));
  return node.done(node.run("Add", {product, shift}));
}

}  // namespace dvnn::import
