// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/snapshots.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/format.h"
#include "frames/videocaps.h"
#ifdef DVNN_HAVE_JPEG
#include "publish/jpeg.h"
#endif

namespace dvnn::gst {
namespace {

constexpr size_t kMostViews = 128;
// A view must be so much better to be worth its copy.
constexpr double kBetter = 1.1;

struct ConverterFree {
  void operator()(GstVideoConverter* converter) const { gst_video_converter_free(converter); }
};

double score_of(const GstDvObject& object, const GstVideoInfo& info) {
  const double width = object.x1 - object.x0, height = object.y1 - object.y0;
  const bool cut = object.x0 <= 1 || object.y0 <= 1 || object.x1 >= info.width - 1 ||
                   object.y1 >= info.height - 1;
  return static_cast<double>(object.confidence) * std::sqrt(std::max(0.0, width * height)) *
         (cut ? 0.5 : 1.0);
}

}  // namespace

void Snapshots::set_format(const GstCaps* caps) {
  known_ = video_info_from_caps(caps, &info_);
}

void Snapshots::see(GstBuffer* frame, const PublishSettings& settings) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ++frames_;
  if (!meta || !known_) return;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject& object = *gst_dv_objects_meta_get_object(meta, i);
    if (object.track_id == 0 || object.predicted || !gst_dv_object_has_box(&object)) continue;
    const auto found = views_.find(object.track_id);
    const double score = score_of(object, info_);
    if (found != views_.end()) found->second.seen = frames_;
    if (found != views_.end() && score < found->second.score * kBetter) continue;
    auto view = take(frame, {object.x0, object.y0, object.x1, object.y1},
                     settings.snapshot == Snapshot::kFrame, settings.snapshot_size);
    if (!view) continue;
    view->score = score;
    view->seen = frames_;
    if (found == views_.end()) make_room();
    views_[object.track_id] = std::move(*view);
  }
}

// The view of the track that was seen longest ago goes.
void Snapshots::make_room() {
  if (views_.size() < kMostViews) return;
  const auto oldest =
      std::min_element(views_.begin(), views_.end(),
                       [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
  views_.erase(oldest);
}

std::optional<Snapshots::View> Snapshots::take(GstBuffer* frame, const publish::Box& box,
                                               bool of_frame, guint size) {
  if (!known_) {
    problem_ = Error{ErrorCode::kUnsupported, "frames of these caps cannot be read for snapshots"};
    return std::nullopt;
  }
  int x0 = 0, y0 = 0, x1 = info_.width, y1 = info_.height;
  if (!of_frame) {
    x0 = std::clamp(static_cast<int>(std::floor(box[0])), 0, info_.width - 1);
    y0 = std::clamp(static_cast<int>(std::floor(box[1])), 0, info_.height - 1);
    x1 = std::clamp(static_cast<int>(std::ceil(box[2])), x0 + 1, info_.width);
    y1 = std::clamp(static_cast<int>(std::ceil(box[3])), y0 + 1, info_.height);
  }
  const double scale = std::min(1.0, static_cast<double>(size) / std::max(x1 - x0, y1 - y0));
  View view;
  view.width = std::max(1, static_cast<int>((x1 - x0) * scale));
  view.height = std::max(1, static_cast<int>((y1 - y0) * scale));
  view.of_frame = of_frame;
  view.box = {static_cast<double>(x0), static_cast<double>(y0), static_cast<double>(x1),
              static_cast<double>(y1)};
  view.pts = GST_BUFFER_PTS(frame);
  GstVideoInfo to;
  gst_video_info_init(&to);
  gst_video_info_set_format(&to, GST_VIDEO_FORMAT_RGB, static_cast<guint>(view.width),
                            static_cast<guint>(view.height));
  // The converter takes neither pictures of another rate nor other fields.
  to.fps_n = info_.fps_n;
  to.fps_d = info_.fps_d;
  to.interlace_mode = info_.interlace_mode;
  to.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  GstStructure* config = gst_structure_new(
      "config", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, x0, GST_VIDEO_CONVERTER_OPT_SRC_Y,
      G_TYPE_INT, y0, GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, x1 - x0,
      GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, y1 - y0, nullptr);
  const std::unique_ptr<GstVideoConverter, ConverterFree> converter(
      gst_video_converter_new(&info_, &to, config));
  GstVideoFrame from;
  if (!converter || !gst_video_frame_map(&from, &info_, frame, GST_MAP_READ)) {
    problem_ = Error{ErrorCode::kUnsupported, "frames of these caps cannot be read for snapshots"};
    return std::nullopt;
  }
  const BufferPtr buffer(gst_buffer_new_allocate(nullptr, to.size, nullptr));
  GstVideoFrame out;
  if (buffer && gst_video_frame_map(&out, &to, buffer.get(), GST_MAP_WRITE)) {
    gst_video_converter_frame(converter.get(), &from, &out);
    view.stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&out, 0));
    const auto* pixels = static_cast<const unsigned char*>(GST_VIDEO_FRAME_PLANE_DATA(&out, 0));
    view.pixels.assign(pixels, pixels + view.stride * static_cast<size_t>(view.height));
    gst_video_frame_unmap(&out);
  }
  gst_video_frame_unmap(&from);
  if (view.pixels.empty()) return std::nullopt;
  return view;
}

