// SPDX-License-Identifier: Apache-2.0
#include "image/converter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

#include "check_main.h"
#include "tensor/half.h"

using namespace dvnn;
using namespace dvnn::image;

namespace {

constexpr PixelFormat kYuvFormats[] = {
    PixelFormat::kNv12, PixelFormat::kNv21, PixelFormat::kNv16,
    PixelFormat::kI420, PixelFormat::kYv12, PixelFormat::kYuy2,
    PixelFormat::kUyvy, PixelFormat::kP010, PixelFormat::kI42010};
constexpr PixelFormat kOtherFormats[] = {PixelFormat::kRgb,  PixelFormat::kBgr,  PixelFormat::kRgbx,
                                         PixelFormat::kBgrx, PixelFormat::kXrgb, PixelFormat::kXbgr,
                                         PixelFormat::kGray8};

// Where a component of a YUV format lies, from the formats' definitions (GStreamer's video-format
// documentation), apart from the table that the converter uses.
struct Place {
  int plane = 0, first = 0, step = 1, sub_x = 1, sub_y = 1;
};

Place place(PixelFormat f, int component) {
  const bool chroma = component > 0;
  const int u = component - 1;  // 0: U, 1: V
  switch (f) {
    case PixelFormat::kNv12:
      return chroma ? Place{1, u, 2, 2, 2} : Place{};
    case PixelFormat::kNv21:
      return chroma ? Place{1, 1 - u, 2, 2, 2} : Place{};
    case PixelFormat::kNv16:
      return chroma ? Place{1, u, 2, 2, 1} : Place{};
    case PixelFormat::kI420:
      return chroma ? Place{1 + u, 0, 1, 2, 2} : Place{};
    case PixelFormat::kYv12:
      return chroma ? Place{2 - u, 0, 1, 2, 2} : Place{};
    case PixelFormat::kYuy2:
      return chroma ? Place{0, 1 + 2 * u, 4, 2, 1} : Place{0, 0, 2, 1, 1};
    case PixelFormat::kUyvy:
      return chroma ? Place{0, 2 * u, 4, 2, 1} : Place{0, 1, 2, 1, 1};
    case PixelFormat::kP010:
      return chroma ? Place{1, 2 * u, 4, 2, 2} : Place{0, 0, 2, 1, 1};
    case PixelFormat::kI42010:
      return chroma ? Place{1 + u, 0, 2, 2, 2} : Place{0, 0, 2, 1, 1};
    default:
      return {};
  }
}

bool has_10_bits(PixelFormat f) {
  return f == PixelFormat::kP010 || f == PixelFormat::kI42010;
}

// A random frame, with odd strides and its own memory per plane.
struct Frame {
  std::vector<uint8_t> planes[3];
  FrameView view;
};

int bytes_per_pixel(PixelFormat f) {
  switch (f) {
    case PixelFormat::kGray8:
      return 1;
    case PixelFormat::kRgb:
    case PixelFormat::kBgr:
      return 3;
    default:
      return 4;
  }
}

void add_plane(Frame* frame, size_t plane, int bytes, int rows, std::mt19937* random) {
  const int stride = bytes + 6;
  frame->planes[plane].resize(static_cast<size_t>(stride * rows));
  for (uint8_t& b : frame->planes[plane]) b = static_cast<uint8_t>((*random)());
  frame->view.planes[plane] = frame->planes[plane].data();
  frame->view.strides[plane] = stride;
}

Frame make_frame(PixelFormat f, int width, int height, std::mt19937* random) {
  Frame frame;
  if (std::find(std::begin(kYuvFormats), std::end(kYuvFormats), f) == std::end(kYuvFormats)) {
    add_plane(&frame, 0, width * bytes_per_pixel(f), height, random);
    return frame;
  }
  for (int i = 0; i < 3; ++i) {
    const Place p = place(f, i);
    const size_t plane = static_cast<size_t>(p.plane);
    const int columns = (width + p.sub_x - 1) / p.sub_x, rows = (height + p.sub_y - 1) / p.sub_y;
    const bool packed = f == PixelFormat::kYuy2 || f == PixelFormat::kUyvy;
    const int bytes = packed ? (width + 1) / 2 * 4 : columns * p.step;
    if (frame.planes[plane].empty()) add_plane(&frame, plane, bytes, rows, random);
  }
  if (has_10_bits(f)) {  // only 10 of the 16 bits are used
    for (auto& plane : frame.planes) {
      for (size_t i = 0; i < plane.size(); ++i) {
        if (f == PixelFormat::kP010 && i % 2 == 0) plane[i] &= 0xc0;
        if (f == PixelFormat::kI42010 && i % 2 == 1) plane[i] &= 0x03;
      }
    }
  }
  return frame;
}

// One component at a luma position, interpolated in double precision. Chroma is sited as
// converter.cpp says: on even luma columns, and between luma rows in 4:2:0.
double component(PixelFormat f, const Frame& frame, int which, int width, int height, double x,
                 double y) {
  const Place p = place(f, which);
  const size_t plane = static_cast<size_t>(p.plane);
  const int w = (width + p.sub_x - 1) / p.sub_x, h = (height + p.sub_y - 1) / p.sub_y;
  x = p.sub_x == 2 ? x / 2 : x;
  y = p.sub_y == 2 ? (y - 0.5) / 2 : y;
  auto sample = [&](int px, int py) -> double {
    px = std::min(std::max(px, 0), w - 1);
    py = std::min(std::max(py, 0), h - 1);
    const uint8_t* at = &frame.planes[plane][static_cast<size_t>(py * frame.view.strides[plane] +
                                                                 p.first + px * p.step)];
    if (!has_10_bits(f)) return at[0];
    const int value = at[0] | at[1] << 8;
    return (f == PixelFormat::kP010 ? value / 64 : value) / 4.0;
  };
  const int ix = static_cast<int>(std::floor(x)), iy = static_cast<int>(std::floor(y));
  const double fx = x - ix, fy = y - iy;
  return (1 - fy) * ((1 - fx) * sample(ix, iy) + fx * sample(ix + 1, iy)) +
         fy * ((1 - fx) * sample(ix, iy + 1) + fx * sample(ix + 1, iy + 1));
}

FrameFormat format_of(PixelFormat f, int width, int height) {
  FrameFormat format;
  format.format = f;
  format.width = width;
  format.height = height;
  return format;
}

}  // namespace

