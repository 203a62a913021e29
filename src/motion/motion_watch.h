// SPDX-License-Identifier: Apache-2.0
// Decides which frames of a still camera are worth a look, and where: something moves there, has
// just moved, or has not been looked at for long.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "image/view.h"
#include "motion/background.h"

namespace dvnn::motion {

struct MotionRules {
  double contrast = 8;           // least difference of brightness that counts, levels (0..255)
  double least = 0.02;           // least extent of what moves, of the frame's height
  double margin = 0.03;          // around what moves, of the frame's height
  int64_t hold = 1000000000;     // for which the last areas are looked at after motion, nanoseconds
  int64_t verify = 10000000000;  // since the last look at the whole frame until the next; 0: none
};

/// Why a frame is looked at.
enum class Reason : uint8_t {
  kStill,       // it is not
  kMoving,      // something moves
  kHeld,        // something has moved just now
  kEverywhere,  // another scene, or too little is known yet
  kVerify,      // the last look at the whole frame is long ago
};

const char* to_string(Reason reason);

class MotionWatch {
 public:
  void configure(const MotionRules& rules) { rules_ = rules; }
  /// Sets where motion does not count; (x, y) are pixels of the frame.
  void set_mask(std::function<bool(double x, double y)> masked);
  /// Takes the frame at `time`, in nanoseconds.
  Reason see(int64_t time, const Luma& frame);
  /// The areas of the last frame to be looked at, in pixels; none if it is still.
  const std::vector<image::Corners>& areas() const { return areas_; }
  void reset();

 private:
  struct Moved {
    int64_t time;
    image::Corners box;
  };

  Reason decide(int64_t time, bool readable);
  Reason look_at_all(int64_t time, Reason reason);
  void make_mask();
  void find(int64_t time);
  bool is_dense(int x, int y) const;
  void follow(int x, int y, std::vector<size_t>* cells);
  void keep(const std::vector<size_t>& cells, int64_t time);
  void join_places();
  void merge();

  MotionRules rules_;
  std::function<bool(double x, double y)> masked_;
  LumaPyramid picture_;
  Background background_;
  std::vector<uint8_t> mask_;     // per cell; 1: left out
  std::vector<uint8_t> visited_;  // per cell, of find()
  std::vector<float> age_;        // per cell: seconds for which it has differed
  std::vector<Moved> moved_;      // of the last moment
  std::vector<image::Corners> areas_;
  std::vector<image::Corners> last_;  // areas of the last frame in which something moved
  image::Size frame_;
  double seconds_ = 0;  // since the frame before
  bool begun_ = false;
  int64_t last_time_ = 0, last_motion_ = 0, last_whole_ = 0;
};

}  // namespace dvnn::motion
