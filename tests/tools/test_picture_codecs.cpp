// SPDX-License-Identifier: Apache-2.0
// A build without OpenCV reads pictures by gdk-pixbuf, to the same pixels: both modules are loaded
// and compared on files that OpenCV writes.
#include <dlfcn.h>
#include <zlib.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <random>

#include "check_suite.h"
#include "tools/picture_codec.h"

namespace dvnn::test::picture_codec_tests {

DVNN_SUITE(picture_codecs);

using Bytes = std::vector<uint8_t>;
using tools::Bitmap;

static tools::PictureCodec load(const char* path) {
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(module, "%s", dlerror());
  tools::PictureCodec codec{};
  codec.decode = reinterpret_cast<decltype(codec.decode)>(dlsym(module, tools::kDecodePicture));
  codec.encode_png = reinterpret_cast<decltype(codec.encode_png)>(dlsym(module, tools::kEncodePng));
  ck_assert(codec.decode && codec.encode_png);
  return codec;
}

static const tools::PictureCodec& opencv() {
  static const tools::PictureCodec codec = load(DVNN_OPENCV_CODEC);
  return codec;
}
static const tools::PictureCodec& pixbuf() {
  static const tools::PictureCodec codec = load(DVNN_PIXBUF_CODEC);
  return codec;
}

static Bitmap decode(const tools::PictureCodec& codec, const Bytes& file) {
  Bitmap picture;
  std::string problem;
  codec.decode(file, &picture, &problem);
  ck_assert_msg(problem.empty(), "%s", problem.c_str());
  return picture;
}

// Smooth, so that a lossy format keeps it, with some noise.
static cv::Mat drawn(int type) {
  constexpr int kWidth = 61, kHeight = 37;  // no multiple of any block
  cv::Mat picture(kHeight, kWidth, type);
  std::mt19937 random(7);
  const int channels = picture.channels();
  const bool wide = picture.depth() == CV_16U;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth * channels; ++x) {
      const auto value =
          static_cast<uint8_t>((x * 3 + y * 5 + (x % channels) * 50 + random() % 9) % 256);
      // Low bytes by which rounding would differ from leaving them out.
      if (wide) picture.ptr<uint16_t>(y)[x] = static_cast<uint16_t>(value << 8 | random() % 256);
      if (!wide) picture.ptr(y)[x] = value;
    }
  }
  return picture;
}

static Bytes encoded(const char* as, const cv::Mat& picture) {
  Bytes file;
  ck_assert(cv::imencode(as, picture, file));
  return file;
}

static void expect_same(const Bytes& file, const char* what) {
  const Bitmap wanted = decode(opencv(), file), got = decode(pixbuf(), file);
  ck_assert_msg(wanted.width > 1 && wanted.channels == 3, "%s is not read by OpenCV", what);
  ck_assert_msg(got.width == wanted.width && got.height == wanted.height && got.channels == 3,
                "%s: %d x %d x %d, not %d x %d", what, got.width, got.height, got.channels,
                wanted.width, wanted.height);
  for (size_t i = 0; i < wanted.bytes.size(); ++i) {
    ck_assert_msg(got.bytes[i] == wanted.bytes[i], "%s: byte %zu is %d, not %d", what, i,
                  got.bytes[i], wanted.bytes[i]);
  }
}

DVNN_TEST(files_are_read_to_the_same_pixels) {
  for (const char* as : {".png", ".bmp", ".jpg", ".ppm", ".tiff"}) {
    expect_same(encoded(as, drawn(CV_8UC3)), as);
  }
  expect_same(encoded(".png", drawn(CV_8UC1)), "a gray PNG");
  expect_same(encoded(".jpg", drawn(CV_8UC1)), "a gray JPEG");
  expect_same(encoded(".png", drawn(CV_8UC4)), "a PNG with alpha");
  expect_same(encoded(".png", drawn(CV_16UC3)), "a PNG of 16 bits");
  expect_same(encoded(".png", drawn(CV_16UC1)), "a gray PNG of 16 bits");
}

