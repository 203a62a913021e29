// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/snapshots.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "frames/caps.h"
#include "frames/framemap.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

struct ConverterFree {
  void operator()(GstVideoConverter* converter) const { gst_video_converter_free(converter); }
};

// A part of a frame, in whole pixels.
struct Part {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  int width() const { return x1 - x0; }
  int height() const { return y1 - y0; }
};

// Coordinates may be infinite or NaN, because any element may have set them.
int pixel_of(double value, int least, int most) {
  if (!(value > least)) return least;
  return value < most ? static_cast<int>(value) : most;
}

// Returns the object's part of the frame. `lines`: number of lines that make up one row in memory.
Part part_of(const GstVideoFrame& frame, int lines, const GstDvObject* object) {
  const int width = GST_VIDEO_FRAME_WIDTH(&frame), height = GST_VIDEO_FRAME_HEIGHT(&frame) * lines;
  if (!object) return {0, 0, width, height};
  Part part;
  part.x0 = pixel_of(std::floor(object->x0), 0, width - 1);
  part.y0 = pixel_of(std::floor(object->y0), 0, height - 1);
  part.x1 = pixel_of(std::ceil(object->x1), part.x0 + 1, width);
  part.y1 = pixel_of(std::ceil(object->y1), part.y0 + 1, height);
  return part;
}

// Scales a part of the frame into the picture, whose size is set.
Status convert(const GstVideoFrame& frame, const Part& part, publish::Picture* picture) {
  GstVideoInfo from = frame.info, to;
  gst_video_info_init(&to);
  gst_video_info_set_format(&to, GST_VIDEO_FORMAT_RGB, static_cast<guint>(picture->width),
                            static_cast<guint>(picture->height));
  // The converter takes neither pictures of another rate nor other fields.
  to.fps_n = from.fps_n;
  to.fps_d = from.fps_d;
  to.interlace_mode = from.interlace_mode;
  to.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  // The stream waits for this conversion, so it is no better than a small picture can show.
  GstStructure* config = gst_structure_new(
      "config", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, part.x0, GST_VIDEO_CONVERTER_OPT_SRC_Y,
      G_TYPE_INT, part.y0, GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, part.width(),
      GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, part.height(),
      GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
      GST_VIDEO_RESAMPLER_METHOD_LINEAR, GST_VIDEO_CONVERTER_OPT_CHROMA_RESAMPLER_METHOD,
      GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_NEAREST,
      GST_VIDEO_CONVERTER_OPT_CHROMA_MODE, GST_TYPE_VIDEO_CHROMA_MODE, GST_VIDEO_CHROMA_MODE_NONE,
      GST_VIDEO_CONVERTER_OPT_DITHER_METHOD, GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE,
      nullptr);
  const std::unique_ptr<GstVideoConverter, ConverterFree> converter(
      gst_video_converter_new(&from, &to, config));
  if (!converter) return unsupported("frames of these caps cannot be read for snapshots");
  auto pixels = std::make_shared<publish::Pixels>();
  pixels->bytes.resize(to.size);
  const BufferPtr buffer(gst_buffer_new_wrapped_full(
      static_cast<GstMemoryFlags>(0), pixels->bytes.data(), to.size, 0, to.size, nullptr, nullptr));
  VideoFrameMap out(to, buffer.get(), GST_MAP_WRITE);
  if (!out.ok()) return Error{ErrorCode::kNoMemory, "there is no memory for a snapshot"};
  gst_video_converter_frame(converter.get(), &frame, out.get());
  pixels->stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(out.get(), 0));
  picture->pixels = std::move(pixels);
  return {};
}

}  // namespace

double view_score(const GstDvObject& object, const image::Size& frame) {
  const double width = object.x1 - object.x0, height = object.y1 - object.y0;
  const bool cut = object.x0 <= 1 || object.y0 <= 1 || object.x1 >= frame.width - 1 ||
                   object.y1 >= frame.height - 1;
  return static_cast<double>(object.confidence) * std::sqrt(std::max(0.0, width * height)) *
         (cut ? 0.5 : 1.0);
}

