// SPDX-License-Identifier: Apache-2.0
// The order of work: source rows are resampled along x once each, two at a time are blended into an
// output row of levels, and a block of those is normalised, rounded and stored in the tensor.
#include "image/converter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "image/formats.h"
#include "image/geometry.h"
#include "image/kernels.h"
#include "image/lanes.h"
#include "image/tensor_writer.h"

namespace dvnn::image {
namespace {

constexpr int kMaxExtent = 32768;

// Source: ITU-R BT.601, BT.709, BT.2020: weights of red and blue in luma.
struct Luma {
  float red, blue;
};
constexpr Luma kLuma[] = {{0.299f, 0.114f}, {0.2126f, 0.0722f}, {0.2627f, 0.0593f}};

// On values times 64, as blend_fine() gives them. R = luma + 2 (1 - red) v and so on, with
// luma = (Y - offset) * gain.
YuvMatrix make_matrix(Matrix matrix, bool full_range) {
  constexpr float kUnit = 1.0f / 64, kChromaZero = 128.0f * 64;
  const Luma luma = kLuma[static_cast<int>(matrix)];
  const float green = 1 - luma.red - luma.blue;
  const float chroma = kUnit * (full_range ? 1.0f : 255.0f / 224.0f);
  const float gain = full_range ? 1.0f : 255.0f / 219.0f;
  YuvMatrix m;
  m.y = gain * kUnit;
  m.luma0 = full_range ? 0.0f : -16.0f * gain;
  m.rv = 2 * (1 - luma.red) * chroma;
  m.bu = 2 * (1 - luma.blue) * chroma;
  m.gu = -m.bu * luma.blue / green;
  m.gv = -m.rv * luma.red / green;
  m.r0 = m.luma0 - m.rv * kChromaZero;
  m.g0 = m.luma0 - (m.gu + m.gv) * kChromaZero;
  m.b0 = m.luma0 - m.bu * kChromaZero;
  return m;
}

int16_t to_level(float value) {
  return static_cast<int16_t>(std::lrintf(std::min(std::max(value, 0.0f), 255.0f)));
}

}  // namespace

// One plane's resampled rows: the two that the current output row needs.
struct Stream {
  LanePlan plan;
  std::vector<Tap> y;
  std::vector<uint16_t> rows[2];
  int row_index[2] = {-1, -1};

  const uint8_t* source_row(const FrameView& frame, int index) const {
    const size_t plane = static_cast<size_t>(plan.plane());
    return frame.planes[plane] + static_cast<ptrdiff_t>(index) * frame.strides[plane];
  }

  const uint16_t* row(const FrameView& frame, int index) {
    for (int k = 0; k < 2; ++k) {
      if (row_index[k] == index) return rows[k].data();
    }
    // The other buffer is the output row's second source row, or stale.
    const int k = row_index[0] < row_index[1] ? 0 : 1;
    plan.resample(source_row(frame, index), rows[k].data());
    row_index[k] = index;
    return rows[k].data();
  }
};

struct Converter::Impl {
  FormatInfo info;
  PictureSpec picture;
  Geometry geometry;
  Transform transform;
  TensorWriter writer;
  std::vector<Stream> streams;  // RGB or gray: one; YUV: Y, then UV or U and V
  YuvMatrix matrix;
  int channels = 0;
  std::vector<int16_t> colours;   // levels of a row of pixels that becomes gray
  std::vector<uint16_t> fine[3];  // blended rows of the streams of a YUV frame

