// SPDX-License-Identifier: Apache-2.0
// Frames whose contents say what must be found on them.
//
// Each frame is a grid of 4 x 4 cells; a cell is black, red, blue, or red in its upper or left half
// and green in the other. Which, follows from the frame's number, so that no two neighbours look
// alike. Whoever sees a frame, however late and wherever, can read off its pixels what a grid
// network must have found: results that came from another frame, another network or another part
// of the picture show.
#pragma once

#include <gst/video/video.h>

#include <vector>

#include "boxes.h"

namespace dvnn::test {

/// What a grid network looks for.
enum class Looks { kRed, kBlue, kUpperRed };

/// Path of that network's file, written on first use; `cells` in a row.
const std::string& grid_path(Looks looks, int cells = 4);

/// Removes the files that grid_path() wrote.
void remove_grids();

/// Paints frame `number` into a frame of 8-bit RGB.
void paint_grid(GstBuffer* buffer, const GstVideoInfo& info, guint64 number);

/// Frame `number` of 8-bit RGB.
GstBuffer* grid_frame(int width, int height, guint64 number);

/// Makes a source pad's buffers such frames, numbered by their offsets, if they are 8-bit RGB.
void paint_frames_of(GstPad* pad);

/// What that network must find on the frame, by its pixels; confidences are 1. False if they cannot
/// be read: 8-bit RGB, YUV planar and semi-planar formats can.
bool expected_on(GstBuffer* buffer, const GstVideoInfo& info, Looks looks,
                 std::vector<Found>* expected);

}  // namespace dvnn::test
