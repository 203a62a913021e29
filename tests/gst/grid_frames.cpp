// SPDX-License-Identifier: Apache-2.0
#include "grid_frames.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <string>

#include "grid_network.h"
#include "gst_fixture.h"
#include "network/dvn_file.h"

namespace dvnn::test {
namespace {

constexpr int kCells = 4;

enum class Cell { kBlack, kRed, kBlue, kUpperRed, kLeftRed };

Cell cell_of(guint64 number, int column, int row) {
  const int at = row * kCells + column;
  // One of each in every frame, so that none is without results.
  const int first = static_cast<int>(number * 7 % (kCells * kCells));
  if (at == first) return Cell::kRed;
  if (at == (first + 5) % (kCells * kCells)) return Cell::kBlue;
  if (at == (first + 11) % (kCells * kCells)) return Cell::kUpperRed;
  // The constants are SplitMix64's.
  guint64 z = (number + 1) * 0x9E3779B97F4A7C15u + static_cast<guint64>(at) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  switch ((z >> 31) % 8) {
    case 0:
    case 1:
      return Cell::kRed;
    case 2:
      return Cell::kBlue;
    case 3:
      return Cell::kUpperRed;
    case 4:
      return Cell::kLeftRed;
    default:
      return Cell::kBlack;
  }
}

struct Colour {
  guint8 r, g, b;
};

Colour colour_in(Cell cell, bool left, bool upper) {
  switch (cell) {
    case Cell::kRed:
      return {255, 0, 0};
    case Cell::kBlue:
      return {0, 0, 255};
    case Cell::kUpperRed:
      return upper ? Colour{255, 0, 0} : Colour{0, 255, 0};
    case Cell::kLeftRed:
      return left ? Colour{255, 0, 0} : Colour{0, 255, 0};
    case Cell::kBlack:
      break;
  }
  return {0, 0, 0};
}

bool paintable(const GstVideoInfo& info) {
  return GST_VIDEO_INFO_IS_RGB(&info) && GST_VIDEO_INFO_COMP_DEPTH(&info, 0) == 8 &&
         GST_VIDEO_INFO_N_PLANES(&info) == 1;
}

GstPadProbeReturn paint_probe(GstPad* pad, GstPadProbeInfo* probe, gpointer) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(probe);
  GstCaps* caps = gst_pad_get_current_caps(pad);
  GstVideoInfo info;
  if (caps && gst_video_info_from_caps(&info, caps) && paintable(info) &&
      gst_buffer_is_writable(buffer)) {
    paint_grid(buffer, info, GST_BUFFER_OFFSET_IS_VALID(buffer) ? GST_BUFFER_OFFSET(buffer) : 0);
  }
  if (caps) gst_caps_unref(caps);
  return GST_PAD_PROBE_OK;
}

enum class Seen { kOther, kRed, kBlue };

Seen seen_at(const GstVideoFrame& frame, int x, int y) {
  auto component = [&](guint c) {
    const GstVideoFormatInfo* format = frame.info.finfo;
    const int stride = GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
    const auto* data = static_cast<const guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
    const int down = y >> GST_VIDEO_FORMAT_INFO_H_SUB(format, c);
    const int across = x >> GST_VIDEO_FORMAT_INFO_W_SUB(format, c);
    return data[down * stride + across * step];
  };
  constexpr int kStrong = 180;  // red has 255 of red, 240 of V; blue has 255 of blue, 240 of U
  const bool rgb = GST_VIDEO_INFO_IS_RGB(&frame.info);
  if (component(rgb ? 0 : 2) > kStrong) return Seen::kRed;
  return component(rgb ? 2 : 1) > kStrong ? Seen::kBlue : Seen::kOther;
}

struct GridFiles {
  std::mutex mutex;
  std::map<std::pair<Looks, int>, std::string> paths;
};

GridFiles& grid_files() {
  static GridFiles files;
  return files;
}

}  // namespace

