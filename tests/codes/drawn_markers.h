// SPDX-License-Identifier: Apache-2.0
// Markers with known numbers, with their black frames. AprilTags are drawn by libapriltag 3.3
// (apriltag_to_image), so that they check our reader against another implementation's tables.
#pragma once

#include <array>
#include <string>

#include "drawn_codes.h"

namespace dvnn::test {

const Modules kTag586 = {  // 36h11
    "########", "#...#.##", "#####..#", "#.#....#", "#.##.###", "#.#..#.#", "#..##..#", "########"};

const Modules kTag11 = {  // 25h9
    "#######", "###.#.#", "####..#", "##..###", "#.##.##", "#####.#", "#######"};

const Modules kTag7 = {  // 16h5
    "######", "#...##", "##...#", "##.###", "##.#.#", "######"};

const Modules kAruco17 = {  // DICT_4X4_50
    "######", "##..##", "##..##", "######", "######", "######"};

const Modules kAruco321 = {  // DICT_6X6_1000
    "########", "#..#...#", "#..#..##", "##...###", "##.###.#", "##.....#", "#.#.####", "########"};

/// Returns a marker of ArUco's first family, by the paper (Garrido-Jurado and others, 2014, fig.
/// 2): each row has two bits of the number, as one of four words of five modules.
inline Modules original_aruco(int number) {
  static constexpr std::array<const char*, 4> kWords = {".####", ".#...", "#.##.", "#...#"};
  Modules marker = {"#######"};
  for (int row = 4; row >= 0; --row) {
    const size_t bits = static_cast<size_t>(number >> (2 * row) & 3);
    marker.push_back("#" + std::string(kWords[bits]) + "#");
  }
  marker.emplace_back("#######");
  return marker;
}

}  // namespace dvnn::test
