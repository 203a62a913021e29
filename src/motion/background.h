// SPDX-License-Identifier: Apache-2.0
// What a still camera sees where nothing moves: for each cell of a few pixels its brightness, and
// how much noise makes that tremble.
#pragma once

#include <cstdint>
#include <vector>

#include "motion/luma_pyramid.h"

namespace dvnn::motion {

/// Changes of the whole picture between the background and a frame: light, and a camera that
/// shakes by less than a cell. A cell that was m is expected to be gain * m + offset + x * dm/dx +
/// y * dm/dy.
struct CommonChange {
  double gain = 1, offset = 0;  // of brightness, 0..255
  double x = 0, y = 0;          // cells
};

class Background {
 public:
  /// Compares a frame, `seconds` after the last one, with the background, and learns from it.
  /// `contrast`: least difference that counts, in levels of brightness (0..255). `masked`: cells
  /// (1) that are left out.
  void see(const LumaPyramid::Level& now, double seconds, double contrast,
           const std::vector<uint8_t>& masked);
  /// Takes the last frame as the background; noise stays known.
  void restart();
  /// Takes a cell of the last frame as background.
  void absorb(size_t cell);
  /// Forgets everything.
  void reset();

  /// Whether too few frames were seen to tell motion from noise.
  bool is_learning() const { return seen_seconds_ < kLearningSeconds; }
  int width() const { return width_; }
  int height() const { return height_; }
  /// Whether each cell differs from the background, row by row: 1 or 0.
  const std::vector<uint8_t>& marks() const { return marks_; }
  /// The share of cells, of those not masked, that differ from the background.
  double unknown_share() const { return unknown_share_; }
  const CommonChange& change() const { return change_; }

 public:
  static constexpr double kLearningSeconds = 0.5;

  void begin(const LumaPyramid::Level& now);
  void fit(const LumaPyramid::Level& now, const std::vector<uint8_t>& masked);
  bool fit_once(const LumaPyramid::Level& now, const std::vector<uint8_t>& masked);
  void compare_row(const LumaPyramid::Level& now, int y, double contrast);
  void learn(double seconds, const std::vector<uint8_t>& masked);

  int width_ = 0, height_ = 0;
  double seen_seconds_ = 0;
  unsigned frames_ = 0;
  double unknown_share_ = 0;
  CommonChange change_;
  // Per cell: the background's brightness, the standard deviation of that, and by what the last
  // frame differs from it.
  std::vector<float> mean_, noise_, off_;
  std::vector<uint8_t> marks_;
};

}  // namespace dvnn::motion
