// SPDX-License-Identifier: Apache-2.0
// Measures the conversion of frames to tensors on one thread: our single pass, OpenCV's sequence of
// passes, and memory access without computation.
#include <cstdio>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <random>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "base/nth.h"
#include "image/converter.h"
#include "tools/bench/plot.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

using image::FrameView;
using image::PixelFormat;

constexpr int kTensorSize = 300;

struct ConvertCase {
  const char* name;
  PixelFormat format;
  int width, height;
  int rows, row_bytes;    // of all planes together, as one OpenCV matrix
  int opencv_conversion;  // OpenCV's code to BGR, or -1
};

constexpr ConvertCase kCases[] = {
    {"NV12 1920x1080", PixelFormat::kNv12, 1920, 1080, 1620, 1920, cv::COLOR_YUV2BGR_NV12},
    {"I420 1920x1080", PixelFormat::kI420, 1920, 1080, 1620, 1920, cv::COLOR_YUV2BGR_I420},
    {"BGR 1920x1080", PixelFormat::kBgr, 1920, 1080, 1080, 5760, -1},
    {"BGR 300x300", PixelFormat::kBgr, 300, 300, 300, 900, -1},
};

FrameView view_of_case(const ConvertCase& c, const cv::Mat& memory) {
  FrameView view;
  view.planes[0] = memory.data;
  view.strides[0] = c.row_bytes;
  const size_t luma = grid_size(c.width, c.height);
  if (c.format == PixelFormat::kNv12) {
    view.planes[1] = memory.data + luma;
    view.strides[1] = c.width;
  } else if (c.format == PixelFormat::kI420) {
    view.planes[1] = memory.data + luma;
    view.planes[2] = memory.data + luma + luma / 4;
    view.strides[1] = view.strides[2] = c.width / 2;
  }
  return view;
}

// The peer: OpenCV, with a pass each for conversion, resizing, normalisation, transposition and
// rounding.
class Chain {
 public:
  void run(const ConvertCase& c, const cv::Mat& frame) {
    const cv::Mat* bgr = &frame;
    if (c.opencv_conversion >= 0) {
      cv::cvtColor(frame, bgr_, c.opencv_conversion);
      bgr = &bgr_;
    }
    if (c.width != kTensorSize || c.height != kTensorSize) {
      cv::resize(*bgr, small_, {kTensorSize, kTensorSize});
      bgr = &small_;
    }
    bgr->convertTo(real_, CV_32FC3, 1 / 128.0, -1.0);
    cv::transpose(real_, turned_);
    turned_.convertTo(half_, CV_16F);
  }

 private:
  cv::Mat bgr_, small_, real_, turned_, half_;
};

// The limit: memcpy of the source rows that bilinear resampling reads, to a row that stays in the
// cache, and of a tensor from one.
class Stream {
 public:
  void run(const ConvertCase& c, const cv::Mat& frame, std::vector<uint8_t>* tensor) {
    const size_t row_bytes = frame.total() * frame.elemSize() / static_cast<size_t>(frame.rows);
    row_.resize(std::max(row_bytes, tensor->size() / kTensorSize));
    const double step = static_cast<double>(c.height) / kTensorSize;
    for (int y = 0; y < kTensorSize; ++y) {
      const double at = std::max(0.0, (y + 0.5) * step - 0.5);
      read(frame, static_cast<int>(at), c.height, row_bytes);
      if (step > 1) read(frame, static_cast<int>(at) + 1, c.height, row_bytes);
      if (frame.rows > c.height) {
        // Chroma: half as many rows as luma, each of as many bytes for both components together.
        const int chroma = c.height + static_cast<int>(at / 2);
        read(frame, chroma, frame.rows, row_bytes);
        read(frame, chroma + 1, frame.rows, row_bytes);
      }
      const size_t part = tensor->size() / kTensorSize;
      std::memcpy(tensor->data() + static_cast<size_t>(y) * part, row_.data(), part);
    }
  }

 private:
  void read(const cv::Mat& frame, int row, int rows, size_t bytes) {
    std::memcpy(row_.data(), frame.ptr(std::min(row, rows - 1)), bytes);
  }
  std::vector<uint8_t> row_;
};

struct Figures {
  double ours, chain, stream;  // milliseconds
};

