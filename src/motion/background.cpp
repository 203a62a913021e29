// SPDX-License-Identifier: Apache-2.0
#include "motion/background.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dvnn::motion {
namespace {

// Time constants in seconds: in which the background follows what noise and slow light do to it; in
// which it follows a cell that differs, so that a wrong one heals; in which noise is learned from
// such a cell, such as one of leaves in the wind.
constexpr double kFollow = 2, kHeal = 20, kLearnFlicker = 30;
// Standard deviations of a cell's noise that are motion.
constexpr float kDeviations = 5;
// Noise in levels: what is assumed at first, and what codecs and sensors have at least; the most
// that a cell that differs may teach, so that a busy place does not become blind.
constexpr float kFirstNoise = 2, kLeastNoise = 0.7f, kMostFlicker = 6;
// The mean of |x| of a normal distribution is this part of its standard deviation: sqrt(2 / pi).
constexpr float kMeanDeviation = 0.7979f;
// Share of what the camera's shaking explains at a cell that may be wrong: edges are not straight
// lines of brightness.
constexpr float kShakeDoubt = 0.5f;
// Brighter cells are white: some of their pixels cannot get brighter with the light.
constexpr float kWhite = 245;
// Levels that light may make of a cell. What lies beyond black and white is not seen, so that
// nothing else would hold it: under a flashing lamp it would grow without end.
constexpr float kDarkest = -255, kBrightest = 510;
constexpr double kMostShift = 1.5;  // cells
constexpr double kLeastGain = 0.5, kMostGain = 2;
constexpr int kRounds = 3;        // of the fit
constexpr double kMostOff = 2.5;  // deviations of cells that the fit believes
constexpr int kTerms = 4;

using Terms = std::array<double, kTerms>;

float weight(double seconds, double constant) {
  return static_cast<float>(1 - std::exp(-seconds / constant));
}

// Solves the normal equations by elimination; `a` is symmetric and positive definite.
Terms solve(std::array<Terms, kTerms> a, Terms b) {
  for (int i = 0; i < kTerms; ++i) {
    for (int k = i + 1; k < kTerms; ++k) {
      const double factor = a[k][i] / a[i][i];
      for (int j = i; j < kTerms; ++j) a[k][j] -= factor * a[i][j];
      b[k] -= factor * b[i];
    }
  }
  Terms x{};
  for (int i = kTerms - 1; i >= 0; --i) {
    double left = b[i];
    for (int j = i + 1; j < kTerms; ++j) left -= a[i][j] * x[j];
    x[i] = left / a[i][i];
  }
  return x;
}

// The median of numbers, which are reordered; 0 of none.
float median_of(std::vector<float>* numbers) {
  if (numbers->empty()) return 0;
  const auto middle = numbers->begin() + static_cast<ptrdiff_t>(numbers->size() / 2);
  std::nth_element(numbers->begin(), middle, numbers->end());
  return *middle;
}

}  // namespace

void Background::reset() {
  width_ = height_ = 0;
  seen_seconds_ = 0;
  frames_ = 0;
}

void Background::begin(const LumaPyramid::Level& now) {
  width_ = now.width;
  height_ = now.height;
  seen_seconds_ = 0;
  frames_ = 0;
  mean_ = now.pixels;
  noise_.assign(mean_.size(), kFirstNoise);
  off_.assign(mean_.size(), 0);
  marks_.assign(mean_.size(), 0);
}

void Background::absorb(size_t cell) {
  mean_[cell] += off_[cell];
  off_[cell] = 0;
  marks_[cell] = 0;
}

void Background::restart() {
  for (size_t i = 0; i < mean_.size(); ++i) absorb(i);
}

// One round of the fit: looks at each third cell of each third row, and believes those that the
// last round explains.
bool Background::fit_once(const LumaPyramid::Level& now, const std::vector<uint8_t>& masked) {
  struct Sample {
    float off, mean, x, y;
  };
  static thread_local std::vector<Sample> samples;
  static thread_local std::vector<float> sizes;
  samples.clear();
  sizes.clear();
  const auto w = static_cast<size_t>(width_);
  for (int y = 1; y + 1 < height_; y += 3) {
    for (int x = 1; x + 1 < width_; x += 3) {
      const size_t i = static_cast<size_t>(y) * w + static_cast<size_t>(x);
      if (masked[i]) continue;
      const float m = mean_[i];
      const float dx = change_.x == 0  ? (mean_[i + 1] - mean_[i - 1]) / 2
                       : change_.x > 0 ? mean_[i + 1] - m
                                       : m - mean_[i - 1];
      const float dy = change_.y == 0  ? (mean_[i + w] - mean_[i - w]) / 2
                       : change_.y > 0 ? mean_[i + w] - m
                                       : m - mean_[i - w];
      const float left = now.pixels[i] - static_cast<float>(change_.gain * m + change_.offset +
                                                            change_.x * dx + change_.y * dy);
      samples.push_back({now.pixels[i] - m, m, dx, dy});
      sizes.push_back(std::fabs(left));
    }
  }
  if (samples.empty()) return false;
  std::vector<float> sorted = sizes;
  const float limit =
      std::max(1.0f, static_cast<float>(kMostOff) / kMeanDeviation * median_of(&sorted));
  std::array<Terms, kTerms> a{};
  Terms b{};
  for (size_t k = 0; k < samples.size(); ++k) {
    if (sizes[k] > limit) continue;
    const Terms terms = {samples[k].mean, 1, samples[k].x, samples[k].y};
    for (int i = 0; i < kTerms; ++i) {
      b[i] += terms[i] * samples[k].off;
      for (int j = 0; j < kTerms; ++j) a[i][j] += terms[i] * terms[j];
    }
  }
  // Without edges or differences of brightness, nothing tells of shaking or gain: then there is
  // none.
  for (int i = 0; i < kTerms; ++i) a[i][i] += 0.01 * static_cast<double>(samples.size());
  const Terms found = solve(a, b);
  change_ = {1 + found[0], found[1], found[2], found[3]};
  return change_.gain >= kLeastGain && change_.gain <= kMostGain &&
         std::fabs(change_.x) <= kMostShift && std::fabs(change_.y) <= kMostShift;
}

