// SPDX-License-Identifier: Apache-2.0
// The order of work: source rows are interpolated along x once each, two at a time are combined
// into an output row of 8-bit pixels, and a block of those goes through the value tables into the
// tensor.
#include "image/converter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "image/formats.h"
#include "image/geometry.h"
#include "tensor/half.h"

namespace dvnn::image {
namespace {

constexpr int kMaxExtent = 32768;
constexpr int kBlockRows = 16;  // rows written together: x-major tensors get longer runs

// Source: ITU-R BT.601, BT.709, BT.2020: weights of red and blue in luma.
struct Luma {
  float red, blue;
};
constexpr Luma kLuma[] = {{0.299f, 0.114f}, {0.2126f, 0.0722f}, {0.2627f, 0.0593f}};

// R = y + rv v, G = y + gu u + gv v, B = y + bu u, with y = (Y - offset) * gain.
struct YuvToRgb {
  float offset = 0, gain = 1, rv = 0, gu = 0, gv = 0, bu = 0;
};

YuvToRgb make_matrix(Matrix matrix, bool full_range) {
  const Luma luma = kLuma[static_cast<int>(matrix)];
  const float green = 1 - luma.red - luma.blue;
  const float chroma = full_range ? 1.0f : 255.0f / 224.0f;
  YuvToRgb m;
  m.offset = full_range ? 0.0f : 16.0f;
  m.gain = full_range ? 1.0f : 255.0f / 219.0f;
  m.rv = 2 * (1 - luma.red) * chroma;
  m.bu = 2 * (1 - luma.blue) * chroma;
  m.gu = -m.bu * luma.blue / green;
  m.gv = -m.rv * luma.red / green;
  return m;
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::lrintf(std::min(std::max(value, 0.0f), 255.0f)));
}

}  // namespace

// One component's interpolated rows: the two that the current output row needs.
struct ComponentPlan {
  Component layout;
  std::vector<Tap> x, y;
  std::vector<int> rows[2];  // interpolated along x, 11 extra bits
  int row_index[2] = {-1, -1};

  const int* row(const FrameView& frame, int index) {
    for (int k = 0; k < 2; ++k) {
      if (row_index[k] == index) return rows[k].data();
    }
    // The other buffer is the output row's second source row, or stale.
    const int k = row_index[0] < row_index[1] ? 0 : 1;
    const uint8_t* from =
        frame.planes[static_cast<size_t>(layout.plane)] +
        static_cast<ptrdiff_t>(index) * frame.strides[static_cast<size_t>(layout.plane)] +
        layout.first;
    int* to = rows[k].data();
    const int step = layout.step;
    for (const Tap& tap : x) {
      *to++ =
          from[tap.first * step] * tap.first_weight + from[tap.second * step] * tap.second_weight;
    }
    row_index[k] = index;
    return rows[k].data();
  }
};

struct Converter::Impl {
  FormatInfo info;
  TensorDesc tensor;
  PictureSpec picture;
  Geometry geometry;
  Transform transform;
  YuvToRgb matrix;
  ComponentPlan plans[3];
  int plan_count = 0;
  int channels = 0;
  int64_t stride_x = 0, stride_y = 0, stride_c = 0;  // of the tensor, elements
  uint32_t table[3][256];                            // finished elements by pixel value
  std::vector<uint8_t> block;  // kBlockRows x width x channels, in tensor order
  std::vector<float> yuv[3];

  void plan_component(int i, const FrameFormat& frame);
  void fill_tables();
  void plan_strides();
  void make_row(const FrameView& frame, int y, uint8_t* to);
  void make_rgb_row(const FrameView& frame, int y, uint8_t* to);
  void make_yuv_row(const FrameView& frame, int y, uint8_t* to);
  template <typename T>
  void store_block(int y0, int rows, T* out) const;
  template <typename T>
  void fill_borders(T* out) const;
  template <typename T>
  void run(const FrameView& frame, T* out);
};

void Converter::Impl::plan_component(int i, const FrameFormat& frame) {
  ComponentPlan& plan = plans[i];
  plan.layout = info.component[i];
  const Component& c = plan.layout;
  plan.x.resize(static_cast<size_t>(geometry.target.w));
  plan.y.resize(static_cast<size_t>(geometry.target.h));
  // 4:2:0 and 4:2:2 chroma lies on every second luma column (MPEG-2 siting, what H.264 assumes),
  // and in 4:2:0 between two luma rows.
  plan_taps({geometry.source.x, geometry.source.w, geometry.target.w, c.sub_x,
             (frame.width + c.sub_x - 1) / c.sub_x, 0.0, true},
            plan.x.data());
  plan_taps({geometry.source.y, geometry.source.h, geometry.target.h, c.sub_y,
             (frame.height + c.sub_y - 1) / c.sub_y, 0.5, false},
            plan.y.data());
  for (auto& row : plan.rows) row.resize(static_cast<size_t>(geometry.target.w));
}

