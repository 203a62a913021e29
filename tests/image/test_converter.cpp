// SPDX-License-Identifier: Apache-2.0
#include "image/converter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "check_suite.h"
#include "frames.h"
#include "image/lanes.h"
#include "tensor/half.h"

namespace dvnn::test::converter_tests {

DVNN_SUITE(converter);

using namespace dvnn::image;

namespace {

struct Rectangle {
  int x, y, width, height;
};

FrameFormat format_of(PixelFormat f, int width, int height) {
  FrameFormat format;
  format.format = f;
  format.width = width;
  format.height = height;
  return format;
}

}  // namespace

DVNN_TEST(values_are_normalised_and_rounded_once) {
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

DVNN_TEST(transforms_map_the_pictures_corners) {
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

DVNN_TEST(a_cropped_frame_is_the_frame_of_its_part) {
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

DVNN_TEST(a_region_alone_is_a_frame_of_its_own) {
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

// A region that reaches beyond the frame is one of a frame with a border of the padding colour,
// whose picture is what lies within. Sizes are such that no pixel is cut in two.
DVNN_TEST(beyond_the_frame_is_the_padding_colour) {
  constexpr int kWidth = 24, kHeight = 16, kBorder = 24;
  constexpr int kWide = kWidth + 2 * kBorder, kHigh = kHeight + 2 * kBorder;
  std::mt19937 random(53);
  const frames::Frame frame = frames::make_frame(PixelFormat::kRgb, kWidth, kHeight, &random);
  std::vector<uint8_t> pixels(3 * kWide * kHigh);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(10 + i % 3);
  for (int y = 0; y < kHeight; ++y) {
    std::copy_n(frame.view.planes[0] + y * frame.view.strides[0], 3 * kWidth,
                &pixels[static_cast<size_t>(3 * ((y + kBorder) * kWide + kBorder))]);
  }
  FrameView bordered;
  bordered.planes[0] = pixels.data();
  bordered.strides[0] = 3 * kWide;
  const Rectangle parts[] = {{-8, -8, 16, 16}, {16, 8, 16, 16}, {-24, -16, 72, 48},
                             {0, 0, 48, 32},   {8, -16, 8, 48}, {-12, 4, 36, 4}};
  for (const Rectangle& part : parts) {
    for (int turned = 0; turned <= static_cast<int>(Orientation::kAnti); ++turned) {
      for (const bool transposed : {false, true}) {
        InputSpec picture;
        picture.method = ResizeMethod::kNearest;
        picture.transposed = transposed;
        picture.pad_value = {{10, 11, 12}};
        View beyond, within;
        beyond.orientation = within.orientation = static_cast<Orientation>(turned);
        beyond.region = {double(part.x) / kWidth, double(part.y) / kHeight,
                         double(part.width) / kWidth, double(part.height) / kHeight};
        within.region = {double(part.x + kBorder) / kWide, double(part.y + kBorder) / kHigh,
                         double(part.width) / kWide, double(part.height) / kHigh};
        for (const ResizeRule rule : {ResizeRule::kStretch, ResizeRule::kLetterbox,
                                      ResizeRule::kLetterboxTopLeft, ResizeRule::kCrop}) {
          picture.resize = rule;
          const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 144, 144}};
          auto one = Converter::create(format_of(PixelFormat::kRgb, kWidth, kHeight), desc, picture,
                                       beyond);
          auto other =
              Converter::create(format_of(PixelFormat::kRgb, kWide, kHigh), desc, picture, within);
          ck_assert(one.ok() && other.ok());
          std::vector<uint8_t> have(3 * 144 * 144), want(have.size());
          one.value()->convert(frame.view, have.data());
          other.value()->convert(bordered, want.data());
          ck_assert_msg(have == want, "%d,%d %dx%d, orientation %d, %s%s", part.x, part.y,
                        part.width, part.height, turned, to_string(rule),
                        transposed ? ", transposed" : "");
          const Corners place = other.value()->transform().invert({3, 3, 9, 5});
          expect_corners(
              one.value()->transform().invert({3, 3, 9, 5}),
              {place.x0 - kBorder, place.y0 - kBorder, place.x1 - kBorder, place.y1 - kBorder});
        }
      }
    }
  }
}

DVNN_TEST(a_transposed_picture_has_columns_for_rows) {
  std::mt19937 random(59);
  const frames::Frame frame = frames::make_frame(PixelFormat::kNv12, 50, 40, &random);
  const FrameFormat format = format_of(PixelFormat::kNv12, 50, 40);
  Slant slant;
  slant.x0 = 0.1, slant.y0 = 0.3, slant.x1 = 0.7, slant.y1 = -0.1, slant.x2 = 0.3, slant.y2 = 0.9;
  for (const bool oriented : {false, true}) {
    View view;
    if (oriented) view.slant = slant;
    InputSpec picture;
    const TensorDesc upright = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 30}},
                     turned = {ElementType::kUint8, Layout::kNhwc, {1, 3, 30, 20}};
    auto plain = Converter::create(format, upright, picture, view);
    picture.transposed = true;
    auto transposed = Converter::create(format, turned, picture, view);
    ck_assert(plain.ok() && transposed.ok());
    std::vector<uint8_t> want(1800), have(1800);
    plain.value()->convert(frame.view, want.data());
    transposed.value()->convert(frame.view, have.data());
    for (size_t y = 0; y < 20; ++y) {
      for (size_t x = 0; x < 30; ++x) {
        for (size_t c = 0; c < 3; ++c) {
          // Sums along the other axis first round elsewhere.
          const int near = have[3 * (20 * x + y) + c] - want[3 * (30 * y + x) + c];
          ck_assert_int_le(std::abs(near), 1);
        }
      }
    }
    double x = 7, y = 4;
    transposed.value()->transform().invert(&x, &y);
    double same_x = 4, same_y = 7;
    plain.value()->transform().invert(&same_x, &same_y);
    ck_assert_double_eq_tol(x, same_x, 1e-9);
    ck_assert_double_eq_tol(y, same_y, 1e-9);
  }
}

// One converter, frame after frame, whatever of them it looks at.
DVNN_TEST(pixels_of_16_bits_are_converted_as_their_32_bits) {
  std::mt19937 random(5);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (const PixelFormat format : {PixelFormat::kRgb16, PixelFormat::kBgr16}) {
    for (int round = 0; round < 60; ++round) {
      const int width = 1 + below(90), height = 1 + below(60);
      View view;
      view.region = {0.2 * below(3), 0.2 * below(3), 0.2 + 0.2 * below(3), 0.2 + 0.2 * below(3)};
      view.orientation = static_cast<Orientation>(below(8));
      view.method = static_cast<ResizeMethod>(below(3));
      if (round % 4 == 3) view.slant = Slant{0.2, 0.3, 0.8, 0.4, 0.1, 0.9};
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 1 + below(40), 24}};
      auto narrow = Converter::create(format_of(format, width, height), desc, InputSpec(), view);
      auto wide =
          Converter::create(format_of(PixelFormat::kRgbx, width, height), desc, InputSpec(), view);
      ck_assert(narrow.ok() && wide.ok());
      for (int frames = 0; frames < 3; ++frames) {
        const frames::Frame from = frames::make_frame(format, width, height, &random);
        frames::Frame to = frames::make_frame(PixelFormat::kRgbx, width, height, &random);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            uint8_t* pixel = &to.planes[0][static_cast<size_t>(y * to.view.strides[0] + 4 * x)];
            for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(from.sample(c, x, y));
          }
        }
        std::vector<uint8_t> have(narrow.value()->bytes()), want(have.size());
        narrow.value()->convert(from.view, have.data());
        wide.value()->convert(to.view, want.data());
        ck_assert(have == want);
      }
    }
  }
}

