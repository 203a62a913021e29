// SPDX-License-Identifier: Apache-2.0
#include "frames/frameobscurer.h"

#include <algorithm>
#include <cmath>

#include "draw/obscure.h"
#include "frames/caps.h"
#include "image/formats.h"
#include "objects/object.h"

namespace dvnn::gst {
namespace {

constexpr double kMostFrames = 4;  // largest area of all places together, in frames
constexpr int kCellsAcross = 8;    // cells along a place's longer side: too few to recognise a face
constexpr int kLeastCell = 8;      // smallest cell, in pixels

struct Place {
  int x0, y0, x1, y1;
  draw::Obscure how;
};

// Returns the places to obscure, in whole pixels.
std::vector<Place> places_of(const std::vector<draw::Item>& items, int width, int height) {
  std::vector<Place> places;
  for (const draw::Item& item : items) {
    image::Corners place = item.object.box;
    if (item.obscure == draw::Obscure::kNo ||
        !objects::clip_box({0, 0, double(width), double(height)}, &place)) {
      continue;
    }
    places.push_back({static_cast<int>(std::floor(place.x0)),
                      static_cast<int>(std::floor(place.y0)), static_cast<int>(std::ceil(place.x1)),
                      static_cast<int>(std::ceil(place.y1)), item.obscure});
  }
  return places;
}

void join_if_many(double frame_area, std::vector<Place>* places) {
  double area = 0;
  for (const Place& p : *places) area += double(p.x1 - p.x0) * (p.y1 - p.y0);
  if (area <= kMostFrames * frame_area) return;
  Place all = places->front();
  for (const Place& p : *places) {
    all.x0 = std::min(all.x0, p.x0), all.y0 = std::min(all.y0, p.y0);
    all.x1 = std::max(all.x1, p.x1), all.y1 = std::max(all.y1, p.y1);
  }
  places->assign(1, all);
}

// Our own table says where samples lie, because GStreamer's is wrong for P010's V.
draw::Samples samples_of(const image::Component& component, bool is_565, GstVideoFrame* frame) {
  draw::Samples samples;
  samples.data = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(frame, component.plane));
  samples.stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, component.plane);
  samples.width = (GST_VIDEO_FRAME_WIDTH(frame) + component.sub_x - 1) / component.sub_x;
  samples.height = (GST_VIDEO_FRAME_HEIGHT(frame) + component.sub_y - 1) / component.sub_y;
  if (is_565) {
    const image::Field& field = image::k565[component.first];
    samples.step = samples.bytes = image::k565Bytes;
    samples.shift = field.shift;
    samples.others = 0xffff & ~field.mask();
    return samples;
  }
  samples.data += component.first;
  samples.step = component.step;
  samples.bytes = component.sample_bytes();
  samples.shift = component.shift;
  return samples;
}

void obscure_component(const Place& place, const image::Component& component, bool is_565,
                       GstVideoFrame* frame) {
  const int sub_x = component.sub_x, sub_y = component.sub_y;
  const draw::Samples samples = samples_of(component, is_565, frame);
  const int longest = std::max(place.x1 - place.x0, place.y1 - place.y0);
  const int cell = std::max(kLeastCell, (longest + kCellsAcross - 1) / kCellsAcross);
  draw::obscure(samples,
                {place.x0 / sub_x, place.y0 / sub_y, (place.x1 + sub_x - 1) / sub_x,
                 (place.y1 + sub_y - 1) / sub_y},
                cell / sub_x, cell / sub_y, place.how);
}

}  // namespace

void obscure_items(const std::vector<draw::Item>& items, GstVideoFrame* frame) {
  const auto format = pixel_format(GST_VIDEO_FRAME_FORMAT(frame));
  if (!format.ok()) return;  // caps never let such a format through
  const image::FormatInfo& info = image::format_info(format.value());
  const int width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
  std::vector<Place> places = places_of(items, width, height);
  join_if_many(double(width) * height, &places);
  // The lower byte of GRAY16, which networks do not read, would still show the picture.
  constexpr image::Component kWhole = {0, 0, 2, 1, 1, 10, 6};
  for (const Place& place : places) {
    for (int c = 0; c < info.components; ++c) {
      const bool whole = format.value() == image::PixelFormat::kGray16;
      obscure_component(place, whole ? kWhole : info.component[c], info.is_565, frame);
    }
  }
}

}  // namespace dvnn::gst
