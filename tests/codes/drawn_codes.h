// SPDX-License-Identifier: Apache-2.0
// Codes whose texts are known, and markers with known numbers. The QR codes were made by
// libqrencode 4.1.1, level M; the barcodes by pipelines/codes/symbols.py. AprilTags are drawn by
// libapriltag 3.3 (apriltag_to_image), so that they check our reader against another
// implementation's tables.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "codes/luma.h"

namespace dvnn::test {

/// Rows of modules; '#' is dark.
using Modules = std::vector<std::string>;

const Modules kAddressCode = {  // "https://dvnn.example/7"
    "#######.#.##.#....#######", "#.....#.#..#.##.#.#.....#", "#.###.#.##.#.#.#..#.###.#",
    "#.###.#...#.##.##.#.###.#", "#.###.#.#...###.#.#.###.#", "#.....#.....#.#...#.....#",
    "#######.#.#.#.#.#.#######", ".........#.#.##..........", "#..########.#.####..#.###",
    "..#.#...#.#.#.##.#.#####.", ".#.##.#..#..#..#..#.##..#", "##..#..#.#....#.##.#.####",
    "..##..####....#...##....#", "###.......#.#.###...#..#.", "##..######....##.#..#####",
    "#..###.####.#......#.##.#", "#..#..###..##########.##.", "........#..#..#.#...#.##.",
    "#######.#.#.#...#.#.#...#", "#.....#.#.##.#.##...#....", "#.###.#.#.##.#.######..##",
    "#.###.#.###.###..##....##", "#.###.#..#.#.#..##..#####", "#.....#..#.###.....##.###",
    "#######.######.###...#..#"};

const Modules kHostileCode = {  // "a\x1b[2J\n\x07\xff\xfe" "b"
    "#######.###.#.#######", "#.....#...#.#.#.....#", "#.###.#.....#.#.###.#",
    "#.###.#.#..#..#.###.#", "#.###.#.#..##.#.###.#", "#.....#.#...#.#.....#",
    "#######.#.#.#.#######", "........#.#..........", "#...#.###.#.######..#",
    ".##.#.....#.#..##...#", ".###..##....###...#..", "######..##.####....#.",
    ".###..#.#..#...#.####", "........#..##......#.", "#######.####..###.##.",
    "#.....#...#..#.#.#..#", "#.###.#.###.##..##.#.", "#.###.#.....###...###",
    "#.###.#...#.#.#####..", "#.....#..#.##..#.....", "#######.####.##.#.#.#"};

const Modules kTurningCode = {  // "turned \u202ecod.exe", which ZBar guesses to be Shift JIS
    "#######.#.#.#.###.#######", "#.....#...#.###.#.#.....#", "#.###.#.###...##..#.###.#",
    "#.###.#...##..#...#.###.#", "#.###.#...#..##...#.###.#", "#.....#.####......#.....#",
    "#######.#.#.#.#.#.#######", "..........#...#..........", "#.#...##.##.###....#..#.#",
    "#.#.##..##.#.####.#.#..##", "...##.##.......#...###..#", "#.##...###..##..#.#..#.#.",
    "..#.#.#...#.##.##.####..#", ".#..##.##...#..##.#.#####", "##..####..#.########.#..#",
    "..###..##.###.#####..#...", "##....####...##.######..#", "........#.#..##.#...##.##",
    "#######.#.##....#.#.#.#.#", "#.....#..##..#..#...##.#.", "#.###.#...####.#######.##",
    "#.###.#..#..#....#..##.#.", "#.###.#.###.###.##...####", "#.....#...###.#.###......",
    "#######.#.#..##.#..###..#"};

const Modules kArticleCode = {  // EAN-13 4006381333931
    "#.#...##.#.#..###.#.####.####.#...#..#.##..##.#.#.#....#.#....#.#....#.###.#..#....#.##..##.#."
    "#"};

const Modules kShelfCode = {  // Code 128 SHELF-07/b:12
    "##.#..#....##.###.#...##...#.#...#...##.#...#...##.###.#...##...#.#..##.###..#..###.##..##"
    "#.##.###.#.###..##..#..#....##.###..#..##.#..###..##.##..###..#.##.##.##...##...###.#.##"};

/// Draws a code at (x, y) on a light picture; `module` is a module's width in pixels. A code of one
/// row is half as high as it is wide.
inline void draw(const Modules& code, int x, int y, int module, codes::Luma* picture) {
  const int columns = static_cast<int>(code[0].size());
  const int rows = code.size() == 1 ? columns / 2 : static_cast<int>(code.size());
  for (int j = 0; j < rows * module; ++j) {
    for (int i = 0; i < columns * module; ++i) {
      const std::string& row = code[code.size() == 1 ? 0 : static_cast<size_t>(j / module)];
      if (row[static_cast<size_t>(i / module)] != '#') continue;
      picture->pixels[static_cast<size_t>((y + j) * picture->width + x + i)] = 0;
    }
  }
}

inline codes::Luma light_picture(int width, int height) {
  codes::Luma picture;
  picture.width = width;
  picture.height = height;
  picture.pixels.assign(static_cast<size_t>(width * height), 255);
  return picture;
}

// Markers have their black frames.
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
