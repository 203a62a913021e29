// SPDX-License-Identifier: Apache-2.0
#include "codes/markers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/core/version.hpp>
// Markers moved from the contributed modules to OpenCV itself with 4.7.
#if CV_VERSION_MAJOR > 4 || CV_VERSION_MINOR >= 7
#include <opencv2/objdetect/aruco_detector.hpp>
#define DVNN_ARUCO_DETECTOR
#else
#include <opencv2/aruco.hpp>
#endif

#include "base/format.h"

namespace dvnn::codes {
namespace {

struct FamilyRow {
  const char* name;
  int dictionary;
  // Bits that can be corrected, from the family's distance, because OpenCV corrects none of
  // AprilTag's. Below 0: OpenCV's value.
  int correctable;
  // Index of OpenCV's corner that is the marker's upper left one. AprilTag's are upside down in
  // OpenCV.
  size_t upper_left() const { return std::strncmp(name, "april", 5) == 0 ? 2 : 0; }
};
// The largest dictionary stands for each of ArUco's sizes, as it begins with the markers of the
// smaller ones. Families whose patterns are least likely by chance come first.
constexpr FamilyRow kFamilies[] = {{"apriltag-36h11", cv::aruco::DICT_APRILTAG_36h11, 5},
                                   {"apriltag-36h10", cv::aruco::DICT_APRILTAG_36h10, 4},
                                   {"apriltag-25h9", cv::aruco::DICT_APRILTAG_25h9, 4},
                                   {"aruco-7x7", cv::aruco::DICT_7X7_1000, -1},
                                   {"aruco-6x6", cv::aruco::DICT_6X6_1000, -1},
                                   {"aruco-5x5", cv::aruco::DICT_5X5_1000, -1},
                                   {"aruco-original", cv::aruco::DICT_ARUCO_ORIGINAL, -1},
                                   {"apriltag-16h5", cv::aruco::DICT_APRILTAG_16h5, 2},
                                   {"aruco-4x4", cv::aruco::DICT_4X4_1000, -1}};

// Largest side, pixels, up to which a picture is enlarged. OpenCV reads markers from about 20
// pixels on, and enlarged ones from about 12 on.
constexpr int kSmall = 160;
constexpr double kEnlarge = 3;

using Quads = std::vector<std::vector<cv::Point2f>>;

class Detector {
 public:
  Detector(const FamilyRow& family, bool correct) : family_(family) {
    constexpr double kOpenCvsOwn = 0.6;  // share of the correctable bits, OpenCV's default
    const double corrected = correct ? kOpenCvsOwn : 0;
#ifdef DVNN_ARUCO_DETECTOR
    auto dictionary = cv::aruco::getPredefinedDictionary(
        static_cast<cv::aruco::PredefinedDictionaryType>(family.dictionary));
    if (family.correctable >= 0) dictionary.maxCorrectionBits = family.correctable;
    cv::aruco::DetectorParameters parameters;
    parameters.errorCorrectionRate = corrected;
    detector_ = cv::aruco::ArucoDetector(dictionary, parameters);
#else
    dictionary_ = cv::aruco::getPredefinedDictionary(family.dictionary);
    if (family.correctable >= 0) dictionary_->maxCorrectionBits = family.correctable;
    parameters_ = cv::aruco::DetectorParameters::create();
    parameters_->errorCorrectionRate = corrected;
#endif
  }

  const FamilyRow& family() const {
    return family_;
  }

  void detect(const cv::Mat& picture, Quads* quads, std::vector<int>* ids) const {
#ifdef DVNN_ARUCO_DETECTOR
    detector_.detectMarkers(picture, *quads, *ids);
#else
    cv::aruco::detectMarkers(picture, dictionary_, *quads, *ids, parameters_);
#endif
  }

