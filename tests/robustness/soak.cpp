// SPDX-License-Identifier: Apache-2.0
// Four streams under everything that users do to them, for a given time (tests/soak).
//   soak SECONDS SAMPLES.csv WEBHOOK_PORT FOLDER [SEED]
//
// Each stream has a thread that plays random topologies (tests/gst/fixtures/topologies.h) and
// lively lines: these are paused, stopped and played again, seek, change network, frame size and
// regions, and publish to files and to a webhook that dies. Now and then all streams are taken
// down; growth is judged by the samples taken then.
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fault_device.h"
#include "topologies.h"
#include "watched_pipeline.h"

using namespace dvnn::test;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kStreams = 4;
constexpr std::chrono::seconds kBetweenQuiet{30};

struct Counts {
  std::atomic<int> topologies{0}, lines{0}, deeds{0}, frames{0}, problems{0};
};
Counts counts;

int entries_of(const char* folder) {
  int count = 0;
  DIR* dir = opendir(folder);
  while (dir && readdir(dir)) ++count;
  if (dir) closedir(dir);
  return count - 3;  // the folder, its parent, and the handle that reads it
}

double resident_mb() {
  unsigned long all = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file || std::fscanf(file, "%lu %lu", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * 4096 / 1e6;
}

// --- everybody rests ---------------------------------------------------------------------------

class Rest {
 public:
  /// Called by streams between two pipelines.
  void pause_if_asked() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!asked_) return;
    ++resting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !asked_; });
    --resting_;
    changed_.notify_all();
  }
  template <typename Work>
  void while_all_rest(Work&& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    asked_ = true;
    changed_.wait(lock, [&] { return resting_ == kStreams; });
    work();
    asked_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return resting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  int resting_ = 0;
};
Rest rest;

// --- a stream ----------------------------------------------------------------------------------

class Stream {
 public:
  Stream(int number, unsigned seed, std::string folder, int port)
      : random_(seed * 1000 + static_cast<unsigned>(number)),
        name_("stream" + std::to_string(number)),
        folder_(std::move(folder)),
        port_(port) {}

  void live(const std::atomic<bool>& stop) {
    while (!stop) {
      if (chance(0.3)) {
        play_topology();
      } else {
        play_line();
      }
      rest.pause_if_asked();
    }
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  template <typename T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

  void tell(const Pipeline& pipeline, const std::string& problem) {
    ++counts.problems;
    std::printf("problem: %s\n  %s\n", pipeline.description().c_str(), problem.c_str());
    std::fflush(stdout);
  }

  // Raises timeouts: a machine that is busy for hours may not run this process for a while.
  static std::string patient(std::string launch) {
    const std::string element = "! dvinfer ";
    for (size_t at = 0; (at = launch.find(element, at)) != std::string::npos;) {
      at += element.size();
      launch.insert(at, "watchdog-ms=120000 ");
    }
    return launch;
  }

  void play_topology() {
    const Topology topology = make_topology(static_cast<guint64>(below(1 << 30)), 40);
    Pipeline pipeline(patient(topology.launch), topology.networks[0]);
    const bool ended = pipeline.play_to_end();
    const std::string problem = pipeline.problem();
    counts.frames += static_cast<int>(pipeline.count());
    if (!pipeline.stop()) return tell(pipeline, pipeline.problem());
    if (!ended && !topology.fails) tell(pipeline, problem);
    ++counts.topologies;
  }

  std::string sink() {
    const std::string spooled = "dvpublish name=publish spool-folder=" + folder_ + "/spool-" +
                                name_ + " spool-size-mib=1 flush-timeout-ms=300 stream=" + name_;
    switch (below(4)) {
      case 0:
        return "dvpublish name=publish location=/dev/null ! ";
      case 1:
        return spooled + " location=" + folder_ + "/" + name_ + ".txt ! ";
      case 2:
        return spooled + " url=http://127.0.0.1:" + std::to_string(port_) + "/ ! ";
      default:
        return "";
    }
  }

  // A branch that records clips, and the end of the line before it.
  std::string record() {
    if (chance(0.5)) return "";
    return "tee name=found ! queue ! clips.detections dvrecord name=clips stream=" + name_ +
           " picture-size=32 before-ms=500 after-ms=500 max-clip-ms=2000 quota-mib=1 " +
           one_of<const char*>({"trigger=object", "recording=true", "trigger=track"}) +
           " location=" + folder_ +
           " encoded. ! queue leaky=downstream ! videoconvert ! jpegenc ! clips.video found. ! "
           "queue ! ";
  }

  void play_line() {
    const std::string out = folder_ + "/" + name_ + ".txt";
    unlink(out.c_str());
    // A filter whose caps are set during upstream's caps query answers that there are none, unless
    // it still accepts the old caps, too.
    Pipeline pipeline(
        painted_source(1000000) + "identity sleep-time=2000 ! videoscale ! " +
        "capsfilter name=caps caps-change-mode=delayed ! tee name=encoded ! queue ! " +
        (chance(0.3) ? "dvmotion verify-ms=100 ! " : "") + "dvconvert name=convert ! " +
        infer(Looks::kRed, "name=infer on-error=pass watchdog-ms=120000 " + FaultPlan::device()) +
        " ! dvdecode name=decode ! dvtrack ! dvzones ! " + sink() + record() +
        (chance(0.5) ? "dvoverlay ! " : "") + "fakesink name=out async=false");
    bool good = pipeline.set_state(GST_STATE_PLAYING);
    for (int deeds = 5 + below(15); good && deeds > 0; --deeds) {
      good = do_something(&pipeline) &&
             pipeline.run_for(static_cast<GstClockTime>(20 + below(80)) * GST_MSECOND);
      ++counts.deeds;
    }
    counts.frames += static_cast<int>(pipeline.count());
    const std::string problem = pipeline.problem();
    if (!pipeline.stop()) return tell(pipeline, pipeline.problem());
    if (!good) tell(pipeline, problem);
    ++counts.lines;
  }

  bool do_something(Pipeline* pipeline) {
    GstElement* convert = (*pipeline)["convert"];
    GstElement* network = (*pipeline)["infer"];
    switch (below(8)) {
      case 0:
        return pipeline->set_state(GST_STATE_PAUSED) && pipeline->set_state(GST_STATE_PLAYING);
      case 1:
        return pipeline->set_state(one_of<GstState>({GST_STATE_READY, GST_STATE_NULL})) &&
               pipeline->set_state(GST_STATE_PLAYING);
      case 2:
        gst_element_seek_simple(pipeline->get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                static_cast<gint64>(below(100)) * GST_SECOND);
        return true;
      case 3:
        g_object_set(network, "network",
                     grid_path(one_of<Looks>({Looks::kRed, Looks::kBlue, Looks::kUpperRed}),
                               one_of<int>({4, 8}))
                         .c_str(),
                     nullptr);
        return true;
      case 4: {
        const int size = one_of<int>({32, 64, 96});
        GstCaps* caps = gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, size, "height",
                                            G_TYPE_INT, size, nullptr);
        g_object_set((*pipeline)["caps"], "caps", caps, nullptr);
        gst_caps_unref(caps);
        return true;
      }
      case 5:
        gst_util_set_object_arg(
            G_OBJECT(convert), "region-list",
            one_of<const char*>({"[[0.5,0,0.5,1]]", "[[0,0,0.5,0.5],[0.5,0.5,0.5,0.5]]", "[]"}));
        gst_util_set_object_arg(G_OBJECT(convert), "regions",
                                one_of<const char*>({"frame", "list", "tiles"}));
        return true;
      case 6:
        gst_util_set_object_arg(G_OBJECT(convert), "video-direction",
                                one_of<const char*>({"identity", "90r", "horiz"}));
        return true;
      default:
        g_object_set(network, "interval-frames", 1 + below(3), "active", chance(0.8), nullptr);
        return true;
    }
  }

