// SPDX-License-Identifier: Apache-2.0
// Reads the numbers of square markers, ArUco's and AprilTag's, by OpenCV.
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
  // In pixels of the picture whose edges are at whole numbers: the marker's own upper left corner,
  // then around it clockwise as it was printed.
  std::array<std::pair<double, double>, 4> corners;
};

/// The values that MarkerReader::set_families() takes: "aruco-4x4,aruco-5x5,...".
std::string marker_families();

/// For one thread at a time.
class MarkerReader {
 public:
  MarkerReader();
  ~MarkerReader();
  MarkerReader(const MarkerReader&) = delete;
  MarkerReader& operator=(const MarkerReader&) = delete;

  /// kInvalidArgument if one is not known.
  static Status check_families(const std::vector<std::string>& families);
  /// Sets the families that are looked for; all of them if there are none. What is not known is
  /// left out. Bits that are not seen well are corrected where a single family is looked for: among
  /// several, a marker of one would be taken for a damaged one of another.
  void set_families(const std::vector<std::string>& families);
  /// The marker whose middle is nearest to the picture's, if that lies within the `core` around it,
  /// a share of its width and height. Of several families the one that was read last is tried
  /// first.
  std::optional<Marker> read(const Luma& picture, double core);

 private:
  struct Families;

  std::optional<Marker> read_at(const Luma& picture, double scale, double core);

  std::unique_ptr<Families> families_;
  Luma enlarged_;
};

}  // namespace dvnn::codes