 private:
  FamilyRow family_;
#ifdef DVNN_ARUCO_DETECTOR
  cv::aruco::ArucoDetector detector_;
#else
  cv::Ptr<cv::aruco::Dictionary> dictionary_;
  cv::Ptr<cv::aruco::DetectorParameters> parameters_;
#endif
};

const FamilyRow* family_of(const std::string& name) {
  const auto* row = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                 [&](const FamilyRow& known) { return name == known.name; });
  return row == std::end(kFamilies) ? nullptr : row;
}

// Returns the distance of a marker's centre from the picture's: 0 is the centre, 1 the picture's
// edge.
double off_centre(const Marker& marker, const Luma& picture) {
  double x = 0, y = 0;  // of the marker's centre
  for (const auto& corner : marker.corners) {
    x += corner.first / 4;
    y += corner.second / 4;
  }
  return std::max(std::fabs(2 * x / picture.width - 1), std::fabs(2 * y / picture.height - 1));
}

}  // namespace

std::string marker_families() {
  return joined(kFamilies, ",", &FamilyRow::name);
}

struct MarkerReader::Families {
  std::vector<Detector> detectors;  // ordered by how recently they read a marker
  Quads quads;
  std::vector<int> ids;
};

MarkerReader::MarkerReader() : families_(std::make_unique<Families>()) {
  set_families({});
}

MarkerReader::~MarkerReader() = default;

Status MarkerReader::check_families(const std::vector<std::string>& families) {
  for (const std::string& name : families) {
    if (family_of(name)) continue;
    return invalid_argument("there is no family of markers '" + name + "'; there are " +
                            marker_families());
  }
  return {};
}

void MarkerReader::set_families(const std::vector<std::string>& families) {
  families_->detectors.clear();
  const bool single = families.size() == 1;
  for (const FamilyRow& row : kFamilies) {
    const bool named = std::count(families.begin(), families.end(), row.name) > 0;
    if (families.empty() || named) families_->detectors.emplace_back(row, single);
  }
}

std::optional<Marker> MarkerReader::read_at(const Luma& picture, double scale, double core) {
  const Luma& seen = scale == 1 ? picture : enlarged_;
  // The cast is safe, because OpenCV does not write to its input.
  const cv::Mat pixels(seen.height, seen.width, CV_8UC1, const_cast<uint8_t*>(seen.pixels.data()));
  auto& detectors = families_->detectors;
  for (auto detector = detectors.begin(); detector != detectors.end(); ++detector) {
    detector->detect(pixels, &families_->quads, &families_->ids);
    std::optional<Marker> nearest;
    double distance = core;
    for (size_t i = 0; i < families_->ids.size(); ++i) {
      const FamilyRow& family = detector->family();
      Marker marker{families_->ids[i], family.name, {}};
      constexpr size_t kCorners = 4;
      for (size_t j = 0; j < kCorners; ++j) {
        // In OpenCV's coordinates, the centre of the first pixel is 0.
        const cv::Point2f& at = families_->quads[i][(j + family.upper_left()) % kCorners];
        marker.corners[j] = {(at.x + 0.5) / scale, (at.y + 0.5) / scale};
      }
      const double off = off_centre(marker, picture);
      if (off > distance) continue;
      distance = off;
      nearest = marker;
    }
    if (!nearest) continue;
    std::rotate(detectors.begin(), detector, detector + 1);
    return nearest;
  }
  return std::nullopt;
}

std::optional<Marker> MarkerReader::read(const Luma& picture, double core) {
  if (picture.width < 1 || picture.height < 1) return std::nullopt;
  try {
    if (auto marker = read_at(picture, 1, core)) return marker;
    if (std::max(picture.width, picture.height) > kSmall) return std::nullopt;
    turn(picture, kEnlarge, 0, &enlarged_);
    return read_at(picture, kEnlarge, core);
  } catch (const cv::Exception&) {
    // OpenCV refuses some pictures; they count as empty.
    return std::nullopt;
  }
}

}  // namespace dvnn::codes