START_TEST(yuv_is_within_one_level_of_a_double_reference) {
  std::mt19937 random(5);
  for (PixelFormat f : kYuvFormats) {
    for (int round = 0; round < 12; ++round) {
      const int width = 1 + static_cast<int>(random() % 60),
                height = 1 + static_cast<int>(random() % 60);
      const int out_w = 1 + static_cast<int>(random() % 40),
                out_h = 1 + static_cast<int>(random() % 40);
      const Frame frame = make_frame(f, width, height, &random);
      FrameFormat format = format_of(f, width, height);
      format.matrix = round % 2 ? Matrix::kBt709 : Matrix::kBt601;
      format.full_range = round % 3 == 0;
      const double kr = round % 2 ? 0.2126 : 0.299, kb = round % 2 ? 0.0722 : 0.114;
      const double offset = format.full_range ? 0 : 16, gain = format.full_range ? 1 : 255.0 / 219;
      const double chroma = format.full_range ? 1 : 255.0 / 224;
      PictureSpec picture;
      const TensorDesc desc = {ElementType::kUint8, Layout::kNchw, {1, 3, out_h, out_w}};
      auto converter = Converter::create(format, desc, picture);
      ck_assert(converter.ok());
      std::vector<uint8_t> have(static_cast<size_t>(desc.bytes()));
      converter.value()->convert(frame.view, have.data());
      for (int y = 0; y < out_h; ++y) {
        for (int x = 0; x < out_w; ++x) {
          const double sx = (x + 0.5) * width / out_w - 0.5, sy = (y + 0.5) * height / out_h - 0.5;
          const double luma = (component(f, frame, 0, width, height, sx, sy) - offset) * gain;
          const double u = component(f, frame, 1, width, height, sx, sy) - 128;
          const double v = component(f, frame, 2, width, height, sx, sy) - 128;
          const double r = luma + 2 * (1 - kr) * chroma * v, b = luma + 2 * (1 - kb) * chroma * u;
          const double g =
              luma - (2 * (1 - kb) * kb * u + 2 * (1 - kr) * kr * v) * chroma / (1 - kr - kb);
          const double want[] = {r, g, b};
          for (int c = 0; c < 3; ++c) {
            const double value = std::min(std::max(want[c], 0.0), 255.0);
            const int got = have[static_cast<size_t>((c * out_h + y) * out_w + x)];
            ck_assert_msg(std::fabs(got - value) <= 1,
                          "format %d %dx%d -> %dx%d c%d at %d,%d: %d, %g", static_cast<int>(f),
                          width, height, out_w, out_h, c, x, y, got, value);
          }
        }
      }
    }
  }
}
END_TEST