  std::mt19937 random_;
  const std::string name_, folder_;
  const int port_;
};

// --- samples -----------------------------------------------------------------------------------

void sample(FILE* file, double seconds, bool quiet, const FaultPlan& device) {
  if (quiet) malloc_trim(0);
  std::fprintf(file, "%.1f,%d,%.3f,%.3f,%d,%d,%d,%d,%d,%d,%d,%d\n", seconds, quiet, resident_mb(),
               static_cast<double>(mallinfo2().uordblks) / 1e6, entries_of("/proc/self/fd"),
               entries_of("/proc/self/task") + 1, device.live(), counts.topologies.load(),
               counts.lines.load(), counts.deeds.load(), counts.frames.load(),
               counts.problems.load());
  std::fflush(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "soak SECONDS SAMPLES.csv WEBHOOK_PORT FOLDER [SEED]\n");
    return 2;
  }
  mallopt(M_ARENA_MAX, 1);  // mallinfo2() reports one arena only
  gst_init(nullptr, nullptr);
  const FaultPlan device("");
  // Writes the files once, before several streams use them.
  for (Looks looks : {Looks::kRed, Looks::kBlue, Looks::kUpperRed}) {
    for (int cells : {4, 8}) grid_path(looks, cells);
  }
  FILE* file = std::fopen(argv[2], "we");
  if (!file) return 2;
  std::fprintf(file,
               "seconds,quiet,resident,heap,descriptors,threads,handles,topologies,lines,deeds,"
               "frames,problems\n");
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = start + std::chrono::seconds(std::atol(argv[1]));
  const unsigned seed = argc > 5 ? static_cast<unsigned>(std::atoi(argv[5])) : 1;
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (int i = 0; i < kStreams; ++i) {
    threads.emplace_back([&, i] { Stream(i, seed, argv[4], std::atoi(argv[3])).live(stop); });
  }
  Clock::time_point quiet_at = start + kBetweenQuiet;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    sample(file, seconds(), false, device);
    if (Clock::now() < quiet_at) continue;
    rest.while_all_rest([&] {
      // Lets threads that GStreamer and libraries keep for a moment end.
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      sample(file, seconds(), true, device);
    });
    quiet_at = Clock::now() + kBetweenQuiet;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::fclose(file);
  remove_grids();
  std::printf("%d topologies, %d lines, %d deeds, %d frames, %d problems\n",
              counts.topologies.load(), counts.lines.load(), counts.deeds.load(),
              counts.frames.load(), counts.problems.load());
  return counts.problems > 0;
}