  void plan_streams(const FrameFormat& frame);
  void add_stream(const FrameFormat& frame, const std::vector<Component>& components);
  void make_rgb_row(const FrameView& frame, int y, int16_t* levels);
  void make_yuv_row(const FrameView& frame, int y, int16_t* levels);
  void run(const FrameView& frame, uint8_t* out);
};

void Converter::Impl::add_stream(const FrameFormat& frame,
                                 const std::vector<Component>& components) {
  const Component& c = components[0];
  std::vector<Tap> x(static_cast<size_t>(geometry.target.w));
  Stream stream;
  stream.y.resize(static_cast<size_t>(geometry.target.h));
  // 4:2:0 and 4:2:2 chroma lies on every second luma column (MPEG-2 siting, what H.264 assumes),
  // and in 4:2:0 between two luma rows.
  plan_taps({geometry.source.x, geometry.source.w, geometry.target.w, c.sub_x,
             (frame.width + c.sub_x - 1) / c.sub_x, 0.0, true},
            x.data());
  plan_taps({geometry.source.y, geometry.source.h, geometry.target.h, c.sub_y,
             (frame.height + c.sub_y - 1) / c.sub_y, 0.5, false},
            stream.y.data());
  stream.plan.plan(components, x, row_bytes(info, c.plane, frame.width));
  for (auto& row : stream.rows) row.resize(stream.plan.lanes() + kRowPadding);
  streams.push_back(std::move(stream));
}

void Converter::Impl::plan_streams(const FrameFormat& frame) {
  const Component* c = info.component;
  if (info.components == 1) {
    add_stream(frame, {c[0]});
  } else if (!info.yuv) {
    const bool bgr = picture.order == ChannelOrder::kBgr;
    add_stream(frame, {c[bgr ? 2 : 0], c[1], c[bgr ? 0 : 2]});
  } else {
    add_stream(frame, {c[0]});
    if (channels == 1) {
      // A gray tensor needs no chroma.
    } else if (c[1].plane == c[2].plane) {
      add_stream(frame, {c[1], c[2]});
    } else {
      add_stream(frame, {c[1]});
      add_stream(frame, {c[2]});
    }
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    fine[i].resize(streams[i].plan.lanes() + kRowPadding);
  }
}

// Pixels are rounded to levels before anything else is done to them, as a resized picture's are.
void Converter::Impl::make_rgb_row(const FrameView& frame, int y, int16_t* levels) {
  Stream& stream = streams[0];
  const Tap& tap = stream.y[static_cast<size_t>(y)];
  const size_t width = static_cast<size_t>(geometry.target.w);
  const bool gray_frame = info.components == 1;
  const bool direct = gray_frame == (channels == 1);
  int16_t* to = direct ? levels : colours.data();
  if (tap.second_weight == 0 && stream.plan.only_copies()) {
    stream.plan.copy(stream.source_row(frame, tap.first), to);
  } else {
    blend_levels(stream.row(frame, tap.first), stream.row(frame, tap.second), tap.first_weight,
                 tap.second_weight, stream.plan.lanes(), to);
  }
  if (direct) return;
  if (gray_frame) {
    for (size_t x = 0; x < width; ++x)
      levels[4 * x] = levels[4 * x + 1] = levels[4 * x + 2] = to[x];
    return;
  }
  const Luma luma = kLuma[static_cast<int>(Matrix::kBt601)];
  const float green = 1 - luma.red - luma.blue;
  for (size_t x = 0; x < width; ++x) {
    levels[x] = to_level(static_cast<float>(to[4 * x]) * luma.red +
                         static_cast<float>(to[4 * x + 1]) * green +
                         static_cast<float>(to[4 * x + 2]) * luma.blue);
  }
}

// Y, U and V are interpolated unrounded; the matrix and one rounding follow.
void Converter::Impl::make_yuv_row(const FrameView& frame, int y, int16_t* levels) {
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream& stream = streams[i];
    const Tap& tap = stream.y[static_cast<size_t>(y)];
    blend_fine(stream.row(frame, tap.first), stream.row(frame, tap.second), tap.first_weight,
               tap.second_weight, stream.plan.lanes(), fine[i].data());
  }
  const size_t width = static_cast<size_t>(geometry.target.w);
  if (channels == 1) {
    luma_levels(fine[0].data(), matrix.y, matrix.luma0, width, levels);
  } else {
    yuv_levels(fine[0].data(), fine[1].data(), streams.size() == 3 ? fine[2].data() : nullptr,
               matrix, picture.order == ChannelOrder::kBgr, width, levels);
  }
}

