// SPDX-License-Identifier: Apache-2.0
#include "image/converter.h"

#include <cmath>
#include <random>
#include <vector>

#include "check_main.h"
#include "frames.h"
#include "tensor/half.h"

using namespace dvnn;
using namespace dvnn::image;

namespace {

FrameFormat format_of(PixelFormat f, int width, int height) {
  FrameFormat format;
  format.format = f;
  format.width = width;
  format.height = height;
  return format;
}

}  // namespace

START_TEST(values_are_normalised_and_rounded_once) {
  const uint8_t pixel[] = {200, 100, 50};
  FrameView view;
  view.planes[0] = pixel;
  view.strides[0] = 3;
  InputSpec picture;
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
  InputSpec picture;
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
  expect_corners(transform_of(200, 50, 1, ResizeRule::kStretch).invert(all), {0, 0, 200, 50});
  // 100 x 50, centred.
  expect_corners(transform_of(200, 100, 1, ResizeRule::kLetterbox).invert({0, 25, 100, 75}),
                 {0, 0, 200, 100});
  expect_corners(transform_of(200, 100, 1, ResizeRule::kLetterboxTopLeft).invert({0, 0, 100, 50}),
                 {0, 0, 200, 100});
  // Shown twice as wide as high.
  expect_corners(transform_of(100, 100, 2, ResizeRule::kLetterbox).invert({0, 25, 100, 75}),
                 {0, 0, 100, 100});
  // The middle 100 x 100.
  expect_corners(transform_of(200, 100, 1, ResizeRule::kCrop).invert(all), {50, 0, 150, 100});
}
END_TEST

START_TEST(a_cropped_frame_is_the_frame_of_its_part) {
  std::mt19937 random(3);
  for (ResizeRule rule : {ResizeRule::kStretch, ResizeRule::kLetterbox, ResizeRule::kCrop}) {
    const frames::Frame frame = frames::make_frame(PixelFormat::kRgb, 60, 50, &random);
    FrameFormat part = format_of(PixelFormat::kRgb, 60, 50);
    part.crop_x = 7;
    part.crop_y = 11;
    part.crop_width = 41;
    part.crop_height = 30;
    InputSpec picture;
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
    const Corners part_of_plain = plain.value()->transform().invert({3, 3, 9, 5});
    expect_corners(
        cropping.value()->transform().invert({3, 3, 9, 5}),
        {part_of_plain.x0 + 7, part_of_plain.y0 + 11, part_of_plain.x1 + 7, part_of_plain.y1 + 11});
  }
  FrameFormat outside = format_of(PixelFormat::kRgb, 60, 50);
  outside.crop_x = 30;
  outside.crop_width = 31;
  outside.crop_height = 50;
  const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 20}};
  ck_assert(!Converter::create(outside, desc, InputSpec()).ok());
}
END_TEST

START_TEST(a_region_alone_is_a_frame_of_its_own) {
  std::mt19937 random(31);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  int differ = 0;
  for (int round = 0; round < 20; ++round) {
    for (const PixelFormat format : frames::all_formats()) {
      const int width = 20 + below(60), height = 20 + below(60);
      const frames::Frame frame = frames::make_frame(format, width, height, &random);
      FrameFormat part = format_of(format, width, height);
      part.crop_x = below(width - 8);
      part.crop_y = below(height - 8);
      part.crop_width = 4 + below(width - part.crop_x - 4);
      part.crop_height = 4 + below(height - part.crop_y - 4);
      View view;
      view.region = {double(part.crop_x) / width, double(part.crop_y) / height,
                     double(part.crop_width) / width, double(part.crop_height) / height};
      view.alone = true;
      InputSpec picture;
      picture.resize = static_cast<ResizeRule>(below(4));
      picture.method = static_cast<ResizeMethod>(below(3));
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 24}};
      auto cropping = Converter::create(part, desc, picture);
      auto alone = Converter::create(format_of(format, width, height), desc, picture, view);
      view.alone = false;
      auto beside = Converter::create(format_of(format, width, height), desc, picture, view);
      ck_assert(cropping.ok() && alone.ok() && beside.ok());
      std::vector<uint8_t> have(1440), want(1440), other(1440);
      cropping.value()->convert(frame.view, want.data());
      alone.value()->convert(frame.view, have.data());
      beside.value()->convert(frame.view, other.data());
      ck_assert(have == want);
      differ += have != other;
      const Corners shown = alone.value()->shown().part;
      const Corners same = cropping.value()->shown().part;
      expect_corners(shown, same);
      if (picture.resize == ResizeRule::kCrop) continue;
      expect_corners(
          shown, {double(part.crop_x), double(part.crop_y), double(part.crop_x + part.crop_width),
                  double(part.crop_y + part.crop_height)});
    }
  }
  ck_assert_int_gt(differ, 0);  // chroma is shared by pixels beside the region, too
}
END_TEST

// Under UndefinedBehaviorSanitizer: no sample of 16 bits is read as one that is aligned.
START_TEST(rows_may_begin_at_any_address) {
  std::mt19937 random(4);
  for (PixelFormat f : frames::all_formats()) {
    for (ResizeMethod method :
         {ResizeMethod::kBilinear, ResizeMethod::kNearest, ResizeMethod::kArea}) {
      const frames::Frame frame = frames::make_frame(f, 45, 30, &random);
      frames::Frame odd = frame;
      for (size_t p = 0; p < 3; ++p) {
        if (frame.planes[p].empty()) continue;
        // One byte more in front, and behind each row.
        const auto stride = static_cast<size_t>(frame.view.strides[p]);
        const size_t rows = (frame.planes[p].size() + stride - 1) / stride;
        odd.planes[p].assign(frame.planes[p].size() + rows, 0);
        for (size_t i = 0; i < frame.planes[p].size(); ++i) {
          odd.planes[p][1 + i + i / stride] = frame.planes[p][i];
        }
        odd.view.planes[p] = odd.planes[p].data() + 1;
        odd.view.strides[p] = frame.view.strides[p] + 1;
      }
      View view;
      view.method = method;
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 16, 16}};
      auto converter = Converter::create(format_of(f, 45, 30), desc, InputSpec(), view);
      ck_assert(converter.ok());
      std::vector<uint8_t> have(768), want(768);
      converter.value()->convert(frame.view, want.data());
      converter.value()->convert(odd.view, have.data());
      ck_assert(have == want);
    }
  }
}
END_TEST

START_TEST(impossible_requests_are_refused) {
  InputSpec picture;
  const TensorDesc good = {ElementType::kFloat16, Layout::kNwhc, {1, 3, 8, 8}};
  auto refused = [&](const FrameFormat& frame, const TensorDesc& desc, const InputSpec& p) {
    return !Converter::create(frame, desc, p).ok();
  };
  auto refused_region = [&](const dvnn::image::RelativeRect& region) {
    dvnn::image::View view;
    view.region = region;
    return !Converter::create(format_of(PixelFormat::kRgb, 8, 8), good, picture, view).ok();
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
  InputSpec bad = picture;
  ck_assert(refused_region({0.5, 0, 0.6, 1}));
  ck_assert(refused_region({0, 0, 0, 1}));
  ck_assert(refused_region({0, 0, 1, NAN}));
  bad.quant_scale = 0;
  ck_assert(refused(frame, good, bad));
}
END_TEST

DVNN_TEST_MAIN(converter, values_are_normalised_and_rounded_once,
               transforms_map_the_pictures_corners, a_cropped_frame_is_the_frame_of_its_part,
               a_region_alone_is_a_frame_of_its_own, rows_may_begin_at_any_address,
               impossible_requests_are_refused)