std::optional<publish::Picture> Snapshots::encode(const View& view,
                                                  const PublishSettings& settings) {
#ifdef DVNN_HAVE_JPEG
  auto jpeg = publish::encode_jpeg(view.pixels.data(), view.width, view.height, view.stride,
                                   static_cast<int>(settings.snapshot_quality));
  if (!jpeg.ok()) {
    problem_ = jpeg.error();
    return std::nullopt;
  }
  publish::Picture picture;
  picture.of_frame = view.of_frame;
  picture.width = view.width;
  picture.height = view.height;
  picture.box = view.box;
  if (GST_CLOCK_TIME_IS_VALID(view.pts)) picture.pts = view.pts;
  if (settings.snapshot_folder.empty()) {
    picture.jpeg = std::move(jpeg.value());
    return picture;
  }
  picture.file = settings.snapshot_folder + "/" + name_ +
                 format("-%llu.jpg", static_cast<unsigned long long>(files_++));
  std::ofstream file(picture.file, std::ios::binary);
  file.write(jpeg.value().data(), static_cast<std::streamsize>(jpeg.value().size()));
  file.close();
  if (file) return picture;
  problem_ =
      Error{ErrorCode::kIo, "'" + picture.file + "' cannot be written: " + std::strerror(errno)};
  return std::nullopt;
#else
  (void)view;
  (void)settings;
  problem_ = Error{ErrorCode::kUnsupported, "gst-dvnn was built without libjpeg: no snapshots"};
  return std::nullopt;
#endif
}

std::optional<publish::Picture> Snapshots::of_track(guint64 track,
                                                    const PublishSettings& settings) {
  const auto found = views_.find(track);
  if (found == views_.end()) return std::nullopt;
  return encode(found->second, settings);
}

std::optional<publish::Picture> Snapshots::of_frame(GstBuffer* frame,
                                                    const PublishSettings& settings) {
  const auto view = take(frame, {}, true, settings.snapshot_size);
  if (!view) return std::nullopt;
  return encode(*view, settings);
}

std::optional<publish::Picture> Snapshots::of_object(GstBuffer* frame, const GstDvObject& object,
                                                     const PublishSettings& settings) {
  if (!gst_dv_object_has_box(&object)) return std::nullopt;
  const auto view =
      take(frame, {object.x0, object.y0, object.x1, object.y1}, false, settings.snapshot_size);
  if (!view) return std::nullopt;
  return encode(*view, settings);
}

}  // namespace dvnn::gst