// A segment of a JPEG with the one field that says how the camera was held.
static Bytes turned(Bytes jpeg, uint8_t orientation) {
  const Bytes exif = {0xff, 0xe1, 0, 34, 'E',         'x', 'i', 'f', 0, 0, 'I', 'I',
                      42,   0,    8, 0,  0,           0,   1,   0,  // one field:
                      0x12, 1,    3, 0,  // orientation, a number of 16 bits
                      1,    0,    0, 0,  orientation, 0,   0,   0,   0, 0, 0,   0};
  jpeg.insert(jpeg.begin() + 2, exif.begin(), exif.end());
  return jpeg;
}

DVNN_TEST(pictures_are_turned_as_cameras_say) {
  const Bytes upright = encoded(".jpg", drawn(CV_8UC3));
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    const Bytes file = turned(upright, orientation);
    expect_same(file, ("orientation " + std::to_string(orientation)).c_str());
    ck_assert_int_eq(decode(pixbuf(), file).width, orientation < 5 ? 61 : 37);
  }
}

// Both readers fill up what a camera did not send, each in its way.
DVNN_TEST(photographs_that_end_early_are_read_as_far_as_they_go) {
  Bytes file = encoded(".jpg", drawn(CV_8UC3));
  file.resize(file.size() * 9 / 10);
  const Bitmap wanted = decode(opencv(), file), got = decode(pixbuf(), file);
  ck_assert(got.width == wanted.width && got.height == wanted.height);
  ck_assert_mem_eq(got.bytes.data(), wanted.bytes.data(), wanted.bytes.size() / 2);
}

DVNN_TEST(written_files_are_read_as_they_were) {
  for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4}) {
    const cv::Mat picture = drawn(type);
    Bitmap given(picture.cols, picture.rows, picture.channels());
    given.bytes.assign(picture.datastart, picture.dataend);
    for (const tools::PictureCodec* codec : {&opencv(), &pixbuf()}) {
      Bytes file;
      ck_assert(codec->encode_png(given, &file));
      const cv::Mat read =
          cv::imdecode(file, given.channels == 1 ? cv::IMREAD_GRAYSCALE : cv::IMREAD_UNCHANGED);
      ck_assert_int_eq(read.type(), type);
      ck_assert_mem_eq(read.data, given.bytes.data(), given.bytes.size());
    }
  }
}

DVNN_TEST(what_is_no_picture_is_none) {
  for (const tools::PictureCodec* codec : {&opencv(), &pixbuf()}) {
    const std::string text = "no picture at all, but a sentence that is longer than any signature.";
    ck_assert(decode(*codec, {text.begin(), text.end()}).bytes.empty());
  }
}

static void put(Bytes* to, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to->push_back(static_cast<uint8_t>(number >> shift));
}
static void put_chunk(Bytes* to, const std::string& kind, const Bytes& data) {
  put(to, static_cast<uint32_t>(data.size()));
  Bytes rest(kind.begin(), kind.end());
  rest.insert(rest.end(), data.begin(), data.end());
  to->insert(to->end(), rest.begin(), rest.end());
  put(to, static_cast<uint32_t>(crc32(0, rest.data(), static_cast<uInt>(rest.size()))));
}

DVNN_TEST(broken_and_endless_pictures_are_refused) {
  for (const char* as : {".png", ".bmp", ".ppm", ".tiff"}) {
    const Bytes whole = encoded(as, drawn(CV_8UC3));
    for (const size_t part : {whole.size() / 4, whole.size() / 2, whole.size() * 9 / 10}) {
      Bitmap picture;
      std::string problem;
      pixbuf().decode({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(part)}, &picture,
                      &problem);
      ck_assert_msg(!problem.empty() && picture.bytes.empty(), "%s, %zu bytes of it", as, part);
    }
  }
  // 14 GB, if it were believed.
  Bytes endless = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  put(&header, 60000);
  put(&header, 60000);
  header.insert(header.end(), {8, 6, 0, 0, 0});
  put_chunk(&endless, "IHDR", header);
  put_chunk(&endless, "IDAT", Bytes(64));
  Bitmap picture;
  std::string problem;
  pixbuf().decode(endless, &picture, &problem);
  ck_assert(problem.find("zero width or height") != std::string::npos);
  ck_assert(picture.bytes.empty());
}

}  // namespace dvnn::test::picture_codec_tests
