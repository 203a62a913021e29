// SPDX-License-Identifier: Apache-2.0
// What OpenCV makes of the same pictures. Bilinear and nearest resampling give the very bytes of
// cv::resize, which is what models were trained and evaluated with; area resampling is within a
// level. Oriented regions are what cv::warpAffine makes of them.
#include <cmath>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <random>
#include <vector>

#include "check_suite.h"
#include "frames.h"
#include "image/converter.h"
#include "targets.h"

namespace dvnn::test::opencv_tests {

DVNN_SUITE(opencv);

using namespace dvnn::image;

static cv::Mat random_picture(int width, int height, int channels, unsigned seed) {
  cv::Mat picture(height, width, CV_8UC(channels));
  std::mt19937 random(seed);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * channels; ++x) picture.ptr(y)[x] = static_cast<uint8_t>(random());
  }
  return picture;
}

static void compare(int width, int height, int out_w, int out_h, int channels, unsigned seed,
                    ResizeMethod method = ResizeMethod::kBilinear,
                    int interpolation = cv::INTER_LINEAR, int tolerance = 0) {
  const cv::Mat frame = random_picture(width, height, channels, seed);
  cv::Mat want;
  cv::resize(frame, want, {out_w, out_h}, 0, 0, interpolation);
  FrameFormat format;
  format.format = channels == 3 ? PixelFormat::kBgr : PixelFormat::kGray8;
  format.width = width;
  format.height = height;
  InputSpec picture;
  picture.order = channels == 3 ? ChannelOrder::kBgr : ChannelOrder::kGray;
  picture.method = method;
  const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, channels, out_h, out_w}};
  auto converter = Converter::create(format, desc, picture);
  ck_assert(converter.ok());
  std::vector<uint8_t> have(static_cast<size_t>(desc.bytes()));
  FrameView view;
  view.planes[0] = frame.data;
  view.strides[0] = static_cast<int>(frame.step);
  converter.value()->convert(view, have.data());
  for (int y = 0; y < out_h; ++y) {
    for (int x = 0; x < out_w * channels; ++x) {
      const size_t at =
          static_cast<size_t>(y) * static_cast<size_t>(out_w * channels) + static_cast<size_t>(x);
      if (std::abs(have[at] - want.ptr(y)[x]) <= tolerance) continue;
      ck_abort_msg("%dx%dx%d -> %dx%d at %d,%d: %d, OpenCV %d", width, height, channels, out_w,
                   out_h, x, y, have[at], want.ptr(y)[x]);
    }
  }
}

static std::mt19937 g_random;

static int between(int a, int b) {
  return a + static_cast<int>(g_random() % static_cast<unsigned>(b - a + 1));
}

DVNN_TEST(random_sizes_equal_opencv_byte_for_byte) {
  g_random.seed(dvnn_seed(11));
  dvnn::test::on_every_target([](const char*) {
    for (unsigned i = 0; i < static_cast<unsigned>(dvnn_rounds(150)); ++i) {
      compare(between(1, 200), between(1, 200), between(1, 150), between(1, 150), i % 2 ? 3 : 1, i);
    }
  });
}

DVNN_TEST(nearest_equals_opencv_byte_for_byte) {
  g_random.seed(dvnn_seed(12));
  dvnn::test::on_every_target([](const char*) {
    for (unsigned i = 0; i < static_cast<unsigned>(dvnn_rounds(100)); ++i) {
      compare(between(1, 200), between(1, 200), between(1, 150), between(1, 150), i % 2 ? 3 : 1, i,
              ResizeMethod::kNearest, cv::INTER_NEAREST);
    }
  });
}

DVNN_TEST(area_is_within_a_level_of_opencv) {
  // The pictures become smaller both ways: OpenCV has another rule for enlarged ones.
  g_random.seed(dvnn_seed(13));
  for (unsigned i = 0; i < static_cast<unsigned>(dvnn_rounds(100)); ++i) {
    const int w = between(1, 100), h = between(1, 100);
    compare(w + between(0, 200), h + between(0, 200), w, h, i % 2 ? 3 : 1, i, ResizeMethod::kArea,
            cv::INTER_AREA, 1);
  }
}

DVNN_TEST(edge_sizes_equal_opencv_byte_for_byte) {
  const int cases[][4] = {{1, 1, 1, 1},         {1, 1, 9, 7},          {2, 2, 1, 1},
                          {64, 48, 32, 24},     {64, 48, 128, 96},     {33, 17, 33, 17},
                          {640, 480, 300, 300}, {1024, 769, 320, 240}, {3, 500, 300, 2},
                          {37, 21, 37, 21},     {4, 3, 4, 3},          {300, 300, 300, 300},
                          {64, 48, 64, 24},     {64, 48, 32, 48}};
  for (const auto& c : cases) {
    compare(c[0], c[1], c[2], c[3], 3, 1);
    compare(c[0], c[1], c[2], c[3], 1, 2);
  }
}