void Converter::Impl::fill_tables() {
  for (int c = 0; c < channels; ++c) {
    const size_t k = static_cast<size_t>(c);
    for (int v = 0; v < 256; ++v) {
      const float value = (static_cast<float>(v) - picture.mean[k]) * picture.scale[k];
      uint32_t& entry = table[c][v];
      if (tensor.type == ElementType::kFloat16) {
        entry = float_to_half(value);
      } else if (tensor.type == ElementType::kFloat32) {
        std::memcpy(&entry, &value, sizeof entry);
      } else {
        entry = static_cast<uint32_t>(v);
      }
    }
  }
}

void Converter::Impl::plan_strides() {
  const Shape& s = tensor.shape;
  switch (tensor.layout) {  // at most 3 channels: chunked layouts are the plain ones
    case Layout::kNchw:
      stride_x = 1, stride_y = s.w(), stride_c = int64_t{s.h()} * s.w();
      break;
    case Layout::kNhwc:
    case Layout::kHwc8:
      stride_x = s.c(), stride_y = int64_t{s.w()} * s.c(), stride_c = 1;
      break;
    case Layout::kNwhc:
    case Layout::kWhc8:
      stride_x = int64_t{s.h()} * s.c(), stride_y = s.c(), stride_c = 1;
      break;
  }
}

// 8-bit bilinear as OpenCV rounds it: 22 fraction bits, 4 dropped before and 16 after the product.
void Converter::Impl::make_rgb_row(const FrameView& frame, int y, uint8_t* to) {
  const int width = geometry.target.w;
  const bool from_gray = plan_count == 1;
  for (int i = 0; i < plan_count; ++i) {
    ComponentPlan& plan = plans[i];
    const Tap& tap = plan.y[static_cast<size_t>(y)];
    const int* first = plan.row(frame, tap.first);
    const int* second = plan.row(frame, tap.second);
    const int b0 = tap.first_weight, b1 = tap.second_weight;
    const int c = from_gray || picture.order != ChannelOrder::kBgr ? i : 2 - i;
    uint8_t* out = to + c;
    const int step = channels;
    if (picture.order == ChannelOrder::kGray && !from_gray) {
      float* plane = yuv[i].data();
      for (int x = 0; x < width; ++x) {
        plane[x] = static_cast<float>(
            (((b0 * (first[x] >> 4)) >> 16) + ((b1 * (second[x] >> 4)) >> 16) + 2) >> 2);
      }
      continue;
    }
    for (int x = 0; x < width; ++x) {
      out[x * step] = static_cast<uint8_t>(
          (((b0 * (first[x] >> 4)) >> 16) + ((b1 * (second[x] >> 4)) >> 16) + 2) >> 2);
    }
  }
  if (picture.order == ChannelOrder::kGray && !from_gray) {
    const Luma luma = kLuma[static_cast<int>(Matrix::kBt601)];
    const float green = 1 - luma.red - luma.blue;
    for (int x = 0; x < width; ++x) {
      to[x] = to_byte(yuv[0][static_cast<size_t>(x)] * luma.red +
                      yuv[1][static_cast<size_t>(x)] * green +
                      yuv[2][static_cast<size_t>(x)] * luma.blue);
    }
  } else if (from_gray && channels == 3) {
    for (int x = 0; x < width; ++x) to[3 * x + 1] = to[3 * x + 2] = to[3 * x];
  }
}

// Y, U and V are interpolated unrounded; the matrix and one rounding follow.
void Converter::Impl::make_yuv_row(const FrameView& frame, int y, uint8_t* to) {
  const int width = geometry.target.w;
  for (int i = 0; i < plan_count; ++i) {
    ComponentPlan& plan = plans[i];
    const Tap& tap = plan.y[static_cast<size_t>(y)];
    const int* first = plan.row(frame, tap.first);
    const int* second = plan.row(frame, tap.second);
    constexpr float kUnit = 1.0f / (1 << (2 * kWeightBits));
    const float b0 = static_cast<float>(tap.first_weight) * kUnit;
    const float b1 = static_cast<float>(tap.second_weight) * kUnit;
    float* out = yuv[i].data();
    for (int x = 0; x < width; ++x) {
      out[x] = b0 * static_cast<float>(first[x]) + b1 * static_cast<float>(second[x]);
    }
  }
  const float *py = yuv[0].data(), *pu = yuv[1].data(), *pv = yuv[2].data();
  const YuvToRgb m = matrix;
  if (channels == 1) {
    for (int x = 0; x < width; ++x) to[x] = to_byte((py[x] - m.offset) * m.gain);
    return;
  }
  const int red = picture.order == ChannelOrder::kBgr ? 2 : 0;
  for (int x = 0; x < width; ++x) {
    const float luma = (py[x] - m.offset) * m.gain;
    const float u = pu[x] - 128.0f, v = pv[x] - 128.0f;
    to[3 * x + red] = to_byte(luma + m.rv * v);
    to[3 * x + 1] = to_byte(luma + m.gu * u + m.gv * v);
    to[3 * x + 2 - red] = to_byte(luma + m.bu * u);
  }
}

