// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/pipeline_run.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

#include "base/format.h"
#include "base/json.h"
#include "network/dvn_file.h"
#include "plan/graph/graph.h"
#include "tools/bench/peer.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

constexpr int kRounds = 3;

// One process' run, or why there is none; plain bytes, which go through a pipe.
struct Measured {
  double seconds, cpu_ms, p99_ms;
  double megabytes;  // at its largest, told by the kernel
  char engine[64];
  char problem[512];
};

void copy_text(const std::string& text, char* to, size_t size) {
  to[text.copy(to, size - 1)] = 0;
}

// Runs `work` in a process of its own, so that neither engine has the other's memory and threads.
Result<Measured> in_process(const std::function<Result<Measured>()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return Error{ErrorCode::kIo, "no pipe for a child process"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Measured done = {};
    const auto result = work();
    if (result.ok()) {
      done = result.value();
    } else {
      copy_text(result.error().message, done.problem, sizeof done.problem);
    }
    const bool told = write(ends[1], &done, sizeof done) == sizeof done;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  Measured done = {};
  const bool told = child > 0 && read(ends[0], &done, sizeof done) == sizeof done;
  close(ends[0]);
  rusage used = {};
  int status = 0;
  if (child > 0) wait4(child, &status, 0, &used);
  if (!told) return Error{ErrorCode::kInternal, "a pipeline's process ended without a result"};
  if (done.problem[0]) return Error{ErrorCode::kInternal, done.problem};
  done.megabytes = static_cast<double>(used.ru_maxrss) / 1024;
  return done;
}

// The last picture of a test source again and again, which costs neither side anything; with a
// rate, as a camera sends it.
std::string still_source(const PipelineOptions& o, int stream) {
  return format(
      "videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=%s,width=%d,height=%d ! "
      "imagefreeze num-buffers=%d is-live=%d ! video/x-raw,framerate=%d/1 ! identity "
      "name=first%d ! ",
      o.format.c_str(), o.width, o.height, o.frames, o.rate > 0, o.rate > 0 ? o.rate : 1000,
      stream);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Runs the pipeline of all streams. `attach` is called with each stream's last element.
Result<Measured> run_streams(const std::string& description, int streams, const std::string& engine,
                             const std::function<void(int, GstElement*, Stopwatch*)>& attach) {
  DVNN_ASSIGN(const PipelinePtr pipeline, launch(description));
  std::vector<Stopwatch> watches(static_cast<size_t>(streams));
  for (int i = 0; i < streams; ++i) {
    Stopwatch* watch = &watches[static_cast<size_t>(i)];
    GstElement* first = gst_bin_get_by_name(GST_BIN(pipeline.get()), format("first%d", i).c_str());
    GstElement* last = gst_bin_get_by_name(GST_BIN(pipeline.get()), format("last%d", i).c_str());
    watch->enter_at(first, "src");
    attach(i, last, watch);
    gst_object_unref(first);
    gst_object_unref(last);
  }
  // Networks are loaded and slots are made by then, as the other engine's sessions are.
  gst_element_set_state(pipeline.get(), GST_STATE_READY);
  const double before = processor_ms();
  DVNN_ASSIGN(const double seconds, run_pipeline(pipeline.get(), nullptr));
  Measured done = {};
  done.seconds = seconds;
  done.cpu_ms = processor_ms() - before;
  std::vector<double> all;
  for (const Stopwatch& watch : watches) {
    const std::vector<double> some = watch.milliseconds();
    all.insert(all.end(), some.begin(), some.end());
  }
  done.p99_ms = percentile(std::move(all), 0.99);
  copy_text(engine, done.engine, sizeof done.engine);
  return done;
}

Result<Measured> run_ours(const PipelineOptions& o, int streams) {
  gst_init(nullptr, nullptr);
  std::string description;
  for (int i = 0; i < streams; ++i) {
    description += still_source(o, i) + "dvconvert ! " + dvinfer_of(o) +
                   format(" ! fakesink name=last%d sync=false ", i);
  }
  return run_streams(
      description, streams, "dvconvert ! dvinfer",
      [](int, GstElement* last, Stopwatch* watch) { watch->leave_at(last, "sink"); });
}

// What an application does with a sample of its appsink: the picture's bytes become the model's
// numbers, and the session runs.
struct Application {
  std::unique_ptr<SharedPeer> session;
  const InputSpec* picture;
  int width, height;
  bool planes;  // N, C, H, W; else N, H, W, C
  Stopwatch* watch;
  Status failure;
};

void fill(const uint8_t* pixels, size_t stride, const Application& to) {
  float* const numbers = to.session->input().data();
  const auto width = static_cast<size_t>(to.width), height = static_cast<size_t>(to.height);
  const bool gray = to.picture->order == ChannelOrder::kGray;
  const size_t channels = gray ? 1 : 3;
  for (size_t c = 0; c < channels; ++c) {
    const float mean = to.picture->mean[c], scale = to.picture->scale[c];
    for (size_t y = 0; y < height; ++y) {
      const uint8_t* row = pixels + y * stride + c;
      float* out =
          to.planes ? numbers + (c * height + y) * width : numbers + y * width * channels + c;
      const size_t step = to.planes ? 1 : channels;
      for (size_t x = 0; x < width; ++x) {
        out[x * step] = (static_cast<float>(row[x * channels]) - mean) * scale;
      }
    }
  }
}

GstFlowReturn infer_sample(GstElement* appsink, gpointer data) {
  auto* application = static_cast<Application*>(data);
  GstSample* sample = nullptr;
  g_signal_emit_by_name(appsink, "pull-sample", &sample);
  if (!sample) return GST_FLOW_EOS;
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  GstMapInfo map;
  if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
    // GStreamer's rows begin at multiples of four bytes.
    fill(map.data, map.size / static_cast<size_t>(application->height), *application);
    gst_buffer_unmap(buffer, &map);
    if (Status s = application->session->forward(); !s.ok()) application->failure = s;
  }
  application->watch->leave(GST_BUFFER_PTS(buffer));
  gst_sample_unref(sample);
  return application->failure.ok() ? GST_FLOW_OK : GST_FLOW_ERROR;
}

Result<Measured> run_application(const PipelineOptions& o, const network::Model& network,
                                 const std::string& path, int streams) {
  gst_init(nullptr, nullptr);
  const Shape& shape = network.tensor(network.input.tensor).desc.shape;
  if (!plan::is_picture(shape)) {
    return unsupported("the network's input of " + shape.to_string() +
                       " is no picture, which --peer needs");
  }
  DVNN_ASSIGN(auto first, open_onnxruntime(path, network, 0));
  const std::vector<int64_t> dims = first->input_dims();
  const std::string engine = "appsink, " + first->name();
  std::vector<Application> applications(static_cast<size_t>(streams));
  applications[0].session = std::move(first);
  const char* order = network.input.picture.order == ChannelOrder::kRgb   ? "RGB"
                      : network.input.picture.order == ChannelOrder::kBgr ? "BGR"
                                                                          : "GRAY8";
  std::string description;
  for (int i = 0; i < streams; ++i) {
    Application& one = applications[static_cast<size_t>(i)];
    if (i > 0) {
      DVNN_ASSIGN(one.session, applications[0].session->another());
    }
    DVNN_TRY(one.session->forward());  // dvinfer does its first run before frames come, too
    one.picture = &network.input.picture;
    one.width = static_cast<int>(shape.w());
    one.height = static_cast<int>(shape.h());
    one.planes = dims.size() == 4 && dims[1] == shape.c();
    description +=
        still_source(o, i) + format(
                                 "videoconvertscale ! video/x-raw,format=%s,width=%d,height=%d ! "
                                 "appsink name=last%d emit-signals=true sync=false max-buffers=2 ",
                                 order, one.width, one.height, i);
  }
  DVNN_ASSIGN(
      const Measured done,
      run_streams(description, streams, engine, [&](int i, GstElement* last, Stopwatch* watch) {
        Application& one = applications[static_cast<size_t>(i)];
        one.watch = watch;
        g_signal_connect(last, "new-sample", G_CALLBACK(infer_sample), &one);
      }));
  for (const Application& one : applications) DVNN_TRY(one.failure);
  return done;
}

// Medians of several processes' runs.
struct Row {
  std::string engine;
  double fps, cpu_ms, p99_ms, megabytes;
};

Row row_of(const std::vector<Measured>& rounds, int frames) {
  const auto median_of = [&](auto value) {
    std::vector<double> values;
    for (const Measured& round : rounds) values.push_back(value(round));
    return median(std::move(values));
  };
  return {rounds[0].engine, median_of([&](const Measured& m) { return frames / m.seconds; }),
          median_of([&](const Measured& m) { return m.cpu_ms / frames; }),
          median_of([](const Measured& m) { return m.p99_ms; }),
          median_of([](const Measured& m) { return m.megabytes; })};
}

OrderedJson json_of(const Row& row) {
  return {{"engine", row.engine},
          {"fps", row.fps},
          {"cpu_ms", row.cpu_ms},
          {"p99_ms", row.p99_ms},
          {"megabytes", row.megabytes}};
}

void print_row(const Row& row) {
  std::printf("  %-34s %9.1f %14.2f %9.2f %10.0f\n", row.engine.c_str(), row.fps, row.cpu_ms,
              row.p99_ms, row.megabytes);
}

}  // namespace