namespace {

// A parallelogram about `x`, `y`, in pixels: turned, and sheared if asked for.
Slant slant_of(const FrameFormat& frame, double x, double y, double w, double h, double angle,
               double shear) {
  const double c = std::cos(angle), s = std::sin(angle);
  const double rx = w * c, ry = w * s, dx = h * (shear * c - s), dy = h * (shear * s + c);
  const double x0 = x - (rx + dx) / 2, y0 = y - (ry + dy) / 2;
  const double fw = frame.width, fh = frame.height;
  return {x0 / fw, y0 / fh, (x0 + rx) / fw, (y0 + ry) / fh, (x0 + dx) / fw, (y0 + dy) / fh};
}

// The map from the tensor's pixel centres to the frame's.
cv::Mat matrix_of(const FrameFormat& frame, const Slant& s, int width, int height) {
  const double fw = frame.width, fh = frame.height;
  cv::Mat m(2, 3, CV_64F);
  m.at<double>(0, 0) = (s.x1 - s.x0) * fw / width;
  m.at<double>(0, 1) = (s.x2 - s.x0) * fw / height;
  m.at<double>(1, 0) = (s.y1 - s.y0) * fh / width;
  m.at<double>(1, 1) = (s.y2 - s.y0) * fh / height;
  m.at<double>(0, 2) = s.x0 * fw + 0.5 * (m.at<double>(0, 0) + m.at<double>(0, 1)) - 0.5;
  m.at<double>(1, 2) = s.y0 * fh + 0.5 * (m.at<double>(1, 0) + m.at<double>(1, 1)) - 0.5;
  return m;
}

struct Difference {
  int most = 0;
  double mean = 0;
};

Difference difference_of(const std::vector<uint8_t>& have, const cv::Mat& want) {
  Difference d;
  ck_assert_uint_eq(have.size(), want.total() * want.elemSize());
  for (size_t i = 0; i < have.size(); ++i) {
    const int off = std::abs(have[i] - want.data[i]);
    d.most = std::max(d.most, off);
    d.mean += off / static_cast<double>(have.size());
  }
  return d;
}

}  // namespace

DVNN_TEST(an_oriented_region_is_what_warp_affine_makes_of_it) {
  test::on_every_target([](const char* target) {
    std::mt19937 random(dvnn_seed(17));
    std::uniform_real_distribution<double> any(0, 1);
    for (int round = 0; round < dvnn_rounds(200); ++round) {
      FrameFormat format;
      format.format = PixelFormat::kBgr;
      format.width = 8 + static_cast<int>(200 * any(random));
      format.height = 8 + static_cast<int>(200 * any(random));
      cv::Mat picture(format.height, format.width, CV_8UC3);
      for (int y = 0; y < picture.rows; ++y) {
        for (int x = 0; x < 3 * picture.cols; ++x) {
          picture.ptr(y)[x] = static_cast<uint8_t>(random());
        }
      }
      const int width = 1 + static_cast<int>(120 * any(random));
      const int height = 1 + static_cast<int>(120 * any(random));
      View view;
      // Also beyond the frame's edges, enlarged and shrunk.
      view.slant =
          slant_of(format, format.width * (1.2 * any(random) - 0.1),
                   format.height * (1.2 * any(random) - 0.1), 2 + 1.5 * format.width * any(random),
                   2 + 1.5 * format.height * any(random), 6.3 * any(random),
                   round % 3 == 0 ? any(random) : 0);
      InputSpec input;
      input.order = round % 2 ? ChannelOrder::kBgr : ChannelOrder::kRgb;
      input.pad_value = {{10, 100, 200}};
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, height, width}};
      auto converter = Converter::create(format, desc, input, view);
      ck_assert_msg(converter.ok(), "%s", converter.ok() ? "" : converter.error().message.c_str());
      std::vector<uint8_t> have(static_cast<size_t>(desc.bytes()));
      FrameView frame;
      frame.planes[0] = picture.data;
      frame.strides[0] = static_cast<int>(picture.step);
      converter.value()->convert(frame, have.data());
      cv::Mat want, source = picture;
      if (input.order == ChannelOrder::kRgb) cv::cvtColor(picture, source, cv::COLOR_BGR2RGB);
      cv::warpAffine(source, want, matrix_of(format, *view.slant, width, height), {width, height},
                     cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_CONSTANT, {10, 100, 200});
      const Difference off = difference_of(have, want);
      ck_assert_msg(off.most <= 1, "%s, round %d, %d x %d: %d levels", target, round, width, height,
                    off.most);
      // The corners are where the slant says.
      double x = 0, y = 0;
      converter.value()->transform().invert(&x, &y);
      ck_assert_double_eq_tol(x, view.slant->x0 * format.width, 1e-6);
      ck_assert_double_eq_tol(y, view.slant->y0 * format.height, 1e-6);
      x = width, y = 0;
      converter.value()->transform().invert(&x, &y);
      ck_assert_double_eq_tol(x, view.slant->x1 * format.width, 1e-6);
      x = 0, y = height;
      converter.value()->transform().invert(&x, &y);
      ck_assert_double_eq_tol(y, view.slant->y2 * format.height, 1e-6);
    }
  });
}