const std::string& grid_path(Looks looks, int cells) {
  GridFiles& files = grid_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  std::string& path = files.paths[{looks, cells}];
  if (!path.empty()) return path;
  GridVariant variant;
  variant.cells = cells;
  variant.blue = looks == Looks::kBlue;
  variant.upper_half = looks == Looks::kUpperRed;
  variant.label = looks == Looks::kRed ? "red" : looks == Looks::kBlue ? "blue" : "upper";
  variant.name = looks == Looks::kRed ? "grid" : looks == Looks::kBlue ? "blue-grid" : "upper-grid";
  std::string name = "/tmp/dvnn-grid-XXXXXX.dvn";
  const int fd = mkstemps(&name[0], 4);
  if (fd < 0 || close(fd) != 0 || !network::write_dvn(grid_network(variant), name).ok()) {
    g_error("cannot write %s", name.c_str());
  }
  return path = name;
}

void remove_grids() {
  GridFiles& files = grid_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  for (const auto& file : files.paths) unlink(file.second.c_str());
  files.paths.clear();
}

void paint_grid(GstBuffer* buffer, const GstVideoInfo& info, guint64 number) {
  GstVideoFrame frame;
  GstVideoInfo copy = info;
  if (!gst_video_frame_map(&frame, &copy, buffer, GST_MAP_WRITE)) return;
  const int width = GST_VIDEO_INFO_WIDTH(&info), height = GST_VIDEO_INFO_HEIGHT(&info);
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0);
  for (int y = 0; y < height; ++y) {
    const int half_row = 2 * kCells * y / height;
    guint8* line[3];
    for (guint c = 0; c < 3; ++c) {
      line[c] = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c)) +
                y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
    }
    for (int x = 0; x < width; ++x) {
      const int half_column = 2 * kCells * x / width;
      const Colour colour = colour_in(cell_of(number, half_column / 2, half_row / 2),
                                      half_column % 2 == 0, half_row % 2 == 0);
      line[0][x * step] = colour.r;
      line[1][x * step] = colour.g;
      line[2][x * step] = colour.b;
    }
  }
  gst_video_frame_unmap(&frame);
}

GstBuffer* grid_frame(int width, int height, guint64 number) {
  const GstVideoInfo info = video_info("RGB", width, height);
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  paint_grid(frame, info, number);
  return frame;
}

void paint_frames_of(GstPad* pad) {
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, paint_probe, nullptr, nullptr);
}

bool expected_on(GstBuffer* buffer, const GstVideoInfo& info, Looks looks,
                 std::vector<Found>* expected) {
  const GstVideoFormatInfo* format = info.finfo;
  const bool readable = GST_VIDEO_FORMAT_INFO_DEPTH(format, 0) == 8 &&
                        GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format) >= 3;
  GstVideoFrame frame;
  GstVideoInfo copy = info;
  if (!readable || !gst_video_frame_map(&frame, &copy, buffer, GST_MAP_READ)) return false;
  expected->clear();
  const int width = GST_VIDEO_INFO_WIDTH(&info), height = GST_VIDEO_INFO_HEIGHT(&info);
  for (int row = 0; row < kCells; ++row) {
    for (int column = 0; column < kCells; ++column) {
      auto quarter = [&](int right, int lower) {
        return seen_at(frame, (4 * column + 2 * right + 1) * width / (4 * kCells),
                       (4 * row + 2 * lower + 1) * height / (4 * kCells));
      };
      const Seen wanted = looks == Looks::kBlue ? Seen::kBlue : Seen::kRed;
      const bool upper = quarter(0, 0) == wanted && quarter(1, 0) == wanted;
      const bool lower = quarter(0, 1) == wanted && quarter(1, 1) == wanted;
      if (!upper || (!lower && looks != Looks::kUpperRed)) continue;
      Found found;
      found.label = looks == Looks::kRed ? "red" : looks == Looks::kBlue ? "blue" : "upper";
      found.class_id = 1;
      found.confidence = 1;
      found.x0 = column * width / 4.0, found.x1 = (column + 1) * width / 4.0;
      found.y0 = row * height / 4.0, found.y1 = (row + 1) * height / 4.0;
      expected->push_back(found);
    }
  }
  gst_video_frame_unmap(&frame);
  return true;
}

}  // namespace dvnn::test
