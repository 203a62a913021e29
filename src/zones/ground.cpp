// SPDX-License-Identifier: Apache-2.0
#include "zones/ground.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::zones {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Places = std::vector<Vector2d>;

constexpr size_t kLeastPairs = 4, kMostPairs = 256;
constexpr double kMostMetres = 1e5;  // of a pair's place, or a camera's height
// Places that nearly lie on one line leave the plane open: the smallest singular value that counts,
// as a share of the largest one. Places to a pixel in 4,000 have 1e-7 and less only if they are on
// a line.
constexpr double kLeastSingular = 1e-6;

// Above 0 on one side of the horizon.
double depth_of(const Matrix3d& map, const Vector2d& place) {
  return map(2, 0) * place.x() + map(2, 1) * place.y() + map(2, 2);
}

Vector2d mapped(const Matrix3d& map, const Vector2d& from) {
  const Vector3d place = map * Vector3d(from.x(), from.y(), 1);
  return {place.x() / place.z(), place.y() / place.z()};
}

// Returns the map to places whose centre is 0 and whose mean distance from it is the square root of
// 2, in which the equations are well conditioned (Hartley, In defense of the eight-point algorithm,
// 1997).
Matrix3d normalising(const Places& places) {
  Vector2d centre = Vector2d::Zero();
  for (const Vector2d& place : places) centre += place;
  centre /= static_cast<double>(places.size());
  double distance = 0;
  for (const Vector2d& place : places) distance += (place - centre).norm();
  const double scale =
      distance > 0 ? std::sqrt(2.0) * static_cast<double>(places.size()) / distance : 1;
  Matrix3d map;
  map << scale, 0, -scale * centre.x(), 0, scale, -scale * centre.y(), 0, 0, 1;
  return map;
}

Places mapped(const Matrix3d& map, Places places) {
  for (Vector2d& place : places) place = mapped(map, place);
  return places;
}

// The equations of a homography's first eight numbers, of which the last one is 1, as the squares
// of the distances that they leave.
class Equations {
 public:
  using Row = Eigen::Matrix<double, 8, 1>;

  // Adds two equations: what a change of the numbers does to where the homography, which has
  // `depth` there, puts `place`, and how far that is to move.
  void add(const Vector2d& place, const Vector2d& at, double depth, const Vector2d& off) {
    const double x = place.x() / depth, y = place.y() / depth, one = 1 / depth;
    Row row;
    row << x, y, one, 0, 0, 0, -at.x() * x, -at.x() * y;
    add(row, off.x());
    row << 0, 0, 0, x, y, one, -at.y() * x, -at.y() * y;
    add(row, off.y());
  }
  // Returns the numbers with the least squares, or nothing if the equations leave them open.
  std::optional<Row> solve() const {
    const Eigen::LDLT<Eigen::Matrix<double, 8, 8>> solver(squares_);
    const Row pivots = solver.vectorD();
    if (!(pivots.minCoeff() > kLeastSingular * kLeastSingular * pivots.maxCoeff())) return {};
    return Row(solver.solve(right_));
  }

 private:
  void add(const Row& row, double value) {
    squares_ += row * row.transpose();
    right_ += row * value;
  }

  Eigen::Matrix<double, 8, 8> squares_ = Eigen::Matrix<double, 8, 8>::Zero();
  Row right_ = Row::Zero();
};

Matrix3d homography(const Equations::Row& numbers) {
  Matrix3d map;
  map << numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
      numbers[7], 1;
  return map;
}

// Returns the homography from `from` to `to` that has the least algebraic error, or nothing if the
// places do not determine it (the direct linear transform; Hartley and Zisserman, Multiple View
// Geometry, 2004, 4.1). The places' centre is 0 and not at the horizon, so the last number is not
// 0.
std::optional<Matrix3d> linear_fit(const Places& from, const Places& to) {
  Equations equations;
  for (size_t i = 0; i < from.size(); ++i) equations.add(from[i], to[i], 1, to[i]);
  const auto numbers = equations.solve();
  if (!numbers) return {};
  return homography(*numbers);
}

// Moves a homography to where the sum of the squared distances between `to` and the mapped `from`
// is least, by Gauss and Newton. Steps that do not help end it.
void refine(const Places& from, const Places& to, Matrix3d* map) {
  const auto cost = [&](const Matrix3d& tried) {
    double sum = 0;
    for (size_t i = 0; i < from.size(); ++i) sum += (mapped(tried, from[i]) - to[i]).squaredNorm();
    return sum;
  };
  constexpr int kMostSteps = 20;
  double best = cost(*map);
  for (int step = 0; step < kMostSteps; ++step) {
    Equations equations;
    for (size_t i = 0; i < from.size(); ++i) {
      const Vector2d at = mapped(*map, from[i]);
      equations.add(from[i], at, depth_of(*map, from[i]), to[i] - at);
    }
    const auto change = equations.solve();
    if (!change) return;
    Matrix3d tried = *map + homography(*change);
    tried(2, 2) = 1;
    const double now = cost(tried);
    if (!(now < best)) return;
    *map = tried;
    if (best - now < 1e-14 * best) return;
    best = now;
  }
}