// Under UndefinedBehaviorSanitizer: no sample of 16 bits is read as one that is aligned.
DVNN_TEST(rows_may_begin_at_any_address) {
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

// A converter may keep rows of a frame until its next one.
DVNN_TEST(no_frame_has_rows_of_the_one_before) {
  std::mt19937 random(5);
  for (PixelFormat f : frames::all_formats()) {
    for (ResizeMethod method :
         {ResizeMethod::kBilinear, ResizeMethod::kNearest, ResizeMethod::kArea}) {
      const frames::Frame first = frames::make_frame(f, 12, 2, &random);
      const frames::Frame second = frames::make_frame(f, 12, 2, &random);
      View view;
      view.method = method;
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 9, 16}};
      auto used = Converter::create(format_of(f, 12, 2), desc, InputSpec(), view);
      auto fresh = Converter::create(format_of(f, 12, 2), desc, InputSpec(), view);
      ck_assert(used.ok() && fresh.ok());
      std::vector<uint8_t> have(432), want(432);
      used.value()->convert(first.view, have.data());
      used.value()->convert(second.view, have.data());
      fresh.value()->convert(second.view, want.data());
      ck_assert(have == want);
    }
  }
}

// A fuzzer found tensors of one column and 32,767 rows, each of which read whole rows of a wide
// frame again: 3 s a frame. Rows that were read once may change meanwhile here.
DVNN_TEST(rows_that_an_enlarged_area_shares_are_read_once) {
  constexpr int kWidth = 40, kRows = 2, kColumns = 3, kResults = 50;
  std::vector<uint8_t> pixels(kWidth * kRows);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  AxisMapping x, y;
  x.source_size = kWidth, x.target_size = kColumns;
  x.set_plane(1, 0, kWidth);
  y.source_size = kRows, y.target_size = kResults;
  y.set_plane(1, 0, kRows);
  const FormatInfo gray = format_info(PixelFormat::kGray8);
  AreaTable table;
  table.prepare({gray.component[0]}, x, y, kWidth);
  ck_assert_uint_eq(table.lanes(), kColumns);
  const PlaneRows plane = {pixels.data(), kWidth};
  const auto results = [&] {
    std::vector<float> all(kColumns * kResults);
    for (int r = 0; r < kResults; ++r) table.row(plane, r, &all[static_cast<size_t>(r * kColumns)]);
    return all;
  };
  const std::vector<float> before = results();
  std::fill(pixels.begin(), pixels.end(), uint8_t{0});
  ck_assert(results() == before);
  table.forget();
  ck_assert(results() == std::vector<float>(before.size(), 0));
}

DVNN_TEST(impossible_requests_are_refused) {
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
  ck_assert(refused_region({1.0, 0, 0.6, 1}));
  ck_assert(refused_region({0, 0, 0, 1}));
  ck_assert(refused_region({0, 0, 1, NAN}));
  ck_assert(refused_region({-2, 0, 1.5, 1}));
  ck_assert(refused_region({0, 0, 1e9, 1e9}));
  bad.quant_scale = 0;
  ck_assert(refused(frame, good, bad));
}

}  // namespace dvnn::test::converter_tests
