// SPDX-License-Identifier: Apache-2.0
// Every system call of ours fails once, in turn, while a network is loaded, ten frames are
// inferred, their documents are published through a spool, and all is stopped. Each time there is
// at most one error of each element, in a line, nothing is left open, and the next run is as if
// nothing had been.
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/format.h"
#include "failing_calls.h"
#include "fault_device.h"
#include "gst_fixture.h"

namespace dvnn::test::system_faults_tests {

namespace {

constexpr GstClockTime kPatience = 20 * GST_SECOND;
constexpr int kFrames = 10;

// The preloaded library's.
struct Calls {
  decltype(&dvnn_calls_name) name;
  decltype(&dvnn_calls_plan) plan;
  decltype(&dvnn_calls_count) count;
  decltype(&dvnn_calls_own_count) own_count;
  decltype(&dvnn_calls_failed) failed;
};

const Calls& calls() {
  static const Calls found = [] {
    auto find = [](const char* name) {
      void* function = dlsym(RTLD_DEFAULT, name);
      if (!function) g_error("%s is missing: libfailing-calls.so is not preloaded", name);
      return function;
    };
    Calls all;
    all.name = reinterpret_cast<decltype(all.name)>(find("dvnn_calls_name"));
    all.plan = reinterpret_cast<decltype(all.plan)>(find("dvnn_calls_plan"));
    all.count = reinterpret_cast<decltype(all.count)>(find("dvnn_calls_count"));
    all.own_count = reinterpret_cast<decltype(all.own_count)>(find("dvnn_calls_own_count"));
    all.failed = reinterpret_cast<decltype(all.failed)>(find("dvnn_calls_failed"));
    return all;
  }();
  return found;
}

int entries_of(const char* folder) {
  int count = 0;
  DIR* dir = opendir(folder);
  while (readdir(dir)) ++count;
  closedir(dir);
  return count;
}

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/dvnn-faults-XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Outcome {
  bool ended = false, stalled = false;
  std::vector<std::string> errors, warnings;
  int documents = 0;
};

std::string listed(const Outcome& outcome) {
  std::string text = outcome.ended ? "ended" : outcome.stalled ? "stalled" : "failed";
  text += ", " + std::to_string(outcome.documents) + " documents";
  for (const std::string& error : outcome.errors) text += "; error: " + error;
  for (const std::string& warning : outcome.warnings) text += "; warning: " + warning;
  return text;
}

void note(GstMessage* message, Outcome* outcome) {
  if (!g_str_has_prefix(GST_MESSAGE_SRC_NAME(message), "dv")) return;
  GError* error = nullptr;
  const bool is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
  (is_error ? gst_message_parse_error : gst_message_parse_warning)(message, &error, nullptr);
  (is_error ? outcome->errors : outcome->warnings)
      .push_back(std::string(GST_MESSAGE_SRC_NAME(message)) + ": " + error->message);
  g_error_free(error);
}

Outcome play() {
  const Folder folder;
  const std::string file = folder.path() + "/documents";
  const std::string description =
      "videotestsrc pattern=red num-buffers=10 ! video/x-raw,format=RGB,width=16,height=16 ! "
      "dvconvert name=dvconvert ! dvinfer name=dvinfer device=soft network=" +
      network_path() +
      " ! dvdecode name=dvdecode ! dvpublish name=dvpublish mode=frames stream=s location=" + file +
      " spool-folder=" + folder.path() + "/spool ! fakesink";
  Outcome outcome;
  GstElement* pipeline = gst_parse_launch(description.c_str(), nullptr);
  ck_assert_ptr_nonnull(pipeline);
  GstBus* bus = gst_element_get_bus(pipeline);
  const bool started =
      gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
  const auto ends = static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GstMessage* end = started ? gst_bus_timed_pop_filtered(bus, kPatience, ends) : nullptr;
  outcome.stalled = started && !end;
  outcome.ended = end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS;
  if (end && !outcome.ended) note(end, &outcome);
  if (end) gst_message_unref(end);
  if (started) gst_element_set_state(pipeline, GST_STATE_READY);
  const auto told = static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  while (GstMessage* message = gst_bus_pop_filtered(bus, told)) {
    note(message, &outcome);
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  // By GLib, as calls of the C++ library count.
  gchar* text = nullptr;
  if (g_file_get_contents(file.c_str(), &text, nullptr, nullptr)) {
    outcome.documents = static_cast<int>(std::count(text, text + std::strlen(text), '\n'));
    g_free(text);
  }
  return outcome;
}

void expect_whole(const std::string& when) {
  calls().plan("", 0, 0);
  const Outcome outcome = play();
  ck_assert_msg(outcome.ended && outcome.errors.empty() && outcome.documents == kFrames, "%s: %s",
                when.c_str(), listed(outcome).c_str());
}

void expect_clear(const std::string& where, const Outcome& outcome) {
  const std::string all = where + ": " + listed(outcome);
  ck_assert_msg(!outcome.stalled, "%s", all.c_str());
  ck_assert_msg(outcome.ended || outcome.errors.size() == 1, "%s", all.c_str());
  ck_assert_msg(outcome.errors.size() <= 1, "%s", all.c_str());
  for (const auto* list : {&outcome.errors, &outcome.warnings}) {
    for (const std::string& text : *list) {
      ck_assert_msg(dvnn::is_printable(text) && text.size() < 600, "%s", all.c_str());
    }
  }
  // An element that loses a document must report it.
  if (outcome.ended && outcome.documents < kFrames) {
    ck_assert_msg(!outcome.warnings.empty() || !outcome.errors.empty(), "%s", all.c_str());
  }
}

// Returns by how many bytes a run increases the heap in use.
template <typename Run>
double growth(int runs, Run&& run) {
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < runs; ++i) run();
  return (static_cast<double>(mallinfo2().uordblks) - static_cast<double>(before)) / runs;
}

// Counts the process's threads without GLib's pool, which keeps a varying number for later.
int threads_in_use() {
  g_thread_pool_stop_unused_threads();
  return entries_of("/proc/self/task");
}

// Detached threads of libraries end a moment later.
bool settles(const char* folder, int most) {
  for (int tries = 0; tries < 200; ++tries) {
    g_thread_pool_stop_unused_threads();
    if (entries_of(folder) <= most) return true;
    g_usleep(10000);
  }
  return false;
}

}  // namespace

static int run_in_one_arena(const char* name, const std::vector<const TTest*>& tests) {
  mallopt(M_ARENA_MAX, 1);  // mallinfo2() reports one arena only
  return run_gst_suite(name, tests);
}

DVNN_SUITE_RUN_BY(run_in_one_arena, system_faults);

DVNN_TEST(every_system_call_may_fail) {
  for (int i = 0; i < 10; ++i) expect_whole("a run without faults");
  int kinds = 0, all = 0;
  const bool every = std::getenv("DVNN_EVERY_CALL") != nullptr;
  const int descriptors = entries_of("/proc/self/fd"), threads = threads_in_use();
  const double usual = growth(20, [] { expect_whole("a run without faults"); });
  const size_t heap = mallinfo2().uordblks;
  int error = 0;
  for (int index = 0; const char* name = calls().name(index, &error); ++index) {
    // Some calls are only made in the first run.
    calls().plan("", 0, 0);
    play();
    const int count = calls().count(name);
    if (count == 0) continue;
    ++kinds;
    int told = 0, tried = 0;
    const int step = every ? 1 : 1 + count / 10;
    for (const int with : {error, EINTR}) {
      if (with == EINTR && std::string(name) == "pthread_create") continue;
      for (int n = 1; n <= count; n += step) {
        const std::string where = std::string(name) + " " + std::to_string(n) + " of " +
                                  std::to_string(count) + ", error " + std::to_string(with);
        calls().plan(name, n, with);
        const Outcome outcome = play();
        ++tried;
        expect_clear(where, outcome);
        told += !outcome.errors.empty() || !outcome.warnings.empty();
        ck_assert_msg(settles("/proc/self/fd", descriptors), "%s: a descriptor is left, %s",
                      where.c_str(), listed(outcome).c_str());
        ck_assert_msg(settles("/proc/self/task", threads), "%s: a thread is left", where.c_str());
      }
    }
    expect_whole(std::string("after ") + name);
    std::printf("%s: %d calls, %d faults, %d told of\n", name, count, tried, told);
    all += tried;
  }
  ck_assert_int_gt(kinds, 8);
  const double each = (static_cast<double>(mallinfo2().uordblks) - static_cast<double>(heap)) / all;
  std::printf(
      "%d kinds of calls, %d faults; heap in use grew by %.0f bytes for each, by %.0f in a run "
      "without\n",
      kinds, all, each, usual);
  constexpr double kNoise = 1000;  // GLib's pools and the tracer's notes of leaks
  ck_assert_double_lt(each - usual, kNoise);
}

// Elements upstream may have started already, and push: an element that is slow to reach PAUSED
// loses the buffer. So everything slow belongs to the way to READY.
DVNN_TEST(from_ready_to_paused_no_element_asks_the_device_or_the_system) {
  const Folder folder;
  const std::string zones = folder.path() + "/zones", labels = folder.path() + "/labels",
                    masks = folder.path() + "/masks", hard = folder.path() + "/hard";
  ck_assert(std::filesystem::create_directory(hard));
  g_file_set_contents(masks.c_str(), R"({"masks":[{"name":"a","points":[[0,0],[1,0],[1,1]]}]})", -1,
                      nullptr);
  g_file_set_contents(zones.c_str(), R"({"areas":[{"name":"a","points":[[0,0],[1,0],[1,1]]}]})", -1,
                      nullptr);
  g_file_set_contents(labels.c_str(), "one\ntwo\n", -1, nullptr);
  FaultPlan device("");
  std::vector<std::string> lines = {
      "dvmotion zones-file=" + masks,
      "dvconvert regions=tiles",
      "dvinfer network=" + network_path() + " " + FaultPlan::device(),
      "dvinfer max-in-flight=16 network=" + network_path() + " " + FaultPlan::device(),
      "dvdecode labels-file=" + labels,
      "dvtrack",
      "dvzones zones-file=" + zones,
      "dvpublish location=" + folder.path() + "/out spool-folder=" + folder.path() + "/spool",
      "dvpublish url=http://127.0.0.1:9/ snapshot=object snapshot-folder=" + folder.path(),
      "dvpublish location=" + folder.path() + "/out collect-folder=" + hard,
      "dvoverlay blur=face show=label,text"};
  if (GstElementFactory* reader = gst_element_factory_find("dvread")) {
    lines.push_back("dvread marker-class=marker marker-families=aruco-4x4");
    gst_object_unref(reader);
  }
  for (const std::string& line : lines) {
    GstElement* element = gst_parse_launch(line.c_str(), nullptr);
    ck_assert_msg(element != nullptr, "%s", line.c_str());
    // Twice: the second start finds what the first one has left.
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    for (int start = 0; start < 2; ++start) {
      device.set("");
      calls().plan("", 0, 0);
      ck_assert_int_ne(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
      ck_assert_msg(device.count("any") == 0, "%s: %d calls of the device", line.c_str(),
                    device.count("any"));
      int error = 0;
      for (int index = 0; const char* name = calls().name(index, &error); ++index) {
        // A publisher's thread makes calls of its own meanwhile.
        ck_assert_msg(calls().own_count(name) == 0, "%s: %d of %s", line.c_str(),
                      calls().own_count(name), name);
      }
      gst_element_set_state(element, GST_STATE_READY);
    }
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
}

}  // namespace dvnn::test::system_faults_tests
