// SPDX-License-Identifier: Apache-2.0
// For each row of the result, the source rows that it needs become one row of u8 samples, which the
// writer turns into tensor elements.
#include "image/converter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/format.h"
#include "base/nth.h"
#include "image/formats.h"
#include "image/geometry.h"
#include "image/lanes.h"
#include "image/tensor_writer.h"
#include "image/vectors.h"

namespace dvnn::image {
namespace {

constexpr int kMaxExtent = 32768;

// Weights of red and blue in luma. Source: ITU-R BT.601, BT.709, BT.2020.
struct Luma {
  float red, blue;
};
constexpr Luma kLuma[] = {{0.299f, 0.114f}, {0.2126f, 0.0722f}, {0.2627f, 0.0593f}};

// R = luma + 2 (1 - red) v and so on, with luma = (Y - offset) * gain. Samples are multiplied by
// `unit`.
YuvMatrix make_matrix(Matrix matrix, bool full_range, float unit) {
  const float chroma_zero = 128.0f * unit;
  const Luma luma = kLuma[static_cast<int>(matrix)];
  const float green = 1 - luma.red - luma.blue;
  const float chroma = (full_range ? 1.0f : 255.0f / 224.0f) / unit;
  const float gain = full_range ? 1.0f : 255.0f / 219.0f;
  YuvMatrix m;
  m.y = gain / unit;
  m.luma0 = full_range ? 0.0f : -16.0f * gain;
  m.rv = 2 * (1 - luma.red) * chroma;
  m.bu = 2 * (1 - luma.blue) * chroma;
  m.gu = -m.bu * luma.blue / green;
  m.gv = -m.rv * luma.red / green;
  m.r0 = m.luma0 - m.rv * chroma_zero;
  m.g0 = m.luma0 - (m.gu + m.gv) * chroma_zero;
  m.b0 = m.luma0 - m.bu * chroma_zero;
  return m;
}

// Components of a plane, and the tables that resample their rows.
struct Stream {
  int plane = 0;
  size_t row_bytes = 0;  // in the frame
  ExpandedRows expanded;
  // For bilinear and nearest.
  LaneTable lanes;
  std::vector<Tap> y;
  // For area.
  AreaTable area;
  AlignedVector<float> fine;  // the current row, if it is rounded later

  PlaneRows rows(const FrameView& frame) {
    return {nth(frame.planes, plane), nth(frame.strides, plane),
            expanded.is_used() ? &expanded : nullptr};
  }
};

RowPair pair(const PlaneRows& rows, const Tap& tap) {
  const uint8_t* above = rows.row(tap.first);
  return {above, tap.second_weight == 0 ? above : rows.row(tap.second), tap.first_weight,
          tap.second_weight};
}

void prefetch_row(const uint8_t* row, size_t bytes) {
  constexpr size_t kCacheLine = 64;
  for (size_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(row + i);
}

}  // namespace

struct Converter::Impl {
  FormatInfo info;
  InputSpec input;
  Geometry geometry;
  Shown shown;
  TensorWriter writer;
  std::vector<Stream> streams;  // RGB or gray: one; YUV: Y, then UV or U and V
  YuvMatrix matrix;
  // For a slant, `upright` converts the part of the frame around it to pixels, which are then
  // sampled through an affine map.
  std::unique_ptr<Impl> upright;
  AlignedVector<uint8_t> part;  // pixels of that part, with a border of one pixel
  WarpSource warp;
  std::vector<int32_t> steps_x, steps_y;  // along a row of the tensor
  std::array<double, 6> places{};         // places of the tensor's pixels in the part: x, then y
  AlignedVector<uint8_t> other_levels;  // gray for a tensor of pixels, or pixels for a gray tensor
  int channels = 0;
  size_t bytes = 0;

