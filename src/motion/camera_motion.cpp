// SPDX-License-Identifier: Apache-2.0
#include "motion/camera_motion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/windows/windows.h"

namespace dvnn::motion {
namespace {

constexpr int kColumns = 12,
              kRows = 8;    // cells of a frame; each gives its best corner
constexpr int kRadius = 3;  // of the window that is compared around a corner, pixels
static_assert(2 * kRadius + 1 == kernels::kPatchSize);
constexpr int kBorder = kRadius + 2;
constexpr float kLeastCorner = 30;  // least eigenvalue, brightness squared (see choose_points)
constexpr int kSearch = 8;          // radius of search(), pixels of the coarsest level
constexpr int kIterations = 10;
constexpr float kDone = 0.02f;        // length of the last step, pixels
constexpr float kMostFar = 4;         // most pixels from where the coarser level found the corner
constexpr double kInlier = 0.5;       // most pixels from where the fitted motion expects a corner
constexpr size_t kFewest = 12;        // corners needed for an estimate
constexpr double kLeastShare = 0.35;  // least share of corners that agree; below it is a cut
constexpr double kReferenceShare = 0.6;  // share below which the reference is replaced
constexpr double kReferenceWay = 0.125;  // motion, in widths, above which it is, too
constexpr int kHypotheses = 80;

// Finds the similarity that maps two points to two others. Returns false if the points are too
// close to each other, or no camera moves so.
bool similarity_of(double ax, double ay, double bx, double by, double cx, double cy, double dx,
                   double dy, Affine* map) {
  const double x = bx - ax, y = by - ay, u = dx - cx, v = dy - cy, square = x * x + y * y;
  constexpr double kNear = 20;
  if (square < kNear * kNear) return false;
  const double cosine = (x * u + y * v) / square, sine = (x * v - y * u) / square;
  *map = {cosine, -sine, cx - cosine * ax + sine * ay, sine, cosine, cy - sine * ax - cosine * ay};
  return map->is_plausible();
}

// Converts a map from the finest level, where integers are centres of pixels, to the frame's
// pixels, where they are edges.
Affine scaled(const Affine& map, double step) {
  const Affine to_frame{step, 0, step / 2, 0, step, step / 2};
  return to_frame.inverse().then(map).then(to_frame);
}

// Returns the patch around a place, in coordinates whose integers are centres of pixels.
kernels::PatchPlace place_around(const LumaPyramid::Level& level, float x, float y) {
  const int left = static_cast<int>(x), top = static_cast<int>(y);
  return {level.row(top - kRadius) + left - kRadius, static_cast<size_t>(level.width),
          x - static_cast<float>(left), y - static_cast<float>(top)};
}

}  // namespace

// Chooses in each cell the corner with the strongest gradients in both directions.
void CameraMotion::choose_points() {
  points_.clear();
  const LumaPyramid::Level& level = reference_.level(0);
  for (int cell = 0; cell < kColumns * kRows; ++cell) {
    const int column = cell % kColumns, row = cell / kColumns;
    const int x0 = std::max(kBorder, level.width * column / kColumns);
    const int x1 = std::min(level.width - kBorder, level.width * (column + 1) / kColumns);
    const int y0 = std::max(kBorder, level.height * row / kRows);
    const int y1 = std::min(level.height - kBorder, level.height * (row + 1) / kRows);
    float best = kLeastCorner;
    Point point{};
    for (int y = y0; y < y1; y += 2) {
      for (int x = x0; x < x1; x += 2) {
        float xx = 0, yy = 0, xy = 0;
        for (int j = -2; j <= 2; j += 2) {
          const float* at = level.row(y + j) + x;
          for (int i = -2; i <= 2; i += 2) {
            const float gx = at[i + 1] - at[i - 1];
            const float gy = at[i + level.width] - at[i - level.width];
            xx += gx * gx, yy += gy * gy, xy += gx * gy;
          }
        }
        // The smaller eigenvalue, as of Shi and Tomasi's corners.
        const float half = (xx - yy) / 2;
        const float corner = ((xx + yy) / 2 - std::sqrt(half * half + xy * xy)) / 9;
        if (corner <= best) continue;
        best = corner;
        point.x = static_cast<float>(x), point.y = static_cast<float>(y);
        point.found = true;
      }
    }
    if (point.found) points_.push_back(point);
  }
}

// Finds the shift of the whole frame at the coarsest level, near the guess, that has the least mean
// difference in the overlap.
Affine CameraMotion::search(const Affine& guess) const {
  constexpr int kCoarsest = LumaPyramid::kLevels - 1;
  const LumaPyramid::Level &from = reference_.level(kCoarsest), &to = now_.level(kCoarsest);
  double middle_x = from.width * 2.0, middle_y = from.height * 2.0;
  guess.apply(&middle_x, &middle_y);
  const int guess_x = static_cast<int>(std::lround(middle_x / 4 - from.width / 2.0));
  const int guess_y = static_cast<int>(std::lround(middle_y / 4 - from.height / 2.0));
  float least = std::numeric_limits<float>::infinity();
  Affine best;
  for (int dy = guess_y - kSearch; dy <= guess_y + kSearch; ++dy) {
    for (int dx = guess_x - kSearch; dx <= guess_x + kSearch; ++dx) {
      const int x0 = std::max(0, -dx), x1 = std::min(from.width, from.width - dx);
      const int y0 = std::max(0, -dy), y1 = std::min(from.height, from.height - dy);
      if (2 * (x1 - x0) < from.width || 2 * (y1 - y0) < from.height) continue;
      const auto count = static_cast<size_t>(x1 - x0);
      float sum = 0;
      int rows = 0;
      for (int j = y0; j < y1; j += 3, ++rows) {
        sum += kernels::sum_of_differences(from.row(j) + x0, to.row(j + dy) + dx + x0, count) /
               static_cast<float>(count);
      }
      // Of equally good shifts, prefer the nearest.
      sum = sum / static_cast<float>(rows) +
            1e-3f * static_cast<float>(std::abs(dx - guess_x) + std::abs(dy - guess_y));
      if (sum >= least) continue;
      least = sum;
      best.x0 = 4 * dx, best.y0 = 4 * dy;
    }
  }
  return best;
}

// Follows a corner at one level by Lucas and Kanade's steps, with the gradients of the reference.
bool CameraMotion::track(int level_index, Point* point) const {
  const LumaPyramid::Level& from = reference_.level(level_index);
  const LumaPyramid::Level& to = now_.level(level_index);
  const float scale = 1.0f / static_cast<float>(1 << level_index);
  // The centre of a coarse pixel lies between centres of finer ones.
  const float x = (point->x + 0.5f) * scale - 0.5f, y = (point->y + 0.5f) * scale - 0.5f;
  const auto inside = [](const LumaPyramid::Level& level, float px, float py) {
    return px > kBorder && py > kBorder && px < static_cast<float>(level.width - kBorder - 1) &&
           py < static_cast<float>(level.height - kBorder - 1);
  };
  if (!inside(from, x, y)) return level_index > 0;
  kernels::Patch patch;
  kernels::sample_patch(place_around(from, x, y), &patch);
  float xx = 0, yy = 0, xy = 0;
  for (size_t k = 0; k < kernels::kPatchFloats; ++k) {
    if (k % kernels::kPatchStride == kernels::kPatchSize) continue;
    const float along_x = patch.along_x[k], along_y = patch.along_y[k];
    xx += along_x * along_x, yy += along_y * along_y, xy += along_x * along_y;
  }
  const float determinant = xx * yy - xy * xy;
  if (!(determinant > 1e-3f * (xx + yy) * (xx + yy))) return level_index > 0;
  float to_x = (point->to_x + 0.5f) * scale - 0.5f, to_y = (point->to_y + 0.5f) * scale - 0.5f;
  const float begun_x = to_x, begun_y = to_y;
  for (int step = 0; step < kIterations; ++step) {
    if (!inside(to, to_x, to_y)) return false;
    float bx = 0, by = 0;
    kernels::match_patch(place_around(to, to_x, to_y), patch, &bx, &by);
    const float dx = -(yy * bx - xy * by) / determinant, dy = -(xx * by - xy * bx) / determinant;
    to_x += dx;
    to_y += dy;
    if (std::fabs(to_x - begun_x) > kMostFar || std::fabs(to_y - begun_y) > kMostFar) return false;
    if (dx * dx + dy * dy < kDone * kDone) break;
  }
  point->to_x = (to_x + 0.5f) / scale - 0.5f;
  point->to_y = (to_y + 0.5f) / scale - 0.5f;
  return true;
}

// Finds the similarity that most corners agree on, from random pairs, and fits it to these corners.
// The pairs come from a fixed sequence, so that the same frames give the same motion.
bool CameraMotion::fit(Affine* since, double* share) {
  std::vector<const Point*>& found = found_;
  found.clear();
  for (const Point& point : points_) {
    if (point.found) found.push_back(&point);
  }
  if (found.size() < kFewest) return false;
  const auto fits = [](const Affine& map, const Point& point) {
    double x = static_cast<double>(point.x), y = static_cast<double>(point.y);
    map.apply(&x, &y);
    const double off_x = x - static_cast<double>(point.to_x);
    const double off_y = y - static_cast<double>(point.to_y);
    return off_x * off_x + off_y * off_y < kInlier * kInlier;
  };
  size_t most = 0;
  Affine best;
  uint32_t random = 1;
  const auto any = [&] {
    random = random * 1664525u + 1013904223u;
    return found[(random >> 8) % found.size()];
  };
  for (int i = 0; i < kHypotheses; ++i) {
    const Point &a = *any(), &b = *any();
    Affine map;
    if (!similarity_of(a.x, a.y, b.x, b.y, a.to_x, a.to_y, b.to_x, b.to_y, &map)) continue;
    size_t agree = 0;
    for (const Point* point : found) agree += fits(map, *point);
    if (agree <= most) continue;
    most = agree;
    best = map;
  }
  *share = static_cast<double>(most) / static_cast<double>(found.size());
  if (most < kFewest || *share < kLeastShare) return false;
  // Least squares around the centres, twice, as more points agree with the first result.
  for (int pass = 0; pass < 2; ++pass) {
    double n = 0, x = 0, y = 0, u = 0, v = 0, square = 0, dot = 0, cross = 0;
    for (const Point* point : found) {
      if (!fits(best, *point)) continue;
      n += 1, x += point->x, y += point->y, u += point->to_x, v += point->to_y;
    }
    x /= n, y /= n, u /= n, v /= n;
    for (const Point* point : found) {
      if (!fits(best, *point)) continue;
      const double px = point->x - x, py = point->y - y, pu = point->to_x - u, pv = point->to_y - v;
      square += px * px + py * py;
      dot += px * pu + py * pv;
      cross += px * pv - py * pu;
    }
    const double cosine = dot / square, sine = cross / square;
    best = {cosine, -sine, u - cosine * x + sine * y, sine, cosine, v - sine * x - cosine * y};
  }
  *since = best;
  return best.is_plausible();
}

bool CameraMotion::match(const Affine& guess, Affine* since, double* share) {
  for (Point& point : points_) {
    double x = static_cast<double>(point.x), y = static_cast<double>(point.y);
    guess.apply(&x, &y);
    point.to_x = static_cast<float>(x);
    point.to_y = static_cast<float>(y);
    point.found = true;
    for (int level = LumaPyramid::kLevels - 1; level >= 0 && point.found; --level)
      point.found = track(level, &point);
  }
  return fit(since, share);
}

bool CameraMotion::see(const Luma& frame, Affine* motion) {
  *motion = {};
  if (!now_.build(frame)) return false;
  const bool same = begun_ && now_.step() == reference_.step() &&
                    now_.level(0).width == reference_.level(0).width &&
                    now_.level(0).height == reference_.level(0).height;
  Affine since;
  double share = 0;
  // A camera usually continues its motion. Only if it does not, the whole frame is searched.
  const Affine guess = last_.then(step_);
  bool known = same && match(guess, &since, &share);
  if (same && share < kReferenceShare) {
    double wide_share = 0;
    Affine found;
    if (match(search(guess), &found, &wide_share) && wide_share > share) {
      known = true;
      since = found;
      share = wide_share;
    }
  }
  step_ = known ? last_.inverse().then(since) : Affine();
  if (known) *motion = scaled(step_, now_.step());
  const double way = known ? std::hypot(since.x0, since.y0) : 0;
  last_ = since;
  if (!known || share < kReferenceShare || way > kReferenceWay * now_.level(0).width) {
    reference_.swap(&now_);
    choose_points();
    last_ = {};
  }
  begun_ = true;
  return known;
}

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kGlance = kSecond / 2;  // interval of looks at a standing camera
constexpr int64_t kRest = 5 * kSecond;    // time without motion after which it stands
// Least motion of a corner between two glances, in widths of the frame, that is more than noise.
constexpr double kLeastWay = 0.003;

bool moves(const Affine& motion, const Luma& frame) {
  double farthest = 0;
  for (const double x : {0, frame.width}) {
    for (const double y : {0, frame.height}) {
      double to_x = x, to_y = y;
      motion.apply(&to_x, &to_y);
      farthest = std::max(farthest, std::hypot(to_x - x, to_y - y));
    }
  }
  return farthest > kLeastWay * frame.width;
}

}  // namespace

