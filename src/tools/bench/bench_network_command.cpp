// SPDX-License-Identifier: Apache-2.0
// A network on a device compared with another engine on the same model, interleaved in one run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "plan/graph/graph.h"
#include "tools/bench/peer.h"
#include "tools/bench/plot.h"
#include "tools/board/board_report.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/session.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

Bitmap random_picture(int width, int height) {
  Bitmap picture(width, height, 3);
  std::mt19937 random(1);
  for (uint8_t& byte : picture.bytes) byte = static_cast<uint8_t>(random());
  return picture;
}

// Fills an input that is not a picture with numbers.
void load_numbers(Session* session) {
  const TensorDesc& input = session->slot().network()->input_desc();
  std::mt19937 random(1);
  std::vector<float> numbers(input.shape.count());
  for (float& n : numbers) n = static_cast<float>(random() % 256) / 256;
  write_nchw(numbers.data(), {input, session->slot().input().data()});
}

struct NetworkBenchOptions {
  int threads;
  int iterations;
  bool json;
  bool layers;
  std::string plot;  // file name, or empty
};

// Times of an engine's runs.
struct Runs {
  std::vector<double> ms, cpu_ms;
  void add(const CallTime& time) {
    ms.push_back(time.ms);
    cpu_ms.push_back(time.cpu_ms);
  }
};

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// The median time of each step.
class StepTimes {
 public:
  explicit StepTimes(const network::Slot& slot)
      : slot_(slot), model_(slot.network()->model()), ms_(model_.steps.size()) {}
  void add(Span<const int64_t> ns) {
    for (size_t i = 0; i < ns.size(); ++i) ms_[i].push_back(static_cast<double>(ns[i]) / 1e6);
  }
  OrderedJson to_json() const {
    OrderedJson out = OrderedJson::array();
    for (size_t i = 0; i < ms_.size(); ++i) {
      out.push_back({{"name", model_.steps[i].name}, {"ms", median(ms_[i])}});
      if (const auto command = slot_.command_of(i)) {
        out.back()["with"] = model_.steps[*command].name;
      }
    }
    return out;
  }
  [[nodiscard]] BarPlot::Panel to_panel() const {
    BarPlot::Panel panel = {"Steps", {}};
    for (size_t i = 0; i < ms_.size(); ++i) {
      panel.rows.push_back({model_.steps[i].name, {median(ms_[i])}});
    }
    return panel;
  }
  void print() const {
    double all = 0;
    for (const auto& ms : ms_) all += median(ms);
    std::printf("  step      ms      %%  name\n");
    for (size_t i = 0; i < ms_.size(); ++i) {
      const double ms = median(ms_[i]);
      const auto command = slot_.command_of(i);
      const std::string with = command ? ", with " + model_.steps[*command].name : "";
      const bool on_cpu = model_.steps[i].kind != network::StepKind::kDevice && !command;
      std::printf("  %4zu %7.3f %6.1f  %s%s%s\n", i, ms, all > 0 ? 100 * ms / all : 0,
                  on_cpu ? "CPU: " : "", model_.steps[i].name.c_str(), with.c_str());
    }
  }

 private:
  const network::Slot& slot_;
  const network::Model& model_;
  std::vector<std::vector<double>> ms_;  // by step
};