START_TEST(all_formats_layouts_and_rules_agree_and_stay_in_bounds) {
  // Every layout holds the same values as row-major, and nothing outside the tensor is touched.
  std::mt19937 random(9);
  std::vector<PixelFormat> formats(std::begin(kYuvFormats), std::end(kYuvFormats));
  formats.insert(formats.end(), std::begin(kOtherFormats), std::end(kOtherFormats));
  for (PixelFormat f : formats) {
    for (ResizeRule rule : {ResizeRule::kStretch, ResizeRule::kLetterbox,
                            ResizeRule::kLetterboxTopLeft, ResizeRule::kCrop}) {
      for (ChannelOrder order : {ChannelOrder::kRgb, ChannelOrder::kBgr, ChannelOrder::kGray}) {
        const Frame frame = make_frame(f, 37, 21, &random);
        const int channels = order == ChannelOrder::kGray ? 1 : 3;
        PictureSpec picture;
        picture.order = order;
        picture.resize = rule;
        picture.mean = {{104, 117, 123}};
        picture.scale = {{0.5f, 0.25f, 2}};
        picture.pad_value = {{10, 20, 30}};
        const Shape shape = {1, channels, 19, 16};
        std::vector<float> first;
        for (Layout layout :
             {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
          const TensorDesc desc = {ElementType::kFloat16, layout, shape};
          auto converter = Converter::create(format_of(f, 37, 21), desc, picture);
          ck_assert(converter.ok());
          const size_t bytes = static_cast<size_t>(desc.bytes());
          std::vector<uint8_t> memory(bytes + 64, 0xee);
          converter.value()->convert(frame.view, memory.data() + 32);
          for (size_t i = 0; i < 32; ++i) {
            ck_assert_uint_eq(memory[i], 0xee);
            ck_assert_uint_eq(memory[32 + bytes + i], 0xee);
          }
          std::vector<float> values(static_cast<size_t>(shape.elements()));
          read_nchw({desc, memory.data() + 32}, values.data());
          if (first.empty()) first = values;
          ck_assert(values == first);
        }
      }
    }
  }
}
END_TEST

START_TEST(values_are_normalised_and_rounded_once) {
  const uint8_t pixel[] = {200, 100, 50};
  FrameView view;
  view.planes[0] = pixel;
  view.strides[0] = 3;
  PictureSpec picture;
  picture.order = ChannelOrder::kBgr;
  picture.mean = {{10.5f, 0, 127}};
  picture.scale = {{0.0078125f, 1 / 255.0f, -3}};
  const TensorDesc desc = {ElementType::kFloat16, Layout::kNwhc, {1, 3, 1, 1}};
  auto converter = Converter::create(format_of(PixelFormat::kRgb, 1, 1), desc, picture);
  ck_assert(converter.ok());
  half_t out[3];
  converter.value()->convert(view, reinterpret_cast<uint8_t*>(out));
  ck_assert_uint_eq(out[0], float_to_half((50 - 10.5f) * 0.0078125f));
  ck_assert_uint_eq(out[1], float_to_half(100 * (1 / 255.0f)));
  ck_assert_uint_eq(out[2], float_to_half((200 - 127.0f) * -3));
}
END_TEST

namespace {

Transform transform_of(int w, int h, int par_n, ResizeRule rule) {
  FrameFormat format = format_of(PixelFormat::kRgb, w, h);
  format.par_n = par_n;
  PictureSpec picture;
  picture.resize = rule;
  const TensorDesc desc = {ElementType::kFloat16, Layout::kNwhc, {1, 3, 100, 100}};
  return Converter::create(format, desc, picture).value()->transform();
}

void expect_corners(const Corners& have, const Corners& want) {
  ck_assert_double_eq_tol(have.x0, want.x0, 1e-9);
  ck_assert_double_eq_tol(have.y0, want.y0, 1e-9);
  ck_assert_double_eq_tol(have.x1, want.x1, 1e-9);
  ck_assert_double_eq_tol(have.y1, want.y1, 1e-9);
}

}  // namespace

START_TEST(transforms_map_the_pictures_corners) {
  const Corners all = {0, 0, 100, 100};
  expect_corners(transform_of(200, 50, 1, ResizeRule::kStretch).to_frame(all), {0, 0, 200, 50});
  // 100 x 50, centred.
  expect_corners(transform_of(200, 100, 1, ResizeRule::kLetterbox).to_frame({0, 25, 100, 75}),
                 {0, 0, 200, 100});
  expect_corners(transform_of(200, 100, 1, ResizeRule::kLetterboxTopLeft).to_frame({0, 0, 100, 50}),
                 {0, 0, 200, 100});
  // Shown twice as wide as high.
  expect_corners(transform_of(100, 100, 2, ResizeRule::kLetterbox).to_frame({0, 25, 100, 75}),
                 {0, 0, 100, 100});
  // The middle 100 x 100.
  expect_corners(transform_of(200, 100, 1, ResizeRule::kCrop).to_frame(all), {50, 0, 150, 100});
}
END_TEST

START_TEST(a_cropped_frame_is_the_frame_of_its_part) {
  std::mt19937 random(3);
  for (ResizeRule rule : {ResizeRule::kStretch, ResizeRule::kLetterbox, ResizeRule::kCrop}) {
    const Frame frame = make_frame(PixelFormat::kRgb, 60, 50, &random);
    FrameFormat part = format_of(PixelFormat::kRgb, 60, 50);
    part.crop_x = 7;
    part.crop_y = 11;
    part.crop_width = 41;
    part.crop_height = 30;
    PictureSpec picture;
    picture.resize = rule;
    const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 20}};
    auto cropping = Converter::create(part, desc, picture);
    auto plain = Converter::create(format_of(PixelFormat::kRgb, 41, 30), desc, picture);
    ck_assert(cropping.ok() && plain.ok());
    std::vector<uint8_t> have(1200), want(1200);
    cropping.value()->convert(frame.view, have.data());
    FrameView view = frame.view;
    view.planes[0] += 11 * view.strides[0] + 7 * 3;
    plain.value()->convert(view, want.data());
    ck_assert(have == want);
    const Corners part_of_plain = plain.value()->transform().to_frame({3, 3, 9, 5});
    expect_corners(cropping.value()->transform().to_frame({3, 3, 9, 5}),
                   {part_of_plain.x0 + 7, part_of_plain.y0 + 11, part_of_plain.x1 + 7,
                    part_of_plain.y1 + 11});
  }
  FrameFormat outside = format_of(PixelFormat::kRgb, 60, 50);
  outside.crop_x = 30;
  outside.crop_width = 31;
  outside.crop_height = 50;
  const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 20}};
  ck_assert(!Converter::create(outside, desc, PictureSpec()).ok());
}
END_TEST