void Converter::Impl::run(const FrameView& frame, uint8_t* out) {
  for (Stream& stream : streams) stream.row_index[0] = stream.row_index[1] = -1;
  writer.fill_borders(out);
  for (int y0 = 0; y0 < geometry.target.h; y0 += TensorWriter::kBlockRows) {
    const int rows = std::min(TensorWriter::kBlockRows, geometry.target.h - y0);
    for (int r = 0; r < rows; ++r) {
      if (info.yuv) {
        make_yuv_row(frame, y0 + r, writer.levels(r));
      } else {
        make_rgb_row(frame, y0 + r, writer.levels(r));
      }
    }
    writer.write(y0, rows, out);
  }
}

Converter::Converter() : impl_(std::make_unique<Impl>()) {}
Converter::~Converter() = default;

const Transform& Converter::transform() const {
  return impl_->transform;
}

Result<std::unique_ptr<Converter>> Converter::create(const FrameFormat& frame,
                                                     const TensorDesc& tensor,
                                                     const PictureSpec& picture) {
  const Shape& s = tensor.shape;
  const int channels = picture.order == ChannelOrder::kGray ? 1 : 3;
  for (int extent : {frame.width, frame.height}) {
    if (extent < 1 || extent > kMaxExtent) {
      return Error{ErrorCode::kInvalidArgument, format("frame size %d x %d is not within 1..%d",
                                                       frame.width, frame.height, kMaxExtent)};
    }
  }
  if (frame.crop_width != 0 &&
      (frame.crop_x < 0 || frame.crop_y < 0 || frame.crop_width < 1 || frame.crop_height < 1 ||
       frame.crop_width > frame.width - frame.crop_x ||
       frame.crop_height > frame.height - frame.crop_y)) {
    return Error{ErrorCode::kInvalidArgument,
                 format("the crop rectangle %d x %d at %d,%d is not within the frame of %d x %d",
                        frame.crop_width, frame.crop_height, frame.crop_x, frame.crop_y,
                        frame.width, frame.height)};
  }
  if (frame.par_n < 1 || frame.par_d < 1) {
    return Error{ErrorCode::kInvalidArgument,
                 format("pixel aspect ratio %d/%d is not positive", frame.par_n, frame.par_d)};
  }
  if (s.rank != 4 || s.n() != 1 || s.c() != channels || s.h() < 1 || s.w() < 1 ||
      s.h() > kMaxExtent || s.w() > kMaxExtent) {
    return Error{ErrorCode::kInvalidArgument,
                 format("tensor %s is not 1x%dxHxW with H and W within 1..%d",
                        s.to_string().c_str(), channels, kMaxExtent)};
  }
  bool plain = true;
  for (size_t c = 0; c < 3; ++c) plain &= picture.mean[c] == 0 && picture.scale[c] == 1;
  if (tensor.type == ElementType::kInt8 || (tensor.type == ElementType::kUint8 && !plain)) {
    return Error{
        ErrorCode::kUnsupported,
        format("%s tensors with this mean and scale are not supported", to_string(tensor.type))};
  }
  std::unique_ptr<Converter> converter(new Converter());
  Impl& impl = *converter->impl_;
  impl.info = format_info(frame.format);
  impl.picture = picture;
  impl.channels = channels;
  impl.geometry = plan_geometry(frame, s.w(), s.h(), picture.resize);
  impl.transform = impl.geometry.transform();
  impl.matrix = make_matrix(frame.matrix, frame.full_range);
  impl.plan_streams(frame);
  impl.colours.resize(4 * static_cast<size_t>(impl.geometry.target.w) + kRowPadding);
  impl.writer.plan(tensor, picture, impl.geometry.target);
  return converter;
}

void Converter::convert(const FrameView& frame, uint8_t* out) {
  impl_->run(frame, out);
}

}  // namespace dvnn::image