Ground ground_of(const Matrix3d& to_metres) {
  Ground ground;
  for (int i = 0; i < 9; ++i) ground.to_metres[static_cast<size_t>(i)] = to_metres(i / 3, i % 3);
  return ground;
}

// Which place lies beyond the horizon of the first one, or the number of places if none does.
size_t beyond_horizon(const Matrix3d& map, const Places& places) {
  const double side = depth_of(map, places[0]);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!(depth_of(map, places[i]) * side > 0)) return i;
  }
  return places.size();
}

// Makes the plane from pairs. People point at the picture less exactly than they measure the
// ground, so distances in the picture are made small, not those on the ground, where a pixel far
// away is many metres.
Result<Ground> fitted(const Places& picture, const Places& metres, const std::string& what) {
  const Matrix3d from = normalising(metres), to = normalising(picture);
  const Places normal_metres = mapped(from, metres), normal_picture = mapped(to, picture);
  auto map = linear_fit(normal_metres, normal_picture);
  if (!map || !(std::abs((*map / map->norm()).determinant()) > kLeastSingular)) {
    return invalid_argument(
        what +
        ": its points do not determine a plane: at least four are needed, no three of "
        "them on a line, in the same order in the picture and on the ground");
  }
  const size_t odd = beyond_horizon(*map, normal_metres);
  if (odd < picture.size()) {
    return invalid_argument(
        what + format(": point %zu lies beyond the horizon that the points give: are the points "
                      "and their metres in the same order?",
                      odd));
  }
  refine(normal_metres, normal_picture, &*map);
  Matrix3d to_metres = (to.inverse() * *map * from).inverse();
  to_metres /= to_metres.norm();
  if (depth_of(to_metres, picture[0]) < 0) to_metres = -to_metres;
  Ground ground = ground_of(to_metres);
  ground.pairs = picture.size();
  for (size_t i = 0; i < picture.size(); ++i) {
    const double off = (mapped(to_metres, picture[i]) - metres[i]).norm();
    ground.residual += off * off / static_cast<double>(picture.size());
    if (off > ground.worst) ground.worst = off, ground.worst_pair = i;
  }
  ground.residual = std::sqrt(ground.residual);
  return ground;
}

// Reads a list of pairs of numbers.
Places read_places(JsonReader* in, const char* name, double most) {
  Places places;
  const Json* list = in->member(name);
  if (!list || !list->is_array() || list->size() < kLeastPairs || list->size() > kMostPairs) {
    in->fail(name, format("must be an array of %zu to %zu pairs [x, y]", kLeastPairs, kMostPairs));
    return places;
  }
  for (const Json& pair : *list) {
    const bool good = pair.is_array() && pair.size() == 2 && pair.at(0).is_number() &&
                      pair.at(1).is_number() && std::abs(pair.at(0).get<double>()) <= most &&
                      std::abs(pair.at(1).get<double>()) <= most;
    if (!good) {
      in->fail(name, "has " + shown(pair) + format(", which is no pair [x, y] within +-%g", most));
      return {};
    }
    places.emplace_back(pair.at(0).get<double>(), pair.at(1).get<double>());
  }
  return places;
}

double read_between(JsonReader* in, const char* name, double least, double most) {
  const double value = in->number(name);
  if (in->ok() && !(value > least && value < most)) {
    in->fail(name, format("is %g, must be above %g and below %g", value, least, most));
  }
  return value;
}

// Makes the plane from a camera's height in metres, the angle by which it looks down and the angle
// that its picture spans, both in degrees. It stands over (0, 0) and looks along y.
Result<Ground> read_camera(const Json& json, const std::string& what) {
  JsonReader in(json, what);
  const double height = read_between(&in, "height", 0, kMostMetres);
  const double tilt = read_between(&in, "tilt", -60, 90) * M_PI / 180;
  const double view = read_between(&in, "field-of-view", 1, 170) * M_PI / 180;
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"height", "tilt", "field-of-view"}));
  // A ray through (u, v), in widths from the centre, goes right by u, forward by f cos - v sin and
  // down by f sin + v cos, and meets the ground where it has gone down by the height.
  const double f = 0.5 / std::tan(view / 2), c = std::cos(tilt), s = std::sin(tilt);
  Matrix3d to_metres;
  to_metres << height, 0, 0, 0, -height * s, height * f * c, 0, c, f * s;
  Ground ground = ground_of(to_metres);
  ground.unit = GroundUnit::kWidths;
  return ground;
}

}  // namespace

