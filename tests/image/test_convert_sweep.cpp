// SPDX-License-Identifier: Apache-2.0
// Every format with every method, layout and element type, other settings at random, on every
// instruction set that this CPU has, against double precision.
#include <cstdio>

#include "check_suite.h"
#include "reference.h"
#include "targets.h"
#include "tensor/half.h"

namespace dvnn::test::convert_sweep_tests {

DVNN_SUITE(convert_sweep);

using namespace dvnn::image;
using frames::Frame;

using reference::Request;

namespace {

std::mt19937 g_random;

int between(int a, int b) {
  return a + static_cast<int>(g_random() % static_cast<unsigned>(b - a + 1));
}

double fraction() {
  return static_cast<double>(g_random() % 1000) / 1000;
}

Request random_picture(ResizeMethod method) {
  Request p;
  p.method = method;
  p.order = static_cast<ChannelOrder>(between(0, 2));
  p.resize = static_cast<ResizeRule>(between(0, 3));
  p.view.orientation = static_cast<Orientation>(between(0, 7));
  for (size_t c = 0; c < 3; ++c) {
    p.mean[c] = static_cast<float>(between(-20, 140));
    p.scale[c] = static_cast<float>(between(1, 300)) / 128.0f;
    p.pad_value[c] = static_cast<uint8_t>(between(0, 255));
  }
  if (between(0, 1)) {  // one rule for all channels, which has a way of its own
    p.mean.fill(p.mean[0]);
    p.scale.fill(p.scale[0]);
  }
  if (between(0, 1)) {
    p.view.region.x = fraction() * 0.9;
    p.view.region.y = fraction() * 0.9;
    p.view.region.width = (1 - p.view.region.x) * (0.1 + 0.9 * fraction());
    p.view.region.height = (1 - p.view.region.y) * (0.1 + 0.9 * fraction());
  }
  p.quant_scale = static_cast<float>(between(1, 40)) / 16.0f;
  p.zero_point = between(-20, 20);
  return p;
}

Frame random_frame(PixelFormat format, int most) {
  Frame frame = frames::make_frame(format, between(1, most), between(1, most), &g_random);
  FrameFormat& f = frame.format;
  f.matrix = static_cast<Matrix>(between(0, 2));
  f.full_range = between(0, 1);
  if (between(0, 3) == 0) f.par_n = between(1, 3), f.par_d = between(1, 3);
  if (between(0, 3) == 0) {
    f.crop_x = between(0, f.width - 1);
    f.crop_y = between(0, f.height - 1);
    f.crop_width = between(1, f.width - f.crop_x);
    f.crop_height = between(1, f.height - f.crop_y);
  }
  return frame;
}

// Converts into memory that ends with the tensor, with guards around it.
std::vector<float> convert(const Frame& frame, const TensorDesc& desc, const Request& p) {
  auto converter = Converter::create(frame.format, desc, p, p.view);
  ck_assert(converter.ok());
  constexpr size_t kGuard = 64;
  const size_t bytes = static_cast<size_t>(desc.bytes());
  std::vector<uint8_t> memory(bytes + 2 * kGuard, 0xee);
  converter.value()->convert(frame.view, memory.data() + kGuard);
  auto guard = [&](size_t from) {
    return std::all_of(memory.begin() + static_cast<ptrdiff_t>(from),
                       memory.begin() + static_cast<ptrdiff_t>(from + kGuard),
                       [](uint8_t b) { return b == 0xee; });
  };
  ck_assert(guard(0) && guard(kGuard + bytes));
  std::vector<float> values(static_cast<size_t>(desc.shape.elements()));
  read_nchw({desc, memory.data() + kGuard}, values.data());
  return values;
}

int g_format = 0;  // of the case

// Checks an element within what it may differ by: levels, and its own rounding (binary16 has 11
// significand bits).
void check_element(double level, float have, size_t c, ElementType type, const Request& p,
                   double levels = 1) {
  const double value = (level - double{p.mean[c]}) * double{p.scale[c]};
  double want = value, tolerance = levels * double{p.scale[c]};
  if (type == ElementType::kFloat16) tolerance += std::fabs(value) / 2048;
  if (type == ElementType::kUint8 || type == ElementType::kInt8) {
    const double least = type == ElementType::kInt8 ? -128 : 0;
    want = std::clamp(value / double{p.quant_scale} + p.zero_point, least, least + 255);
    tolerance = tolerance / double{p.quant_scale} + 0.5;
  }
  // Check writes a file at every assertion: only those that fail are made.
  if (std::fabs(double{have} - want) <= tolerance + 1e-3) return;
  ck_abort_msg("format %d: have %g, want %g within %g", g_format, double{have}, want, tolerance);
}

void check_case(PixelFormat format, ResizeMethod method, Layout layout, ElementType type,
                int most) {
  g_format = static_cast<int>(format);
  const Frame frame = random_frame(format, most);
  const Request p = random_picture(method);
  const int channels = p.order == ChannelOrder::kGray ? 1 : 3;
  const Shape shape = {1, channels, between(1, most), between(1, most)};
  const std::vector<float> have = convert(frame, {type, layout, shape}, p);
  const std::vector<double> want = reference::levels(frame, p, shape);
  const size_t plane = want.size() / static_cast<size_t>(channels);
  // Gray is made of a resized picture's levels and rounded again.
  const bool twice = channels == 1 && !frames::is_yuv(format) && !frames::is_gray(format);
  const double levels = twice ? 1.5 : 1;
  for (size_t i = 0; i < want.size(); ++i) {
    check_element(want[i], have[i], i / plane, type, p, levels);
  }
}

void sweep(unsigned seed, int rounds) {
  g_random.seed(dvnn_seed(seed));
  for (int round = 0; round < rounds; ++round) {
    for (PixelFormat format : frames::all_formats()) {
      for (ResizeMethod method :
           {ResizeMethod::kBilinear, ResizeMethod::kNearest, ResizeMethod::kArea}) {
        for (int layout = 0; layout <= static_cast<int>(Layout::kHwc8); ++layout) {
          const auto type = static_cast<ElementType>(between(0, 3));
          check_case(format, method, static_cast<Layout>(layout), type, round % 4 == 3 ? 150 : 40);
        }
      }
    }
  }
}

}  // namespace

DVNN_TEST(all_combinations_are_within_one_level_of_double_precision) {
  sweep(7, dvnn_rounds(20));
}

DVNN_TEST(every_instruction_set_is_within_one_level) {
  dvnn::test::on_every_target([](const char* name) {
    std::printf("%s\n", name);
    sweep(11, 1);
  });
}

DVNN_TEST(elements_of_levels_are_exact) {
  // Nearest sampling of RGB gives whole levels: normalisation and rounding are one formula.
  g_random.seed(dvnn_seed(3));
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    const Frame frame =
        frames::make_frame(PixelFormat::kRgb, between(1, 60), between(1, 60), &g_random);
    Request p = random_picture(ResizeMethod::kNearest);
    if (p.order == ChannelOrder::kGray) p.order = ChannelOrder::kRgb;
    const auto type = static_cast<ElementType>(round % 4);
    const TensorDesc desc = {
        type, static_cast<Layout>(between(0, 4)), {1, 3, between(1, 100), between(1, 100)}};
    const std::vector<float> have = convert(frame, desc, p);
    const std::vector<double> level = reference::levels(frame, p, desc.shape);
    const size_t plane = level.size() / 3;
    for (size_t i = 0; i < level.size(); ++i) {
      const size_t c = i / plane;
      const float value = (static_cast<float>(level[i]) - p.mean[c]) * p.scale[c];
      bool same = true;
      if (type == ElementType::kFloat32) {
        same = have[i] == value;
      } else if (type == ElementType::kFloat16) {
        same = have[i] == half_to_float(float_to_half(value));
      } else {
        // The quotient as a product: half a unit in the last place may decide a tie.
        check_element(level[i], have[i], c, type, p);
        const double exact = double{value} / double{p.quant_scale} + p.zero_point;
        const double least = type == ElementType::kInt8 ? -128 : 0;
        same = std::fabs(double{have[i]} - std::clamp(exact, least, least + 255)) <= 0.5001;
      }
      if (!same) ck_abort_msg("element %zu: %g", i, double{have[i]});
    }
  }
}