Result<publish::Picture> picture_of_frame(GstBuffer* buffer, const GstVideoInfo& info,
                                          const GstDvObject* object, guint size) {
  DVNN_TRY(check_video_meta(info, buffer));
  const VideoFrameMap map(info, buffer, GST_MAP_READ);
  if (!map.ok()) return malformed("the frame's memory cannot be mapped");
  DVNN_TRY(check_frame_memory(map.frame()));
  DVNN_TRY(check_frame_alignment(map.frame()));
  const int lines = lines_per_row(info);
  const Part part = part_of(map.frame(), lines, object);
  const double scale =
      std::min(1.0, static_cast<double>(size) / std::max(part.width(), part.height()));
  publish::Picture picture;
  picture.of_frame = !object;
  picture.width = std::max(1, static_cast<int>(part.width() * scale));
  picture.height = std::max(1, static_cast<int>(part.height() * scale));
  picture.box = {static_cast<double>(part.x0), static_cast<double>(part.y0),
                 static_cast<double>(part.x1), static_cast<double>(part.y1)};
  if (GST_BUFFER_PTS_IS_VALID(buffer)) picture.pts = GST_BUFFER_PTS(buffer);
  const Part rows = {part.x0, part.y0 / lines, part.x1, (part.y1 + lines - 1) / lines};
  DVNN_TRY(convert(map.frame(), rows, &picture));
  return picture;
}

namespace {

constexpr size_t kMostViews = 128;
// A new view must be better than the kept one by this factor to be worth its copy.
constexpr double kBetter = 1.1;

}  // namespace

void Snapshots::set_format(const GstCaps* caps) {
  known_ = video_info_from_caps(caps, &info_);
}

void Snapshots::see(GstBuffer* frame, const PublishSettings& settings) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ++frames_;
  if (!meta || !known_) return;
  const image::Size size =
      frame_size(frame, {static_cast<double>(info_.width), static_cast<double>(info_.height)});
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject& object = *gst_dv_objects_meta_get_object(meta, i);
    if (object.track_id == 0 || object.predicted || !gst_dv_object_has_box(&object)) continue;
    const auto found = views_.find(object.track_id);
    const double score = view_score(object, size);
    if (found != views_.end()) found->second.seen = frames_;
    if (found != views_.end() && !(score >= found->second.score * kBetter)) continue;
    const bool of_frame = settings.snapshot == Snapshot::kFrame;
    auto picture = take(frame, of_frame ? nullptr : &object, settings.snapshot_size);
    if (!picture) continue;
    if (found == views_.end()) make_room();
    views_[object.track_id] = {std::move(*picture), score, frames_};
  }
}

// Drops the view of the track that was last seen longest ago.
void Snapshots::make_room() {
  if (views_.size() < kMostViews) return;
  const auto oldest =
      std::min_element(views_.begin(), views_.end(),
                       [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
  views_.erase(oldest);
}

// Takes a picture of the object or, without one, of the frame.
std::optional<publish::Picture> Snapshots::take(GstBuffer* frame, const GstDvObject* object,
                                                guint size) {
  if (!known_) {
    problem_ = unsupported("frames of these caps cannot be read for snapshots");
    return std::nullopt;
  }
  auto picture = picture_of_frame(frame, info_, object, size);
  if (picture.ok()) return std::move(picture.value());
  problem_ = picture.error();
  return std::nullopt;
}

// Adds the quality and the file's name, as the settings give them.
publish::Picture Snapshots::addressed(publish::Picture picture, const PublishSettings& settings) {
  picture.quality = static_cast<int>(settings.snapshot_quality);
  if (!settings.snapshot_folder.empty()) {
    picture.file = settings.snapshot_folder + "/" + name_ +
                   format("-%llu.jpg", static_cast<unsigned long long>(files_++));
  }
  return picture;
}

std::optional<publish::Picture> Snapshots::of_track(guint64 track,
                                                    const PublishSettings& settings) {
  const auto found = views_.find(track);
  if (found == views_.end()) return std::nullopt;
  return addressed(found->second.picture, settings);
}

std::optional<publish::Picture> Snapshots::view_of(guint64 track,
                                                   const PublishSettings& settings) const {
  const auto found = views_.find(track);
  if (found == views_.end()) return std::nullopt;
  publish::Picture picture = found->second.picture;
  picture.quality = static_cast<int>(settings.snapshot_quality);
  return picture;
}

std::optional<publish::Picture> Snapshots::of_frame(GstBuffer* frame,
                                                    const PublishSettings& settings) {
  auto picture = take(frame, nullptr, settings.snapshot_size);
  if (!picture) return std::nullopt;
  return addressed(std::move(*picture), settings);
}

std::optional<publish::Picture> Snapshots::of_object(GstBuffer* frame, const GstDvObject& object,
                                                     const PublishSettings& settings) {
  if (!gst_dv_object_has_box(&object)) return std::nullopt;
  auto picture = take(frame, &object, settings.snapshot_size);
  if (!picture) return std::nullopt;
  return addressed(std::move(*picture), settings);
}

}  // namespace dvnn::gst