// Finds what the whole picture does, by iterated least squares that leave out what moves.
void Background::fit(const LumaPyramid::Level& now, const std::vector<uint8_t>& masked) {
  change_ = {};
  static thread_local std::vector<float> off;
  off.clear();
  for (size_t i = 0; i < mean_.size(); i += 7) {
    if (!masked[i]) off.push_back(now.pixels[i] - mean_[i]);
  }
  change_.offset = static_cast<double>(median_of(&off));
  for (int i = 0; i < kRounds; ++i) {
    if (fit_once(now, masked)) continue;
    change_ = {};
    return;
  }
}

// Marks the cells of a row. The camera's shaking mixes each cell with its neighbours on one side.
void Background::compare_row(const LumaPyramid::Level& now, int y, double contrast) {
  const auto w = static_cast<size_t>(width_);
  const size_t row = static_cast<size_t>(y) * w;
  const auto gain = static_cast<float>(change_.gain), offset = static_cast<float>(change_.offset);
  const auto by_x = static_cast<float>(std::fabs(change_.x));
  const auto by_y = static_cast<float>(std::fabs(change_.y));
  const auto least_off = static_cast<float>(contrast);
  const float* mean = &mean_[row];
  const float* next_row =
      change_.y > 0 ? (y + 1 < height_ ? mean + w : mean) : (y > 0 ? mean - w : mean);
  const float *noise = &noise_[row], *pixels = &now.pixels[row];
  float* off = &off_[row];
  uint8_t* marks = &marks_[row];
  const auto compare = [&](size_t x, size_t beside) {
    const float along = by_x * (mean[beside] - mean[x]), across = by_y * (next_row[x] - mean[x]);
    const float expected = gain * mean[x] + offset + along + across;
    off[x] = std::min(pixels[x], kWhite) - std::min(expected, kWhite);
    const float least = std::max(least_off, kDeviations * noise[x]) +
                        kShakeDoubt * (std::fabs(along) + std::fabs(across));
    marks[x] = std::fabs(off[x]) > least;
  };
  const bool right = change_.x > 0;
  compare(0, right ? 1 : 0);
  for (size_t x = 1; x + 1 < w; ++x) compare(x, right ? x + 1 : x - 1);
  compare(w - 1, right ? w - 1 : w - 2);
}

// Follows light at once, and noise and slow changes in time.
void Background::learn(double seconds, const std::vector<uint8_t>& masked) {
  // The first frames weigh alike.
  const float first = 1.0f / static_cast<float>(frames_ + 1);
  const float follow = std::max(first, weight(seconds, kFollow));
  const float heal = weight(seconds, kHeal), flicker = weight(seconds, kLearnFlicker);
  const auto gain = static_cast<float>(change_.gain), offset = static_cast<float>(change_.offset);
  size_t unknown = 0, all = 0;
  for (size_t i = 0; i < mean_.size(); ++i) {
    const bool known = !marks_[i] || is_learning();
    const float off = off_[i], size = std::fabs(off) / kMeanDeviation;
    const float seen = known ? size : std::min(size, kMostFlicker);
    noise_[i] += (known ? follow : flicker) * (seen - noise_[i]);
    noise_[i] = std::max(noise_[i], kLeastNoise);
    const float learned = (known ? follow : heal) * off;
    mean_[i] = std::clamp(gain * mean_[i] + offset + learned, kDarkest, kBrightest);
    off_[i] = off - learned;
    all += !masked[i];
    unknown += !masked[i] && marks_[i];
    if (masked[i]) marks_[i] = 0;
  }
  unknown_share_ = all > 0 ? static_cast<double>(unknown) / static_cast<double>(all) : 0;
}

void Background::see(const LumaPyramid::Level& now, double seconds, double contrast,
                     const std::vector<uint8_t>& masked) {
  if (now.width != width_ || now.height != height_) begin(now);
  fit(now, masked);
  for (int y = 0; y < height_; ++y) compare_row(now, y, contrast);
  learn(seconds, masked);
  seen_seconds_ += seconds;
  ++frames_;
}

}  // namespace dvnn::motion