Result<Figures> measure(const ConvertCase& c, int frames, int iterations) {
  image::FrameFormat format;
  format.format = c.format;
  format.width = c.width;
  format.height = c.height;
  InputSpec picture;
  picture.order = ChannelOrder::kBgr;
  picture.mean = {{128, 128, 128}};
  picture.scale = {{1 / 128.0f, 1 / 128.0f, 1 / 128.0f}};
  const TensorDesc tensor = {
      ElementType::kFloat16, Layout::kWhc8, {1, 3, kTensorSize, kTensorSize}};
  auto converter = image::Converter::create(format, tensor, picture);
  if (!converter.ok()) return converter.error();
  std::vector<cv::Mat> memory;
  std::mt19937 random(1);
  for (int i = 0; i < frames; ++i) {
    const bool bgr = c.opencv_conversion < 0;
    memory.emplace_back(c.rows, bgr ? c.width : c.row_bytes, bgr ? CV_8UC3 : CV_8UC1);
    for (int y = 0; y < c.rows; ++y) {
      for (int x = 0; x < c.row_bytes; ++x)
        memory.back().ptr(y)[x] = static_cast<uint8_t>(random());
    }
  }
  std::vector<uint8_t> out(tensor.bytes());
  Chain chain;
  Stream stream;
  std::vector<double> times[3];
  constexpr int kWarmUps = 5;
  for (int i = 0; i < iterations + kWarmUps; ++i) {
    const cv::Mat& frame = nth(memory, i % frames);
    // Each contender is the first to touch a frame in turn.
    for (int turn = 0; turn < 3; ++turn) {
      const int which = (i + turn) % 3;
      const double ms = time_ms([&] {
        if (which == 0) converter.value()->convert(view_of_case(c, frame), out.data());
        if (which == 1) chain.run(c, frame);
        if (which == 2) stream.run(c, frame, &out);
      });
      if (i >= kWarmUps) times[which].push_back(ms);
    }
  }
  return Figures{median(times[0]), median(times[1]), median(times[2])};
}

int bench_conversion(const Arguments& arguments) {
  const int iterations = arguments.number("iterations"), frames = arguments.number("frames");
  const bool json = arguments.given("json");
  const Command& command = arguments.command();
  if (!arguments.files().empty()) return wrong_usage(command, "takes no files");
  if (iterations < 1 || frames < 1 || frames > 64) {
    return wrong_usage(command, "--iterations must be positive and --frames 1..64");
  }
  cv::setNumThreads(1);
  if (!json) {
    std::printf("%-16s %10s %10s %10s %14s %14s\n", "frame", "ours ms", "OpenCV ms", "memory ms",
                "OpenCV / ours", "ours / memory");
  }
  BarPlot plot = {"Frames to 300x300x3 FP16 tensors",
                  {"ours", "OpenCV", "memory alone"},
                  {{"Time per frame", {}}}};
  for (const ConvertCase& c : kCases) {
    const auto measured = measure(c, frames, iterations);
    if (!measured.ok()) return fail(measured.error());
    const Figures& f = measured.value();
    plot.panels.front().rows.push_back({c.name, {f.ours, f.chain, f.stream}});
    if (json) {
      const OrderedJson out = {{"frame", c.name},
                               {"ours_ms", f.ours},
                               {"peer", std::string("OpenCV ") + CV_VERSION},
                               {"peer_ms", f.chain},
                               {"memory_ms", f.stream},
                               {"ratio", f.chain / f.ours},
                               {"of_memory", f.ours / f.stream}};
      std::printf("%s\n", json_text(out).c_str());
    } else {
      std::printf("%-16s %10.3f %10.3f %10.3f %14.2f %14.2f\n", c.name, f.ours, f.chain, f.stream,
                  f.chain / f.ours, f.ours / f.stream);
    }
  }
  const Status written = write_plot(arguments.text("plot"), plot);
  return written.ok() ? 0 : fail(written.error());
}

constexpr Option kBenchConvertOptions[] = {
    {"iterations", 'n', Takes::kNumber, "N", "Timed runs", "200"},
    {"frames", 'f', Takes::kNumber, "N",
     "Different frames in memory, taken in turns: several do not fit the caches", "1"},
    kPlotOption,
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object per case"}};

}  // namespace

const Command kBenchConvertCommand = {
    "bench convert",
    "time frame conversion against OpenCV and the memory",
    "",
    "Times conversion of frames to 300x300x3 FP16 tensors (x-major) on one thread: ours, OpenCV's "
    "passes, and memcpy of the source rows that are needed and of the tensor, in turns.",
    kBenchConvertOptions,
    bench_conversion};

}  // namespace dvnn::tools
