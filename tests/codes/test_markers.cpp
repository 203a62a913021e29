// SPDX-License-Identifier: Apache-2.0
#include "codes/markers.h"

#include <cmath>

#include "check_suite.h"
#include "drawn_codes.h"

namespace dvnn::test::markers_tests {

DVNN_SUITE(codes_markers);

using namespace dvnn::codes;

namespace {

constexpr double kAll = 1;
constexpr int kModule = 8, kLight = 3;  // pixels; modules around

Luma picture_of(const Modules& marker, int module = kModule) {
  const int side = (static_cast<int>(marker.size()) + 2 * kLight) * module;
  Luma picture = light_picture(side, side);
  draw(marker, kLight * module, kLight * module, module, &picture);
  return picture;
}

std::optional<Marker> read_marker(const Luma& picture,
                                  const std::vector<std::string>& families = {},
                                  double core = kAll) {
  MarkerReader reader;
  reader.set_families(families);
  return reader.read(picture, core);
}

void check_reads(const Luma& picture, int number, const char* family) {
  const auto marker = read_marker(picture);
  ck_assert_msg(marker.has_value(), "%s %d is not read", family, number);
  ck_assert_int_eq(marker->id, number);
  dvnn_assert_text(std::string(marker->family), family);
}

Modules damaged(Modules marker) {
  char& module = marker[3][4];
  module = module == '#' ? '.' : '#';
  return marker;
}

}  // namespace

DVNN_TEST(numbers_are_read_of_all_families_at_once) {
  for (const int module : {4, 8, 20}) {
    check_reads(picture_of(kTag586, module), 586, "apriltag-36h11");
    check_reads(picture_of(kTag11, module), 11, "apriltag-25h9");
    check_reads(picture_of(kTag7, module), 7, "apriltag-16h5");
    check_reads(picture_of(kAruco17, module), 17, "aruco-4x4");
    check_reads(picture_of(kAruco321, module), 321, "aruco-6x6");
    check_reads(picture_of(original_aruco(77), module), 77, "aruco-original");
    check_reads(picture_of(original_aruco(1003), module), 1003, "aruco-original");
  }
}

DVNN_TEST(small_markers_are_read_enlarged) {
  check_reads(picture_of(kTag586, 2), 586, "apriltag-36h11");
  check_reads(picture_of(kAruco17, 2), 17, "aruco-4x4");
}

// In whichever way the marker lies, its corners begin at what was its upper left one in print.
DVNN_TEST(corners_turn_with_the_marker) {
  const Modules* markers[] = {&kTag586, &kAruco17};
  for (const Modules* modules : markers) {
    const Luma upright = picture_of(*modules);
    for (const double degrees : {0.0, 30.0, 90.0, 180.0, 290.0}) {
      Luma turned;
      turn(upright, 1, degrees, &turned);
      const auto marker = read_marker(turned);
      ck_assert(marker.has_value());
      const double angle = radians(degrees),
                   half = static_cast<double>(modules->size()) * kModule / 2;
      const double around[][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
      for (size_t i = 0; i < 4; ++i) {
        const double x = around[i][0] * half, y = around[i][1] * half;
        const auto& [corner_x, corner_y] = marker->corners[i];
        // OpenCV finds corners to the pixel.
        constexpr double kNear = 1.5;
        ck_assert_double_eq_tol(
            corner_x, turned.width / 2.0 + x * std::cos(angle) - y * std::sin(angle), kNear);
        ck_assert_double_eq_tol(
            corner_y, turned.height / 2.0 + x * std::sin(angle) + y * std::cos(angle), kNear);
      }
    }
  }
}

DVNN_TEST(a_bit_is_corrected_where_one_family_is_named) {
  const Luma picture = picture_of(damaged(kTag586));
  ck_assert(!read_marker(picture).has_value());
  ck_assert(!read_marker(picture, {"apriltag-36h11", "aruco-6x6"}).has_value());
  const auto marker = read_marker(picture, {"apriltag-36h11"});
  ck_assert(marker.has_value());
  ck_assert_int_eq(marker->id, 586);
}

DVNN_TEST(only_named_families_are_read) {
  ck_assert(!read_marker(picture_of(kTag586), {"aruco-6x6"}).has_value());
  ck_assert(read_marker(picture_of(kAruco321), {"aruco-5x5", "aruco-6x6"}).has_value());
  const dvnn::Status unknown = MarkerReader::check_families({"aruco-6x6", "aruco-9x9"});
  ck_assert(!unknown.ok());
  ck_assert(unknown.error().code == dvnn::ErrorCode::kInvalidArgument);
  ck_assert(unknown.error().message.find("'aruco-9x9'") != std::string::npos);
  ck_assert(MarkerReader::check_families({}).ok());
}

DVNN_TEST(a_marker_beside_the_object_is_not_its_number) {
  Luma picture = light_picture(400, 200);
  draw(kAruco17, 20, 70, 10, &picture);
  ck_assert(!read_marker(picture, {}, 0.3).has_value());
  draw(kAruco321, 170, 70, 8, &picture);
  const auto nearest = read_marker(picture, {"aruco-6x6", "aruco-4x4"});
  ck_assert(nearest.has_value());
  ck_assert_int_eq(nearest->id, 321);
}

DVNN_TEST(distance_from_the_centre_is_the_same_to_all_sides) {
  constexpr int kSide = 400, kWidth = 48;  // of the picture, and of a marker of 6 modules
  for (const double x : {0.12, 0.5, 0.88}) {
    for (const double y : {0.12, 0.5, 0.88}) {
      Luma picture = light_picture(kSide, kSide);
      const auto left = [](double centre) {
        return static_cast<int>(std::lround(centre * kSide)) - kWidth / 2;
      };
      draw(kAruco17, left(x), left(y), kModule, &picture);
      const bool central = x == 0.5 && y == 0.5;
      ck_assert(read_marker(picture).has_value());
      ck_assert(read_marker(picture, {}, 0.8).has_value());  // 0.12 is 0.76 from the centre
      ck_assert_int_eq(read_marker(picture, {}, 0.7).has_value(), central);
      if (central) continue;
      // Another that is nearer to the centre, on its other side.
      const double near_x = 0.5 - (x - 0.5) / 2, near_y = 0.5 - (y - 0.5) / 2;
      draw(kAruco17, left(near_x), left(near_y), kModule, &picture);
      const auto nearest = read_marker(picture);
      ck_assert(nearest.has_value());
      const auto& [corner_x, corner_y] = nearest->corners[0];
      ck_assert_double_eq_tol(corner_x, left(near_x), 2);
      ck_assert_double_eq_tol(corner_y, left(near_y), 2);
    }
  }
}

DVNN_TEST(what_is_no_marker_has_no_number) {
  ck_assert(!read_marker(picture_of(kAddressCode, 4)).has_value());
  ck_assert(!read_marker(light_picture(1, 1)).has_value());
  ck_assert(!read_marker(light_picture(3, 900)).has_value());
  ck_assert(!read_marker(Luma{}).has_value());
}

}  // namespace dvnn::test::markers_tests
