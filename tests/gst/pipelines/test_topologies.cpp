// SPDX-License-Identifier: Apache-2.0
// Runs random topologies (topologies.h) under the watchdog.
//   test_gst_topologies [COUNT [FIRST_SEED]]
// Without arguments: DVNN_TOPOLOGIES="COUNT FIRST_SEED" from the environment, or 200 from 1; slow
// builds play 100 others. A topology that fails is printed with its seed; run it alone by COUNT 1.
//
// Every topology must reach EOS, or the error that it was told to make. A frame that was inferred
// has the boxes that its pixels say, or those of the linear pipeline; where nothing loses or skips
// frames, every frame arrives and was inferred. No object outlives its pipeline.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "check_suite.h"
#include "topologies.h"
#include "watched_pipeline.h"

using namespace dvnn::test;

namespace {

constexpr int kFrames = 40;

// Tells dvinfer that the sink is late, now and then.
GstPadProbeReturn qos_probe(GstPad* pad, GstPadProbeInfo* info, gpointer) {
  const GstClockTime pts = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
  const bool late = pts / (100 * GST_MSECOND) % 3 == 0;
  gst_pad_push_event(pad, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, late ? 2.0 : 0.5,
                                            late ? 50 * GST_MSECOND : -10 * GST_MSECOND, pts));
  return GST_PAD_PROBE_OK;
}

const std::vector<Arrival>& linear(const std::string& description) {
  static std::map<std::string, std::vector<Arrival>> known;
  std::vector<Arrival>& arrivals = known[description];
  if (arrivals.empty()) {
    Pipeline pipeline(description);
    if (!pipeline.play_to_end() || !pipeline.stop()) {
      std::fprintf(stderr, "the linear pipeline fails: %s\n", pipeline.problem().c_str());
      std::exit(EXIT_FAILURE);
    }
    arrivals = pipeline.arrivals();
  }
  return arrivals;
}

std::vector<Arrival> inferred_of(const std::vector<Arrival>& arrivals, size_t networks) {
  std::vector<Arrival> inferred;
  for (const Arrival& arrival : arrivals) {
    if (static_cast<size_t>(arrival.passes.inferred) == networks) inferred.push_back(arrival);
  }
  return inferred;
}

// Frames that must arrive if none is lost; videorate makes about as many as it should.
std::string check_count(const Topology& topology, size_t count) {
  if (topology.loses_frames) return "";
  const size_t least = topology.changes_times ? 1 : kFrames;
  if (count >= least && (topology.changes_times || count == kFrames)) return "";
  return std::to_string(count) + " frames came of " + std::to_string(kFrames);
}

std::string check_boxes(const Topology& topology, const std::vector<Arrival>& arrivals,
                        bool drawn_over) {
  constexpr double kPixels = 1;  // where frames were scaled
  if (topology.times_boxes) return "";
  if (!topology.reference.empty()) {
    const bool tensors = topology.reference.find("other/tensors") != std::string::npos;
    const std::vector<Arrival> seen =
        tensors ? arrivals : inferred_of(arrivals, topology.networks.size());
    return compare_runs(seen, linear(topology.reference), topology.scales ? kPixels : 0, true);
  }
  const std::vector<Arrival> inferred = inferred_of(arrivals, topology.networks.size());
  if (!topology.skips_frames && inferred.size() != arrivals.size()) {
    return std::to_string(arrivals.size() - inferred.size()) + " frames were not inferred";
  }
  for (const Arrival& arrival : arrivals) {
    if (arrival.passes.inferred == 0 && !arrival.found.empty()) return "boxes from nowhere";
  }
  // dvoverlay's lines are pixels, too.
  return drawn_over ? "" : wrong_boxes(inferred, topology.scales ? kPixels : 0.01);
}