int run_bench(Session* session, const std::string& network,
              const std::vector<std::string>& peer_files, const NetworkBenchOptions& options) {
  const TensorDesc& input = session->slot().network()->input_desc();
  const bool pictured = plan::is_picture(input.shape);
  const Bitmap picture =
      pictured ? random_picture(input.shape.w(), input.shape.h()) : random_picture(1, 1);
  if (!pictured) {
    load_numbers(session);
  } else if (Status s = session->load(picture); !s.ok()) {
    return fail(s.error());
  }
  std::unique_ptr<Peer> peer;
  if (!peer_files.empty()) {
    auto opened = open_peer(peer_files, session->model(), picture, options.threads);
    if (!opened.ok()) return fail(opened.error());
    peer = std::move(opened.value());
    wait_until_idle();
  }
  const Span<uint8_t> loaded = session->slot().input();
  const std::vector<uint8_t> pixels(loaded.begin(), loaded.end());
  std::vector<int64_t> step_ns(options.layers ? session->model().steps.size() : 0);
  StepTimes step_times(session->slot());
  Runs device, peer_runs;
  std::vector<double> on_device_ms, on_cpu_ms;
  // The engines take turns of some runs, and wait until the other's threads sleep, which would
  // disturb them. The first runs of a turn warm up caches and threads and are not counted.
  constexpr int kTurn = 10;
  constexpr std::chrono::milliseconds kWarmUp{20};
  // Calls run() until `runs` calls were counted; `counted` tells whether a call is.
  const auto take_turn = [&](int runs, auto run) -> Status {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = -1; i < runs;) {
      const bool counted = i >= 0;
      DVNN_TRY(run(counted));
      if (counted || std::chrono::steady_clock::now() - begin >= kWarmUp) ++i;
    }
    return {};
  };
  Progress progress("timing run", static_cast<size_t>(options.iterations));
  for (int done = 0; done < options.iterations; done += kTurn) {
    const int runs = std::min(kTurn, options.iterations - done);
    const Status ran = take_turn(runs, [&](bool counted) -> Status {
      // Steps may reuse the input's memory, so the picture is restored before every run, untimed.
      std::copy(pixels.begin(), pixels.end(), session->slot().input().begin());
      Status status;
      network::RunTimes times;
      times.step_ns = step_ns;
      const CallTime ours = time_call([&] { status = session->run_next(&times); });
      DVNN_TRY(std::move(status));
      if (!counted) return {};
      progress.advance();
      device.add(ours);
      step_times.add(step_ns);
      on_device_ms.push_back(static_cast<double>(times.device_us) / 1e3);
      on_cpu_ms.push_back(static_cast<double>(times.cpu_us) / 1e3);
      return {};
    });
    if (!ran.ok()) return fail(ran.error());
    if (!peer) continue;
    wait_until_idle();
    const Status peer_ran = take_turn(runs, [&](bool counted) -> Status {
      Status status;
      const CallTime theirs = time_call([&] { status = peer->forward(); });
      if (counted) peer_runs.add(theirs);
      return status;
    });
    if (!peer_ran.ok()) return fail(peer_ran.error());
    wait_until_idle();
  }
  progress.clear();
  const double ours = median(device.ms), theirs = peer ? median(peer_runs.ms) : 0;
  BarPlot plot = {base_name(network), {"median"}, {{"Whole network", {}}}};
  BarPlot::Panel& whole = plot.panels.front();
  whole.rows.push_back({base_name(session->device().library_path()), {ours}});
  if (peer) whole.rows.push_back({peer->name() + " FP32", {theirs}});
  if (options.layers) plot.panels.push_back(step_times.to_panel());
  if (Status s = write_plot(options.plot, plot); !s.ok()) return fail(s.error());
  if (options.json) {
    OrderedJson out = {{"network", base_name(network)},
                       {"threads", options.threads},
                       {"iterations", options.iterations},
                       {"device_ms", ours},
                       {"device_least_ms", least(device.ms)},
                       {"device_processors_ms", median(device.cpu_ms)},
                       {"device_commands_ms", median(on_device_ms)},
                       {"cpu_layers_ms", median(on_cpu_ms)}};
    if (peer) {
      out["peer"] = peer->name();
      out["peer_ms"] = theirs;
      out["peer_least_ms"] = least(peer_runs.ms);
      out["peer_processors_ms"] = median(peer_runs.cpu_ms);
      out["ratio"] = theirs / ours;
    }
    if (options.layers) out["layers"] = step_times.to_json();
    std::printf("%s\n", json_text(out).c_str());
    return 0;
  }
  std::printf("%s, %d thread%s, median of %d runs\n", base_name(network).c_str(), options.threads,
              options.threads == 1 ? "" : "s", options.iterations);
  std::printf("  device (%s)  %8.3f ms  (commands %.3f, CPU layers %.3f)\n",
              base_name(session->device().library_path()).c_str(), ours, median(on_device_ms),
              median(on_cpu_ms));
  if (peer) {
    std::printf("  %-28s %8.3f ms\n", (peer->name() + " FP32").c_str(), theirs);
    std::printf("  ratio (peer / device)          %8.2f\n", theirs / ours);
  }
  if (options.layers) step_times.print();
  return 0;
}