// Frames of other formats are converted first: then it is the same as of their pixels.
DVNN_TEST(every_format_can_be_oriented) {
  std::mt19937 random(23);
  for (const PixelFormat pixels : frames::all_formats()) {
    for (const int crop : {0, 5}) {
      FrameFormat format;
      format.format = pixels;
      format.width = 61;
      format.height = 50;
      const frames::Frame frame = frames::make_frame(pixels, 61, 50, &random);
      if (crop > 0)
        format.crop_x = crop, format.crop_y = 7, format.crop_width = 40, format.crop_height = 30;
      FrameFormat shown = format;
      if (crop > 0) shown.width = 40, shown.height = 30, shown.crop_width = 0;
      const InputSpec input;
      const TensorDesc all = {
          ElementType::kUint8, Layout::kNhwc, {1, 3, shown.height, shown.width}};
      auto plain = Converter::create(format, all, input);
      cv::Mat picture(shown.height, shown.width, CV_8UC3);
      plain.value()->convert(frame.view, picture.data);
      View view;
      view.slant = slant_of(shown, shown.width / 2.0, shown.height / 2.0, 30, 24, 0.4, 0);
      const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 20, 25}};
      auto converter = Converter::create(format, desc, input, view);
      ck_assert(converter.ok());
      std::vector<uint8_t> have(1500);
      converter.value()->convert(frame.view, have.data());
      cv::Mat want;
      cv::warpAffine(picture, want, matrix_of(shown, *view.slant, 25, 20), {25, 20},
                     cv::INTER_LINEAR | cv::WARP_INVERSE_MAP);
      const Difference off = difference_of(have, want);
      ck_assert_msg(off.most <= 1, "format %d: %d levels", static_cast<int>(pixels), off.most);
    }
  }
}

DVNN_TEST(an_upright_slant_is_the_region) {
  // Both are of the same size, so they only copy.
  std::mt19937 random(29);
  FrameFormat format;
  format.width = 64;
  format.height = 48;
  const frames::Frame frame = frames::make_frame(PixelFormat::kRgb, 64, 48, &random);
  View region, slant;
  region.region = {0.25, 0.25, 0.5, 0.5};
  slant.slant = Slant{0.25, 0.25, 0.75, 0.25, 0.25, 0.75};
  for (const ChannelOrder order : {ChannelOrder::kRgb, ChannelOrder::kGray}) {
    InputSpec input;
    input.order = order;
    const int channels = order == ChannelOrder::kGray ? 1 : 3;
    const TensorDesc desc = {ElementType::kFloat32, Layout::kNchw, {1, channels, 24, 32}};
    std::vector<uint8_t> a(static_cast<size_t>(desc.bytes())), b(a.size());
    Converter::create(format, desc, input, region).value()->convert(frame.view, a.data());
    Converter::create(format, desc, input, slant).value()->convert(frame.view, b.data());
    ck_assert(a == b);
  }
}

DVNN_TEST(what_cannot_be_oriented_is_refused) {
  FrameFormat format;
  format.width = format.height = 32;
  const TensorDesc desc = {ElementType::kUint8, Layout::kNhwc, {1, 3, 8, 8}};
  const double nan = std::nan("");
  for (const Slant& wrong : {Slant{0, 0, 1, 1, 0.5, 0.5}, Slant{0, 0, 0, 0, 0, 0},
                             Slant{0, 0, 1e5, 0, 0, 1}, Slant{nan, 0, 1, 0, 0, 1}}) {
    View view;
    view.slant = wrong;
    ck_assert(!Converter::create(format, desc, InputSpec(), view).ok());
  }
  // One that lies beside the frame shows the padding colour.
  View view;
  view.slant = Slant{2, 2, 3, 2, 2, 3};
  InputSpec input;
  input.pad_value = {{1, 2, 3}};
  auto converter = Converter::create(format, desc, input, view);
  std::vector<uint8_t> frame(32 * 32 * 3, 99), out(192);
  FrameView pixels;
  pixels.planes[0] = frame.data();
  pixels.strides[0] = 96;
  converter.value()->convert(pixels, out.data());
  for (size_t i = 0; i < out.size(); ++i) ck_assert_uint_eq(out[i], i % 3 + 1);
}

}  // namespace dvnn::test::opencv_tests