int run_streams_bench(const PipelineOptions& o, const std::string& model, int streams) {
  const std::string path = o.network.empty() ? network::default_network() : o.network;
  const auto network = network::read_dvn(path);
  if (!network.ok()) return fail(network.error());
  std::vector<Measured> ours, others;
  for (int round = 0; round < kRounds; ++round) {
    const auto own = in_process([&] { return run_ours(o, streams); });
    if (!own.ok()) return fail(own.error());
    ours.push_back(own.value());
    const auto other =
        in_process([&] { return run_application(o, network.value(), model, streams); });
    if (!other.ok()) return fail(other.error());
    others.push_back(other.value());
  }
  const int frames = o.frames * streams;
  const Row mine = row_of(ours, frames), peer = row_of(others, frames);
  const double faster = mine.fps / peer.fps, cheaper = peer.cpu_ms / mine.cpu_ms;
  if (o.json) {
    const OrderedJson out = {
        {"format", o.format},  {"width", o.width},      {"height", o.height},
        {"streams", streams},  {"frames", o.frames},    {"rate", o.rate},
        {"rounds", kRounds},   {"ours", json_of(mine)}, {"peer", json_of(peer)},
        {"fps_ratio", faster}, {"cpu_ratio", cheaper}};
    std::printf("%s\n", json_text(out).c_str());
    return 0;
  }
  const std::string rate = o.rate > 0 ? format(" at %d frames/s", o.rate) : "";
  std::printf("%s %dx%d, %d frames of each of %d streams%s, medians of %d processes\n",
              o.format.c_str(), o.width, o.height, o.frames, streams, rate.c_str(), kRounds);
  std::printf("  %-34s %9s %14s %9s %10s\n", "", "frames/s", "CPU ms/frame", "p99 ms", "memory MB");
  print_row(mine);
  print_row(peer);
  std::printf("  ratio: %.2f times the frames, %.2f times less processor time\n", faster, cheaper);
  return 0;
}

}  // namespace dvnn::tools