// Prints what a run moves between CPU and device on a board. Counting needs no board.
void print_count(const std::string& network, const network::HandoverCount& count, bool json) {
  if (json) {
    const OrderedJson out = {
        {"network", base_name(network)},      {"layers_bytes", count.by_layers},
        {"to_device_bytes", count.to_device}, {"to_cpu_bytes", count.to_cpu},
        {"crossing_bytes", count.crossing},   {"handover_calls", count.calls}};
    std::printf("%s\n", json_text(out).c_str());
    return;
  }
  const auto mb = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const double crossing = mb(count.crossing), handed = mb(count.to_device + count.to_cpu);
  std::printf("%s, counted for one frame\n", base_name(network).c_str());
  std::printf("  CPU layers read and write  %8.3f MB\n", mb(count.by_layers));
  std::printf("  handed over to the device  %8.3f MB, back %.3f MB, in %d calls\n",
              mb(count.to_device), mb(count.to_cpu), count.calls);
  std::printf("  crossing between them      %8.3f MB (handed over: %.2f x)\n", crossing,
              crossing > 0 ? handed / crossing : 1);
}

int bench_network(const Arguments& arguments) {
  const NetworkBenchOptions options = {arguments.number("threads"), arguments.number("iterations"),
                                       arguments.given("json"), arguments.given("layers"),
                                       arguments.text("plot")};
  const std::vector<std::string>& files = arguments.files();
  const Command& command = arguments.command();
  if (files.empty() || files.size() > 3 || (files.size() > 1) != arguments.given("peer")) {
    return wrong_usage(command,
                       "needs a network file, and with --peer an ONNX file or two Caffe files");
  }
  if (options.threads < 1 || options.threads > 256 || options.iterations < 1) {
    return wrong_usage(command, "--threads must be 1..256 and --iterations positive");
  }
  // The software device reads the variable when it starts.
  setenv("DVNN_SOFT_THREADS", std::to_string(options.threads).c_str(), 1);
  auto session = open_session(files[0], arguments);
  if (!session.ok()) return fail(session.error());
  if (arguments.given("count")) {
    print_count(files[0], session.value()->slot().handed_over(), options.json);
    return 0;
  }
  if (arguments.given("board-report")) {
    const Status written = write_board_report(session.value()->slot().network(), files[0],
                                              arguments.text("board-report"));
    return written.ok() ? 0 : fail(written.error());
  }
  return run_bench(session.value().get(), files[0], {files.begin() + 1, files.end()}, options);
}

constexpr Option kBenchNetworkOptions[] = {
    kWeightsOption,
    kCustomLayersOption,
    kDecoderLibraryOption,
    kSizeOption,
    kDeviceOption,
    {"peer", 0, Takes::kNothing, nullptr,
     "Compare with ONNX Runtime on MODEL.onnx where it is installed, else with OpenCV's dnn, or "
     "with that on the Caffe files PROTOTXT CAFFEMODEL"},
    {"threads", 0, Takes::kNumber, "N", "Threads for both", "1"},
    {"iterations", 'n', Takes::kNumber, "N", "Timed runs", "30"},
    {"layers", 0, Takes::kNothing, nullptr, "Print each step's median time too"},
    {"count", 0, Takes::kNothing, nullptr,
     "Count instead of timing: bytes that CPU layers move, and that a board's caches hand over"},
    {"board-report", 0, Takes::kFile, "FILE.json",
     "Instead, write each step's time beside its estimate, and what this board is"},
    {"plot", 0, Takes::kFile, "FILE.svg", "Draw the times as bars; with --layers each step's, too"},
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"}};

}  // namespace

const Command kBenchNetworkCommand = {
    "bench network",
    "time a network, alone or against another engine",
    "NETWORK.dvn|NETWORK.so [--peer MODEL.onnx | PROTOTXT CAFFEMODEL]",
    "Times whole-network runs; with --peer, another engine in turns with it. A network with a "
    "memory "
    "takes the states of the run before.",
    kBenchNetworkOptions,
    bench_network};

}  // namespace dvnn::tools
