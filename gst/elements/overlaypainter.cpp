// SPDX-License-Identifier: Apache-2.0
#include "elements/overlaypainter.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <opencv2/imgproc.hpp>

#include "base/format.h"
#include "objects/frame_map.h"

namespace dvnn::gst {
namespace {

// Confidences change, so that labels do: old ones are dropped, all at once.
constexpr size_t kMaxCachedLabels = 512, kMaxCachedColors = 512;
constexpr gsize kMaxCachedBytes = gsize{32} << 20;
constexpr size_t kMaxLabelLength = 67;      // bytes of UTF-8, three dots included
constexpr double kMaxLabelWidth = 1 << 14;  // pixels
constexpr int kMinText = 9;                 // pixels: below that Hershey letters run together
constexpr double kMaxPixelAspect = 16;      // beyond that, caps are not believed

// A stable, well separated colour per class: hues a golden angle apart, in full saturation.
cv::Scalar class_color(int class_id) {
  const double hue = std::fmod(std::fabs(class_id * 137.50776405), 360.0);
  const cv::Mat hsv(1, 1, CV_8UC3, cv::Scalar(hue / 2, 220, 255));
  cv::Mat bgr;
  cv::cvtColor(hsv, bgr, cv::COLOR_HSV2BGR);
  const cv::Vec3b c = bgr.at<cv::Vec3b>(0, 0);
  return cv::Scalar(c[0], c[1], c[2], 255);
}

// Copies a BGRA picture into a buffer in the composition's native-endian ARGB.
BufferPtr to_buffer(const cv::Mat& bgra) {
  const gsize size = bgra.total() * 4;
  BufferPtr buffer = allocate_buffer(size);
  if (!buffer) throw std::bad_alloc();
  const BufferMap map(buffer.get(), GST_MAP_WRITE);
  for (int y = 0; y < bgra.rows && map.ok(); ++y) {
    for (int x = 0; x < bgra.cols; ++x) {
      const cv::Vec4b p = bgra.at<cv::Vec4b>(y, x);
      guint8* to = map.data() + (static_cast<gsize>(y) * bgra.cols + x) * 4;
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
      to[0] = p[0], to[1] = p[1], to[2] = p[2], to[3] = p[3];
#else
      to[0] = p[3], to[1] = p[2], to[2] = p[1], to[3] = p[0];
#endif
    }
  }
  gst_buffer_add_video_meta(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE,
                            GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, static_cast<guint>(bgra.cols),
                            static_cast<guint>(bgra.rows));
  return buffer;
}

void add(GstVideoOverlayComposition* composition, GstBuffer* pixels, int x, int y, int w, int h) {
  if (w < 1 || h < 1) return;
  GstVideoOverlayRectangle* rectangle = gst_video_overlay_rectangle_new_raw(
      pixels, x, y, static_cast<guint>(w), static_cast<guint>(h),
      GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  gst_video_overlay_composition_add_rectangle(composition, rectangle);
  gst_video_overlay_rectangle_unref(rectangle);
}

double believable_pixel_aspect(const GstVideoInfo& info) {
  const double n = GST_VIDEO_INFO_PAR_N(&info), d = GST_VIDEO_INFO_PAR_D(&info);
  return n > 0 && d > 0 ? std::clamp(n / d, 1 / kMaxPixelAspect, kMaxPixelAspect) : 1;
}

}  // namespace

void OverlayPainter::configure(const GstVideoInfo& info, guint line_width, guint text_height) {
  colors_.clear();
  labels_.clear();
  label_bytes_ = 0;
  frame_width_ = GST_VIDEO_INFO_WIDTH(&info);
  frame_height_ = GST_VIDEO_INFO_HEIGHT(&info);
  par_ = believable_pixel_aspect(info);
  line_ = line_width ? static_cast<int>(line_width) : std::max(2, frame_height_ / 240);
  text_height_ =
      text_height ? static_cast<int>(text_height) : std::max(kMinText, frame_height_ / 40);
  text_height_ = std::max(kMinText, std::min(text_height_, frame_height_));
}

GstBuffer* OverlayPainter::color(int class_id) {
  if (colors_.size() >= kMaxCachedColors) colors_.clear();
  BufferPtr& buffer = colors_[class_id];
  if (!buffer) buffer = to_buffer(cv::Mat(2, 2, CV_8UC4, class_color(class_id)));
  return buffer.get();
}

const OverlayPainter::Label& OverlayPainter::label(const std::string& text, int class_id) {
  const auto key = std::make_pair(text, class_id);
  if (const auto found = labels_.find(key); found != labels_.end()) return found->second;
  if (labels_.size() >= kMaxCachedLabels || label_bytes_ > kMaxCachedBytes) {
    labels_.clear();
    label_bytes_ = 0;
  }
  constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
  const int thickness = std::max(1, text_height_ / 12);
  const double scale = cv::getFontScaleFromHeight(kFont, text_height_, thickness);
  int baseline = 0;
  const cv::Size size = cv::getTextSize(text, kFont, scale, thickness, &baseline);
  const int margin = std::max(1, text_height_ / 5);
  const cv::Scalar background = class_color(class_id);
  // Dark letters on light colours, light ones on dark: by luma.
  const double luma = 0.114 * background[0] + 0.587 * background[1] + 0.299 * background[2];
  const cv::Scalar ink = luma > 110 ? cv::Scalar(0, 0, 0, 255) : cv::Scalar(255, 255, 255, 255);
  // A label is no longer than the frame can show.
  const int room = static_cast<int>(std::clamp(frame_width_ * par_, 1.0, kMaxLabelWidth));
  const int rows = std::min(size.height + baseline + 2 * margin, std::max(1, frame_height_));
  cv::Mat picture(rows, std::min(size.width + 2 * margin, room), CV_8UC4, background);
  cv::putText(picture, text, {margin, margin + size.height}, kFont, scale, ink, thickness,
              cv::LINE_AA);
  // Pixels that are wider than high would stretch the letters.
  const int width = std::max(1, static_cast<int>(std::lround(picture.cols / par_)));
  if (width != picture.cols) {
    cv::resize(picture, picture, {width, picture.rows}, 0, 0, cv::INTER_AREA);
  }
  label_bytes_ += picture.total() * 4;
  return labels_[key] = {to_buffer(picture), picture.cols, picture.rows};
}

void OverlayPainter::draw_box(const image::Corners& place, int class_id,
                              GstVideoOverlayComposition* composition) {
  const int line_y = std::max(1, line_);
  const int line_x = std::max(1, static_cast<int>(std::lround(line_ / par_)));
  const int x0 = static_cast<int>(std::lround(place.x0));
  const int y0 = static_cast<int>(std::lround(place.y0));
  const int x1 = static_cast<int>(std::lround(place.x1));
  const int y1 = static_cast<int>(std::lround(place.y1));
  const int w = x1 - x0, h = y1 - y0;
  GstBuffer* pixels = color(class_id);
  add(composition, pixels, x0, y0, w, std::min(line_y, h));
  add(composition, pixels, x0, std::max(y0, y1 - line_y), w, std::min(line_y, h));
  add(composition, pixels, x0, y0, std::min(line_x, w), h);
  add(composition, pixels, std::max(x0, x1 - line_x), y0, std::min(line_x, w), h);
}

void OverlayPainter::draw(const Drawing& d, int row, GstVideoOverlayComposition* composition) {
  image::Corners place = d.place;
  const image::Corners frame = {0, 0, static_cast<double>(frame_width_),
                                static_cast<double>(frame_height_)};
  if (d.box) {
    if (!objects::clip_box(frame, &place)) return;
    draw_box(place, d.class_id, composition);
  }
  if (d.text.empty()) return;
  const Label& text = label(short_text(d.text, kMaxLabelLength), d.class_id);
  // Above the box; inside it where there is no room above.
  const int x0 = d.box ? static_cast<int>(std::lround(place.x0)) : 0;
  const int y0 = d.box ? static_cast<int>(std::lround(place.y0)) : 0;
  const int rows_of_text = std::max(1, frame_height_ / std::max(1, text.height));
  int y = d.box ? y0 - text.height : std::min(row, rows_of_text) * text.height;
  if (y < 0) y = y0;
  y = std::clamp(y, 0, std::max(0, frame_height_ - text.height));
  const int x = std::clamp(x0, 0, std::max(0, frame_width_ - text.width));
  add(composition, text.pixels.get(), x, y, text.width, text.height);
}

}  // namespace dvnn::gst