DVNN_TEST(boxes_come_back_within_a_pixel) {
  // A box of the frame, put into the tensor's whole pixels and mapped back.
  g_random.seed(dvnn_seed(5));
  for (int round = 0; round < dvnn_rounds(2000); ++round) {
    Frame frame;
    FrameFormat& f = frame.format;
    f.width = between(1, 8000);
    f.height = between(1, 8000);
    Request p = random_picture(ResizeMethod::kBilinear);
    p.order = ChannelOrder::kRgb;
    const Shape shape = {1, 3, between(1, 1000), between(1, 1000)};
    auto converter = Converter::create(f, {ElementType::kFloat16, Layout::kNwhc, shape}, p, p.view);
    ck_assert(converter.ok());
    const Transform& t = converter.value()->transform();
    const double x = fraction() * f.width, y = fraction() * f.height;
    const double w = fraction() * (f.width - x), h = fraction() * (f.height - y);
    auto forward = [](double at, double scale, double offset) { return scale * at + offset; };
    const double u0 = forward(t.swap_xy ? y : x, t.scale_x, t.offset_x);
    const double u1 = forward(t.swap_xy ? y + h : x + w, t.scale_x, t.offset_x);
    const double v0 = forward(t.swap_xy ? x : y, t.scale_y, t.offset_y);
    const double v1 = forward(t.swap_xy ? x + w : y + h, t.scale_y, t.offset_y);
    const Corners c =
        t.invert({std::min(u0, u1), std::min(v0, v1), std::max(u0, u1), std::max(v0, v1)});
    // "Within a source pixel"; arithmetic alone is much better.
    ck_assert_double_eq_tol(c.x0, x, 1e-6);
    ck_assert_double_eq_tol(c.y0, y, 1e-6);
    ck_assert_double_eq_tol(c.x1, x + w, 1e-6);
    ck_assert_double_eq_tol(c.y1, y + h, 1e-6);
  }
}