std::string run(const Topology& topology) {
  Pipeline pipeline(topology.launch, topology.networks[0]);
  for (size_t i = 1; i < topology.networks.size(); ++i) pipeline.also_expect(topology.networks[i]);
  if (topology.sends_qos && pipeline.get()) {
    GstPad* pad = gst_element_get_static_pad(pipeline["out"], "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, qos_probe, nullptr, nullptr);
    gst_object_unref(pad);
  }
  const bool ended = pipeline.play_to_end();
  const std::string problem = pipeline.problem();
  const std::vector<Arrival> arrivals = pipeline.arrivals(), blue = pipeline.arrivals("out_blue");
  const std::string dump = pipeline.dump();
  if (!pipeline.stop()) return pipeline.problem();
  // A pipeline that is told to fail may end before it does.
  const bool failed_as_told = topology.fails && problem.rfind("error from identity", 0) == 0;
  if (!ended && !failed_as_told) return problem;
  std::string wrong = topology.fails ? "" : check_count(topology, arrivals.size());
  if (!wrong.empty()) return wrong + "\n" + dump;
  const bool drawn_over = topology.launch.find("dvoverlay") != std::string::npos;
  if (wrong.empty()) wrong = check_boxes(topology, arrivals, drawn_over);
  if (wrong.empty()) wrong = wrong_boxes(inferred_of(blue, 1), 1);
  return wrong;
}

// --- leaks -------------------------------------------------------------------------------------

// The leaks tracer's log of what is alive, by type.
struct Alive {
  std::mutex mutex;
  std::map<std::string, int> counts;
  bool listening = false;
};

Alive& alive() {
  static Alive objects;
  return objects;
}

void log_alive(GstDebugCategory* category, GstDebugLevel level, const gchar*, const gchar*, gint,
               GObject*, GstDebugMessage* message, gpointer) {
  if (level != GST_LEVEL_TRACE ||
      g_strcmp0(gst_debug_category_get_name(category), "GST_TRACER") != 0)
    return;
  const std::string text = gst_debug_message_get(message);
  const std::string field = "type-name=(string)";
  const size_t at = text.find(field);
  if (text.rfind("object-alive", 0) != 0 || at == std::string::npos) return;
  const size_t name = at + field.size();
  const std::lock_guard<std::mutex> lock(alive().mutex);
  if (alive().listening) ++alive().counts[text.substr(name, text.find(',', name) - name)];
}

// Returns how many objects of each type the leaks tracer knows.
std::map<std::string, int> live_objects() {
  auto listen = [](bool on) {
    const std::lock_guard<std::mutex> lock(alive().mutex);
    alive().listening = on;
    if (on) alive().counts.clear();
    return alive().counts;
  };
  listen(true);
  GList* tracers = gst_tracing_get_active_tracers();
  for (GList* item = tracers; item; item = item->next) {
    if (std::string(G_OBJECT_TYPE_NAME(item->data)) == "GstLeaksTracer") {
      g_signal_emit_by_name(item->data, "log-live-objects");
    }
  }
  g_list_free_full(tracers, gst_object_unref);
  return listen(false);
}

// Returns what there is more of than before. Helper threads let go when they next run, which takes
// seconds on a busy machine.
std::string leaks_since(const std::map<std::string, int>& before) {
  std::string text;
  constexpr int kTries = 1500;
  for (int i = 0; i < kTries; ++i) {
    text.clear();
    for (const auto& type : live_objects()) {
      const auto it = before.find(type.first);
      const int more = type.second - (it == before.end() ? 0 : it->second);
      if (more > 0) text += " " + std::to_string(more) + " " + type.first;
    }
    if (text.empty()) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return "objects are left:" + text;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GST_TRACERS", "leaks", FALSE);
  gst_init(nullptr, nullptr);
  const char* text = std::getenv("DVNN_TOPOLOGIES");
  unsigned long long count = static_cast<unsigned long long>(std::max(100, dvnn_rounds(200)));
  unsigned long long first = 1 + dvnn_seed(0);
  if (text) std::sscanf(text, "%llu %llu", &count, &first);
  if (argc > 1) count = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) first = std::strtoull(argv[2], nullptr, 10);
  gst_debug_set_active(TRUE);
  gst_debug_set_threshold_for_name("GST_TRACER", GST_LEVEL_TRACE);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(log_alive, nullptr, nullptr);
  run(make_topology(0, kFrames));  // what is made once for the process is made now
  int failed = 0;
  gint64 longest = 0;
  unsigned long long longest_seed = 0;
  const gint64 start = g_get_monotonic_time();
  for (unsigned long long seed = first; seed < first + count; ++seed) {
    const Topology topology = make_topology(seed, kFrames);
    if (!topology.reference.empty()) linear(topology.reference);
    const std::map<std::string, int> before = live_objects();
    const gint64 begun = g_get_monotonic_time();
    std::string wrong = run(topology);
    const gint64 spent = g_get_monotonic_time() - begun;
    if (spent > longest) longest = spent, longest_seed = seed;
    stop_strays();
    if (wrong.empty()) wrong = leaks_since(before);
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n  gst-launch-1.0 %s\n", seed, wrong.c_str(),
                topology.launch.c_str());
    std::fflush(stdout);
  }
  std::printf("%llu topologies in %.1f s, the longest (%llu) %.2f s: %d failed\n", count,
              static_cast<double>(g_get_monotonic_time() - start) / G_USEC_PER_SEC, longest_seed,
              static_cast<double>(longest) / G_USEC_PER_SEC, failed);
  remove_grids();
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
