// SPDX-License-Identifier: Apache-2.0
// Reads the numbers of square markers (ArUco and AprilTag) by OpenCV.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codes/luma.h"

namespace dvnn::codes {

struct Marker {
  int id = 0;
  const char* family = "";  // "aruco-4x4", "apriltag-36h11"
  // In pixels of the picture, whose edges are integers: the marker's own upper left corner first,
  // then clockwise as printed.
  std::array<std::pair<double, double>, 4> corners;
};

/// Returns the families that set_families() takes, as "aruco-4x4,aruco-5x5,...".
std::string marker_families();

/// Used by one thread at a time.
class MarkerReader {
 public:
  MarkerReader();
  ~MarkerReader();
  MarkerReader(const MarkerReader&) = delete;
  MarkerReader& operator=(const MarkerReader&) = delete;

  /// Returns kInvalidArgument if a family is unknown.
  static Status check_families(const std::vector<std::string>& families);
  /// Sets the families to look for; none means all, and unknown ones are ignored. Damaged bits are
  /// corrected only if a single family is looked for: among several, a marker of one could pass for
  /// a damaged one of another.
  void set_families(const std::vector<std::string>& families);
  /// Reads the marker whose centre is nearest to the picture's, if that is within `core`, a share
  /// of the picture's width and height around the centre. The family that was read last is tried
  /// first.
  std::optional<Marker> read(const Luma& picture, double core);

 private:
  struct Families;

  std::optional<Marker> read_at(const Luma& picture, double scale, double core);

  std::unique_ptr<Families> families_;
  Luma enlarged_;
};

}  // namespace dvnn::codes
