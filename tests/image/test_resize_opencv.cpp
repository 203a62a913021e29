// SPDX-License-Identifier: Apache-2.0
// Bilinear and nearest resampling give the very bytes of cv::resize, which is what models were
// trained and evaluated with; area resampling is within a level.
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <random>
#include <vector>

#include "check_suite.h"
#include "image/converter.h"
#include "targets.h"

namespace dvnn::test::resize_opencv_tests {

DVNN_SUITE(resize_opencv);

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

}  // namespace dvnn::test::resize_opencv_tests