Result<Ground> read_ground(const Json& json, const std::string& what) {
  if (!json.is_object()) return invalid_argument(what + " must be an object");
  if (json.contains("height")) return read_camera(json, what);
  JsonReader in(json, what);
  const std::string unit = in.text("unit", "fractions");
  if (unit != "fractions" && unit != "pixels") {
    in.fail("unit", "is " + shown(json.at("unit")) + ", must be fractions or pixels");
  }
  const Places picture = read_places(&in, "points", 1 << 19);
  Places metres;
  if (json.contains("rectangle")) {
    const std::vector<float> sides = in.numbers("rectangle", 2);
    if (sides.size() != 2 || !(sides[0] > 0 && sides[1] > 0) || picture.size() != 4) {
      in.fail("rectangle", "must be [width, length] in metres, with four points");
    } else {
      metres = {{0, 0}, {sides[0], 0}, {sides[0], sides[1]}, {0, sides[1]}};
    }
  } else {
    metres = read_places(&in, "metres", kMostMetres);
  }
  if (in.ok() && picture.size() != metres.size()) {
    in.fail("metres", format("has %zu pairs, 'points' has %zu", metres.size(), picture.size()));
  }
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"unit", "points", "metres", "rectangle"}));
  if (json.contains("rectangle") && json.contains("metres")) {
    return invalid_argument(what +
                            " has 'rectangle' and 'metres': one of them says where the points are");
  }
  DVNN_ASSIGN(Ground ground, fitted(picture, metres, what));
  if (unit == "pixels") ground.unit = GroundUnit::kPixels;
  return ground;
}

std::string fit_of(const Ground& ground) {
  if (ground.pairs == 0) return "from the camera's height and tilt";
  if (ground.pairs == kLeastPairs) {
    return "four points, which always meet: more would tell how well they are measured";
  }
  return format("%zu points meet within %.2g m (worst %.2g m, point %zu)", ground.pairs,
                ground.residual, ground.worst, ground.worst_pair);
}

std::optional<OnGround> on_ground(const Ground& ground, const image::Size& frame, double x,
                                  double y) {
  double scale_x = 1, scale_y = 1, u = x, v = y;
  if (ground.unit == GroundUnit::kFractions) {
    scale_x = 1 / frame.width, scale_y = 1 / frame.height;
    u = x * scale_x, v = y * scale_y;
  } else if (ground.unit == GroundUnit::kWidths) {
    scale_x = scale_y = 1 / frame.width;
    u = (x - frame.width / 2) * scale_x, v = (y - frame.height / 2) * scale_y;
  }
  const std::array<double, 9>& m = ground.to_metres;
  const double depth = m[6] * u + m[7] * v + m[8];
  if (!(depth > 0)) return {};
  OnGround found;
  found.at = {(m[0] * u + m[1] * v + m[2]) / depth, (m[3] * u + m[4] * v + m[5]) / depth};
  if (!(std::hypot(found.at.x, found.at.y) < kFarthestMetres)) return {};
  found.xx = (m[0] - found.at.x * m[6]) * scale_x / depth;
  found.xy = (m[1] - found.at.x * m[7]) * scale_y / depth;
  found.yx = (m[3] - found.at.y * m[6]) * scale_x / depth;
  found.yy = (m[4] - found.at.y * m[7]) * scale_y / depth;
  return found;
}

namespace {

std::optional<Corner> corner_of(const Ground& ground, const image::Size& frame, double x,
                                double y) {
  const auto found = on_ground(ground, frame, x, y);
  if (!found) return {};
  return Corner{found->at.x, found->at.y};
}

// Returns the square on the ground that an object takes up, or nothing beyond the horizon.
std::vector<Corner> footprint(const Ground& ground, const image::Size& frame,
                              const image::Corners& box) {
  const auto left = corner_of(ground, frame, box.x0, box.y1);
  const auto right = corner_of(ground, frame, box.x1, box.y1);
  const auto middle = on_ground(ground, frame, (box.x0 + box.x1) / 2, box.y1);
  if (!left || !right || !middle) return {};
  const double x = right->x - left->x, y = right->y - left->y;
  // Across the lower edge, to the side to which a step up in the picture goes.
  const double side = -y * -middle->xy + x * -middle->yy < 0 ? -1 : 1;
  return {*left,
          *right,
          {right->x - side * y, right->y + side * x},
          {left->x - side * y, left->y + side * x}};
}

}  // namespace

void Cover::configure(const std::vector<Point>& area, const std::optional<Ground>& ground,
                      const image::Size& frame) {
  area_ = corners_of(area);
  ground_ = ground;
  frame_ = frame;
  std::vector<Corner> metres;
  for (const Corner& corner : area_) {
    const auto at = ground ? corner_of(*ground, frame, corner.x, corner.y) : std::nullopt;
    if (at) metres.push_back(*at);
  }
  if (metres.size() == area_.size()) {
    area_ = std::move(metres);
  } else {
    ground_.reset();
  }
  size_ = area_of(area_);
}

double Cover::share(const image::Corners& box) const {
  const std::vector<Corner> object = ground_ ? footprint(*ground_, frame_, box) : corners_of(box);
  if (object.empty() || !(size_ > 0)) return 0;
  return std::min(1.0, common_area(area_, object) / size_);
}

}  // namespace dvnn::zones