void CameraWatch::configure(Camera camera) {
  if (camera == camera_) return;
  camera_ = camera;
  reset();
}

void CameraWatch::reset() {
  motion_.reset();
  moving_ = begun_ = false;
}

bool CameraWatch::wants(int64_t time) const {
  if (camera_ == Camera::kStatic) return false;
  if (camera_ == Camera::kMoving || moving_ || !begun_) return true;
  return time < glanced_ || time - glanced_ >= kGlance;
}

// Does not report the first motion of a standing camera: it is known for half a second as a whole,
// but not for single frames. Motion is reported from the next frame on.
bool CameraWatch::see(int64_t time, const Luma& frame, Affine* motion) {
  const bool each = camera_ == Camera::kMoving || moving_;
  const bool known = motion_.see(frame, motion);
  since_ = known ? since_.then(*motion) : Affine();
  if (!begun_ || time < glanced_ || time - glanced_ >= kGlance) {
    if (begun_ && moves(since_, frame)) {
      moved_ = time;
      moving_ = true;
    } else if (time < moved_ || time - moved_ > kRest) {
      moving_ = false;
    }
    since_ = {};
    glanced_ = time;
  }
  begun_ = true;
  if (each) return known;
  *motion = {};
  return false;
}

}  // namespace dvnn::motion