DVNN_TEST(a_drawn_box_is_found_where_it_was_drawn) {
  // A white box on black: its place in the tensor, mapped back, is its place in the frame, to the
  // size of a tensor pixel there.
  g_random.seed(dvnn_seed(6));
  for (int round = 0; round < dvnn_rounds(300); ++round) {
    Frame frame =
        frames::make_frame(PixelFormat::kGray8, between(60, 300), between(60, 300), &g_random);
    std::fill(frame.planes[0].begin(), frame.planes[0].end(), uint8_t{0});
    const FrameFormat& f = frame.format;
    const int w = between(20, f.width / 2), h = between(20, f.height / 2);
    const int x = between(0, f.width - w), y = between(0, f.height - h);
    for (int row = y; row < y + h; ++row) {
      for (int column = x; column < x + w; ++column) {
        frame.planes[0][static_cast<size_t>(row * frame.view.strides[0] + column)] = 255;
      }
    }
    Request p;
    p.order = ChannelOrder::kGray;
    p.view.orientation = static_cast<Orientation>(round % 8);
    p.resize = round % 2 ? ResizeRule::kLetterbox : ResizeRule::kStretch;
    const Shape shape = {1, 1, between(40, 300), between(40, 300)};
    auto converter =
        Converter::create(frame.format, {ElementType::kUint8, Layout::kNchw, shape}, p, p.view);
    std::vector<uint8_t> out(static_cast<size_t>(shape.elements()));
    converter.value()->convert(frame.view, out.data());
    Corners seen = {1e9, 1e9, -1e9, -1e9};
    for (int ty = 0; ty < shape.h(); ++ty) {
      for (int tx = 0; tx < shape.w(); ++tx) {
        if (out[static_cast<size_t>(ty * shape.w() + tx)] < 128) continue;
        seen = {std::min<double>(seen.x0, tx), std::min<double>(seen.y0, ty),
                std::max<double>(seen.x1, tx + 1), std::max<double>(seen.y1, ty + 1)};
      }
    }
    const Transform& t = converter.value()->transform();
    const Corners c = t.invert(seen);
    const double px = 1 / std::fabs(t.swap_xy ? t.scale_y : t.scale_x) + 1;
    const double py = 1 / std::fabs(t.swap_xy ? t.scale_x : t.scale_y) + 1;
    ck_assert_double_eq_tol(c.x0, x, px);
    ck_assert_double_eq_tol(c.x1, x + w, px);
    ck_assert_double_eq_tol(c.y0, y, py);
    ck_assert_double_eq_tol(c.y1, y + h, py);
  }
}

}  // namespace dvnn::test::convert_sweep_tests