START_TEST(impossible_requests_are_refused) {
  PictureSpec picture;
  const TensorDesc good = {ElementType::kFloat16, Layout::kNwhc, {1, 3, 8, 8}};
  auto refused = [&](const FrameFormat& frame, const TensorDesc& desc, const PictureSpec& p) {
    return !Converter::create(frame, desc, p).ok();
  };
  const FrameFormat frame = format_of(PixelFormat::kRgb, 8, 8);
  ck_assert(!refused(frame, good, picture));
  ck_assert(refused(format_of(PixelFormat::kRgb, 0, 8), good, picture));
  ck_assert(refused(format_of(PixelFormat::kRgb, 8, 40000), good, picture));
  ck_assert(refused(frame, {ElementType::kFloat16, Layout::kNwhc, {1, 4, 8, 8}}, picture));
  ck_assert(refused(frame, {ElementType::kFloat16, Layout::kNwhc, {1, 3, 0, 8}}, picture));
  ck_assert(refused(frame, {ElementType::kFloat16, Layout::kNwhc, {2, 3, 8, 8}}, picture));
  ck_assert(refused(frame, {ElementType::kFloat16, Layout::kNchw, {3, 64}}, picture));
  FrameFormat no_par = frame;
  no_par.par_d = 0;
  ck_assert(refused(no_par, good, picture));
  PictureSpec bad = picture;
  bad.roi = {0.5, 0, 0.6, 1};
  ck_assert(refused(frame, good, bad));
  bad.roi = {0, 0, 0, 1};
  ck_assert(refused(frame, good, bad));
  bad.roi = {0, 0, 1, NAN};
  ck_assert(refused(frame, good, bad));
  bad = picture;
  bad.quant_scale = 0;
  ck_assert(refused(frame, good, bad));
}
END_TEST

DVNN_TEST_MAIN(converter, yuv_is_within_one_level_of_a_double_reference,
               all_formats_layouts_and_rules_agree_and_stay_in_bounds,
               values_are_normalised_and_rounded_once, transforms_map_the_pictures_corners,
               a_cropped_frame_is_the_frame_of_its_part, impossible_requests_are_refused)