  Status plan_slant(const FrameFormat& frame, const StridedTensor& tensor, const Slant& slant);
  void plan_streams(const FrameFormat& frame);
  void add_stream(const FrameFormat& frame, const std::vector<Component>& components);
  void sample_yuv(const FrameView& frame, int y, uint8_t* levels);
  void sample_levels(const FrameView& frame, int y, uint8_t* levels);
  void make_row(const FrameView& frame, int y, uint8_t* levels);
  void prefetch(const FrameView& frame, int y) const;
  void forget_rows();
  void warp_rows(const FrameView& frame, uint8_t* out);
  void run(const FrameView& frame, uint8_t* out);
};

void Converter::Impl::add_stream(const FrameFormat& frame,
                                 const std::vector<Component>& components) {
  const Component& c = components[0];
  const Geometry& g = geometry;
  // 4:2:0 and 4:2:2 chroma is sited on every second luma column (MPEG-2 siting, which H.264
  // assumes), and in 4:2:0 between two luma rows.
  AxisMapping x, y;
  x.source_start = g.source.x, x.source_size = g.source.w, x.target_size = g.columns();
  y.source_start = g.source.y, y.source_size = g.source.h, y.target_size = g.rows();
  x.set_plane(c.sub_x, g.owned.x, g.owned.w);
  y.set_plane(c.sub_y, g.owned.y, g.owned.h);
  y.siting = c.sub_y > 1 ? 0.5 : 0.0;
  y.horizontal = false;
  x.flip = g.flip_x;
  y.flip = g.flip_y;
  const int bytes = row_bytes(info, c.plane, frame.width);
  Stream stream;
  stream.plane = c.plane;
  stream.row_bytes = static_cast<size_t>(info.is_565 ? k565Bytes * frame.width : bytes);
  if (info.is_565) {
    // Limits reading to the source's part, if all planes are of full size.
    stream.expanded.prepare(frame.width, g.source.x, g.source.x + g.source.w);
  }
  size_t lanes = 0;
  if (input.method == ResizeMethod::kArea) {
    stream.area.prepare(components, x, y, bytes);
    lanes = stream.area.lanes();
  } else {
    stream.lanes.prepare(components, make_taps(x, input.method), bytes);
    stream.y = make_taps(y, input.method);
    lanes = stream.lanes.lanes();
  }
  stream.fine.resize(lanes + kRowPadding / sizeof(float));
  streams.push_back(std::move(stream));
}

void Converter::Impl::plan_streams(const FrameFormat& frame) {
  const Component* c = info.component;
  if (info.components == 1) {
    add_stream(frame, {c[0]});
  } else if (!info.yuv) {
    add_stream(frame, {c[0], c[1], c[2]});
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
}

// Y, U and V are interpolated unrounded, and rounded as RGB.
void Converter::Impl::sample_yuv(const FrameView& frame, int y, uint8_t* levels) {
  for (Stream& stream : streams) {
    const PlaneRows rows = stream.rows(frame);
    if (input.method == ResizeMethod::kArea) {
      stream.area.row(rows, y, stream.fine.data());
    } else {
      stream.lanes.fine(pair(rows, nth(stream.y, y)), stream.fine.data());
    }
  }
  const size_t columns = geometry.row_pixels();
  YuvRow row;
  row.y = streams[0].fine.data();
  if (channels == 1) return yuv_to_gray(row, matrix, columns, levels);
  row.u = streams[1].fine.data();
  if (streams.size() == 3) row.v = streams[2].fine.data();
  yuv_to_pixels(row, matrix, columns, levels);
}

// RGB and gray are rounded to u8 first, as in a resized image.
void Converter::Impl::sample_levels(const FrameView& frame, int y, uint8_t* levels) {
  Stream& stream = streams[0];
  const PlaneRows rows = stream.rows(frame);
  if (input.method == ResizeMethod::kArea) {
    stream.area.row(rows, y, stream.fine.data());
    round_to_levels(stream.fine.data(), stream.area.lanes(), levels);
  } else {
    stream.lanes.levels(pair(rows, nth(stream.y, y)), levels);
  }
}

void Converter::Impl::make_row(const FrameView& frame, int y, uint8_t* levels) {
  const size_t columns = geometry.row_pixels();
  if (info.yuv) {
    sample_yuv(frame, y, levels);
  } else if ((info.components == 1) == (channels == 1)) {
    sample_levels(frame, y, levels);
  } else if (channels == 1) {
    sample_levels(frame, y, other_levels.data());
    pixels_to_gray(other_levels.data(), columns, levels);
  } else {
    sample_levels(frame, y, other_levels.data());
    gray_to_pixels(other_levels.data(), columns, levels);
  }
}

// Prefetches explicitly, because downscaling skips rows and so defeats hardware prefetchers.
void Converter::Impl::prefetch(const FrameView& frame, int y) const {
  for (const Stream& stream : streams) {
    if (static_cast<size_t>(y) >= stream.y.size()) return;
    const uint8_t* first = nth(frame.planes, stream.plane);
    const ptrdiff_t stride = nth(frame.strides, stream.plane);
    const Tap& tap = nth(stream.y, y);
    prefetch_row(first + tap.first * stride, stream.row_bytes);
    if (tap.second_weight == 0) continue;
    prefetch_row(first + tap.second * stride, stream.row_bytes);
  }
}

// The part of the frame around the slant is converted to pixels of its own size, bordered by the
// padding colour, and these are sampled.
Status Converter::Impl::plan_slant(const FrameFormat& frame, const StridedTensor& tensor,
                                   const Slant& slant) {
  DVNN_TRY(slant.check());
  const Rect all = whole_picture(frame);
  const auto in_x = [&](double share) { return all.x + share * all.w; };
  const auto in_y = [&](double share) { return all.y + share * all.h; };
  const double x0 = in_x(slant.x0), y0 = in_y(slant.y0);
  const double w = tensor.width, h = tensor.height;
  // Maps from the tensor's pixels to the frame's, with pixel edges at integers.
  const double xx = (in_x(slant.x1) - x0) / w, xy = (in_x(slant.x2) - x0) / h;
  const double yx = (in_y(slant.y1) - y0) / w, yy = (in_y(slant.y2) - y0) / h;
  const double area = xx * yy - xy * yx;
  shown.transform = Transform();
  shown.transform.scale_x = yy / area;
  shown.transform.shear_x = -xy / area;
  shown.transform.scale_y = xx / area;
  shown.transform.shear_y = -yx / area;
  shown.transform.offset_x = -(yy * x0 - xy * y0) / area;
  shown.transform.offset_y = -(xx * y0 - yx * x0) / area;
  shown.part = {std::min({x0, x0 + xx * w, x0 + xy * h, x0 + xx * w + xy * h}),
                std::min({y0, y0 + yx * w, y0 + yy * h, y0 + yx * w + yy * h}),
                std::max({x0, x0 + xx * w, x0 + xy * h, x0 + xx * w + xy * h}),
                std::max({y0, y0 + yx * w, y0 + yy * h, y0 + yx * w + yy * h})};
  constexpr double kFarthest = 8 * kMaxExtent;  // keeps places within 32 bits
  for (const double edge : {shown.part.x0, shown.part.y0, shown.part.x1, shown.part.y1}) {
    if (!(std::abs(edge) <= kFarthest)) {
      return invalid_argument("an oriented region lies far beyond the frame");
    }
  }
  // Samples reach one pixel beyond the outermost centres.
  const auto first = [](double edge, int start, int size) {
    return std::clamp(static_cast<int>(std::floor(edge)) - 1, start, start + size - 1);
  };
  const auto last = [](double edge, int start, int size) {
    return std::clamp(static_cast<int>(std::ceil(edge)) + 1, start + 1, start + size);
  };
  Rect rect;
  rect.x = first(shown.part.x0, all.x, all.w);
  rect.y = first(shown.part.y0, all.y, all.h);
  rect.w = std::max(1, last(shown.part.x1, all.x, all.w) - rect.x);
  rect.h = std::max(1, last(shown.part.y1, all.y, all.h) - rect.y);
  geometry = {};
  geometry.target = {0, 0, tensor.width, tensor.height};
  upright = std::make_unique<Impl>();
  upright->info = info;
  upright->input = input;
  upright->input.method = ResizeMethod::kBilinear;
  upright->channels = 3;
  upright->matrix = make_matrix(frame.matrix, frame.full_range, kFineUnit);
  upright->geometry.source = rect;
  upright->geometry.owned = all;
  upright->geometry.target = {0, 0, rect.w, rect.h};
  upright->other_levels.resize(4 * static_cast<size_t>(rect.w) + kRowPadding);
  upright->plan_streams(frame);
  warp.width = rect.w;
  warp.height = rect.h;
  // Rows may be written slightly beyond their end.
  warp.pitch = rect.w + 2;
  const size_t pixels = static_cast<size_t>(warp.pitch) * (static_cast<size_t>(rect.h) + 2);
  part.resize(4 * pixels + kRowPadding);
  // Maps from pixel centres to pixel centres.
  places = {xx, xy, x0 + 0.5 * xx + 0.5 * xy - 0.5 - rect.x,
            yx, yy, y0 + 0.5 * yx + 0.5 * yy - 0.5 - rect.y};
  constexpr double kUnit = 1 << kWarpBits;
  const auto steps = [&](double step, std::vector<int32_t>* list) {
    const auto width = static_cast<size_t>(tensor.width);
    list->resize(width + kRowPadding / sizeof(int32_t));
    for (size_t i = 0; i < width; ++i) {
      (*list)[i] = static_cast<int32_t>(std::lrint(step * static_cast<double>(i) * kUnit));
    }
  };
  steps(xx, &steps_x);
  steps(yx, &steps_y);
  return {};
}

void Converter::Impl::warp_rows(const FrameView& frame, uint8_t* out) {
  std::array<uint8_t, 4> pad = {input.pad_value[0], input.pad_value[1], input.pad_value[2], 0};
  if (input.order == ChannelOrder::kBgr) std::swap(pad[0], pad[2]);
  if (channels == 1) pad = {pad[0], pad[0], pad[0], 0};
  const size_t pitch = 4 * static_cast<size_t>(warp.pitch);
  const auto fill = [&](uint8_t* to, size_t count) {
    for (size_t i = 0; i < count; ++i) std::memcpy(to + 4 * i, pad.data(), pad.size());
  };
  upright->forget_rows();
  const auto rows = static_cast<size_t>(warp.height), columns = static_cast<size_t>(warp.width);
  for (size_t y = 0; y < rows; ++y) {
    uint8_t* row = part.data() + (y + 1) * pitch;
    upright->make_row(frame, static_cast<int>(y), row + 4);
    fill(row, 1);
    fill(row + 4 * (columns + 1), 1);
  }
  fill(part.data(), columns + 2);
  fill(part.data() + (rows + 1) * pitch, columns + 2);
  warp.pixels = part.data();
  constexpr double kUnit = 1 << kWarpBits;
  for (int y = 0; y < geometry.target.h; ++y) {
    WarpRow row;
    row.x = static_cast<int32_t>(std::lrint((places[1] * y + places[2]) * kUnit));
    row.y = static_cast<int32_t>(std::lrint((places[4] * y + places[5]) * kUnit));
    row.dx = steps_x.data();
    row.dy = steps_y.data();
    const size_t count = static_cast<size_t>(geometry.target.w);
    uint8_t* levels = writer.row(y);
    warp_row(warp, row, count, channels == 1 ? other_levels.data() : levels);
    if (channels == 1) pixels_to_gray(other_levels.data(), count, levels);
    writer.take(y, out);
  }
}

void Converter::Impl::forget_rows() {
  for (Stream& stream : streams) {
    stream.expanded.forget();
    stream.area.forget();
  }
}

void Converter::Impl::run(const FrameView& frame, uint8_t* out) {
  writer.fill_borders(out);
  forget_rows();
  if (upright) return warp_rows(frame, out);
  for (int y = 0; y < geometry.rows(); ++y) {
    prefetch(frame, y + 2);
    make_row(frame, y, writer.row(y));
    writer.take(y, out);
  }
}

namespace {

Status check_frame(const FrameFormat& frame) {
  if (frame.width < 1 || frame.width > kMaxExtent || frame.height < 1 ||
      frame.height > kMaxExtent) {
    return invalid_argument(
        format("frame size %d x %d is not within 1..%d", frame.width, frame.height, kMaxExtent));
  }
  if (frame.crop_width != 0 &&
      (frame.crop_x < 0 || frame.crop_y < 0 || frame.crop_width < 1 || frame.crop_height < 1 ||
       frame.crop_width > frame.width - frame.crop_x ||
       frame.crop_height > frame.height - frame.crop_y)) {
    return invalid_argument(format(
        "the crop rectangle %d x %d at %d,%d is not within the frame of %d x %d", frame.crop_width,
        frame.crop_height, frame.crop_x, frame.crop_y, frame.width, frame.height));
  }
  if (frame.par_n < 1 || frame.par_d < 1) {
    return invalid_argument(
        format("pixel aspect ratio %d/%d is not positive", frame.par_n, frame.par_d));
  }
  return {};
}

Status check_shape(const Shape& s, const InputSpec& input) {
  const int channels = input.order == ChannelOrder::kGray ? 1 : 3;
  if (s.rank != 4 || s.n() != 1 || s.c() != channels || s.h() < 1 || s.w() < 1 ||
      s.h() > kMaxExtent || s.w() > kMaxExtent) {
    return invalid_argument(
        format("the input %s is no picture that frames could become (1x%dxHxW, H and W within "
               "1..%d): give such a network a stream of other/tensors, or dvnet run an .npy file",
               s.to_string().c_str(), channels, kMaxExtent));
  }
  return {};
}

Status check_input(const InputSpec& input) {
  if (!(input.quant_scale > 0) || !std::isfinite(input.quant_scale)) {
    return invalid_argument(format("the quantisation's scale %g is not positive",
                                   static_cast<double>(input.quant_scale)));
  }
  return {};
}

}  // namespace

Converter::Converter() : impl_(std::make_unique<Impl>()) {}
Converter::~Converter() = default;

const Shown& Converter::shown() const {
  return impl_->shown;
}

size_t Converter::bytes() const {
  return impl_->bytes;
}

Result<std::unique_ptr<Converter>> Converter::create(const FrameFormat& frame,
                                                     const TensorDesc& tensor,
                                                     const InputSpec& input, const View& view) {
  DVNN_TRY(check_frame(frame));
  DVNN_TRY(check_shape(tensor.shape, input));
  return create(frame, strided(tensor), input, view);
}

Result<std::unique_ptr<Converter>> Converter::create(const FrameFormat& frame,
                                                     const DlhdlLayout& layout, const Shape& shape,
                                                     ElementType type, const InputSpec& input,
                                                     const View& view) {
  DVNN_TRY(check_frame(frame));
  DVNN_TRY(check_shape(shape, input));
  DVNN_TRY(DlhdlLayout::check(shape, type));
  return create(frame, strided(layout, shape, type), input, view);
}

Result<std::unique_ptr<Converter>> Converter::create(const FrameFormat& frame,
                                                     const StridedTensor& tensor,
                                                     const InputSpec& wanted, const View& view) {
  DVNN_TRY(view.region.check_reach());
  const InputSpec input = view.apply(wanted);
  DVNN_TRY(check_input(input));
  std::unique_ptr<Converter> converter(new Converter());
  Impl& impl = *converter->impl_;
  impl.info = format_info(frame.format);
  impl.input = input;
  impl.channels = tensor.channels;
  impl.bytes = tensor.elements * element_size(tensor.type);
  if (view.slant) {
    Slant slant = *view.slant;
    if (input.transposed) std::swap(slant.x1, slant.x2), std::swap(slant.y1, slant.y2);
    DVNN_TRY(impl.plan_slant(frame, tensor, slant));
  } else {
    impl.geometry = plan_geometry(frame, tensor.width, tensor.height, input, view);
    impl.shown = impl.geometry.shown();
    impl.plan_streams(frame);
  }
  impl.matrix = make_matrix(frame.matrix, frame.full_range,
                            input.method == ResizeMethod::kArea ? 1.0f : kFineUnit);
  impl.other_levels.resize(4 * impl.geometry.row_pixels() + kRowPadding);
  impl.writer.prepare(tensor, input, impl.geometry);
  return converter;
}

void Converter::convert(const FrameView& frame, uint8_t* out) {
  impl_->run(frame, out);
}

}  // namespace dvnn::image