void Converter::Impl::make_row(const FrameView& frame, int y, uint8_t* to) {
  if (info.yuv) {
    make_yuv_row(frame, y, to);
  } else {
    make_rgb_row(frame, y, to);
  }
}

template <typename T>
void Converter::Impl::store_block(int y0, int rows, T* out) const {
  const Rect& target = geometry.target;
  const size_t row_bytes = static_cast<size_t>(target.w) * static_cast<size_t>(channels);
  T* origin = out + (target.y + y0) * stride_y + target.x * stride_x;
  auto put = [&](int x, int r) {
    const uint8_t* pixel = &block[static_cast<size_t>(r) * row_bytes +
                                  static_cast<size_t>(x) * static_cast<size_t>(channels)];
    T* to = origin + r * stride_y + x * stride_x;
    for (int c = 0; c < channels; ++c) to[c * stride_c] = static_cast<T>(table[c][pixel[c]]);
  };
  if (stride_x > stride_y) {  // x-major: walk down the columns, as the tensor lies
    for (int x = 0; x < target.w; ++x) {
      for (int r = 0; r < rows; ++r) put(x, r);
    }
  } else {
    for (int r = 0; r < rows; ++r) {
      for (int x = 0; x < target.w; ++x) put(x, r);
    }
  }
}

template <typename T>
void Converter::Impl::fill_borders(T* out) const {
  const Rect& t = geometry.target;
  const Shape& s = tensor.shape;
  auto fill = [&](int x0, int x1, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        for (int c = 0; c < channels; ++c) {
          out[y * stride_y + x * stride_x + c * stride_c] =
              static_cast<T>(table[c][picture.pad_value[static_cast<size_t>(c)]]);
        }
      }
    }
  };
  fill(0, s.w(), 0, t.y);
  fill(0, s.w(), t.y + t.h, s.h());
  fill(0, t.x, t.y, t.y + t.h);
  fill(t.x + t.w, s.w(), t.y, t.y + t.h);
}

template <typename T>
void Converter::Impl::run(const FrameView& frame, T* out) {
  for (ComponentPlan& plan : plans) plan.row_index[0] = plan.row_index[1] = -1;
  fill_borders(out);
  const size_t row_bytes = static_cast<size_t>(geometry.target.w) * static_cast<size_t>(channels);
  for (int y0 = 0; y0 < geometry.target.h; y0 += kBlockRows) {
    const int rows = std::min(kBlockRows, geometry.target.h - y0);
    for (int r = 0; r < rows; ++r) {
      make_row(frame, y0 + r, block.data() + static_cast<size_t>(r) * row_bytes);
    }
    store_block(y0, rows, out);
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
  impl.tensor = tensor;
  impl.picture = picture;
  impl.channels = channels;
  impl.geometry = plan_geometry(frame, s.w(), s.h(), picture.resize);
  impl.transform = impl.geometry.transform();
  impl.matrix = make_matrix(frame.matrix, frame.full_range);
  // A gray tensor needs no chroma of a YUV frame.
  impl.plan_count = impl.info.yuv && channels == 1 ? 1 : impl.info.components;
  for (int i = 0; i < impl.plan_count; ++i) impl.plan_component(i, frame);
  for (auto& row : impl.yuv) row.resize(static_cast<size_t>(impl.geometry.target.w));
  impl.block.resize(static_cast<size_t>(kBlockRows) * static_cast<size_t>(impl.geometry.target.w) *
                    static_cast<size_t>(channels));
  impl.fill_tables();
  impl.plan_strides();
  return converter;
}

void Converter::convert(const FrameView& frame, uint8_t* out) {
  switch (impl_->tensor.type) {
    case ElementType::kFloat16:
      impl_->run(frame, reinterpret_cast<uint16_t*>(out));
      break;
    case ElementType::kFloat32:
      impl_->run(frame, reinterpret_cast<uint32_t*>(out));
      break;
    case ElementType::kUint8:
    case ElementType::kInt8:
      impl_->run(frame, out);
      break;
  }
}

}  // namespace dvnn::image
