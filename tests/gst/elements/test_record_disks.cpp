// SPDX-License-Identifier: Apache-2.0
// dvrecord on disks that are full, gone or dead, within a quota, and in processes that are killed.
#include <gst/base/gstbasesink.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "record_harness.h"

namespace dvnn::test::record_disk_tests {

DVNN_GST_SUITE(gst_record_disks);

using namespace record_tests;

// No file may grow beyond that size while the object is there, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

DVNN_TEST(a_full_disk_is_told_once_and_survived) {
  Recording recording("before-ms=0 after-ms=40000", false);
  recording.start();
  gboolean taken = FALSE;
  {
    const FullDisk full(100 << 10);
    recording.frames(0, 10);
    g_signal_emit_by_name(recording.get(), "record", "", &taken);
    // About 100 frames fit; the next attempt is 250 later.
    recording.frames(10, 300);
    recording.wait_for(1);
    recording.frames(300, 600);
    recording.wait_for(2);
  }
  recording.frames(600, 1200);
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(recording.warnings(), 1);
  ck_assert_uint_ge(recording.count("failed"), 1);
  ck_assert(!told[0].complete && !told[0].problem.empty());
  ck_assert_uint_le(told[0].duration, 110 * kFrameTime);
  // What was written can be played, and the clip goes on when there is room again.
  ck_assert_uint_gt(numbers_of(told[0].location).size(), 50);
  ck_assert(told.back().complete);
  ck_assert_uint_gt(numbers_of(told.back().location).size(), 100);
}

DVNN_TEST(a_folder_that_is_gone_is_told_and_survived) {
  Recording recording("before-ms=0 after-ms=400", false);
  recording.start();
  recording.frames(0, 10);
  fs::remove_all(recording.folder());
  gboolean taken = FALSE;
  g_signal_emit_by_name(recording.get(), "record", "", &taken);
  recording.frames(10, 100);
  recording.end();
  const auto told = recording.told();
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(!told[0].complete && told[0].location.empty());
  ck_assert_uint_eq(told[0].events.size(), 1);
  ck_assert_uint_eq(recording.warnings(), 1);
}

DVNN_TEST(the_quota_holds_at_any_moment) {
  Recording recording("before-ms=1000 after-ms=1000 quota-mib=1", false);
  const std::string other = recording.folder() + "/holiday.mkv";
  FILE* file = fopen(other.c_str(), "wb");
  ck_assert_int_eq(fputs("not a clip of ours", file) >= 0, 1);
  fclose(file);
  recording.start();
  gboolean taken = FALSE;
  guint64 most = 0;
  for (size_t i = 0; i < 6000; ++i) {
    recording.frame(i, i % 25 == 0, 2000);
    if (i % 150 == 0) g_signal_emit_by_name(recording.get(), "record", "", &taken);
    // A camera is not faster than its disk.
    if (i % 150 == 100) recording.wait_for(i / 150 + 1);
    if (i % 20 == 0) most = std::max(most, recording.bytes_of_clips());
  }
  recording.end();
  most = std::max(most, recording.bytes_of_clips());
  ck_assert_uint_le(most, 1 << 20);
  ck_assert_uint_gt(recording.bytes_of_clips(), 200 << 10);
  ck_assert_uint_gt(recording.count("removed"), 20);
  ck_assert(fs::exists(other));
  // The newest are there.
  ck_assert(fs::exists(recording.told().back().location));
}

// gst-launch-1.0 is not sanitized, and loads no plugin that is.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
DVNN_TEST(what_a_killed_process_wrote_plays_to_its_last_frames) {
  char path[] = "/tmp/dvnn-dvrecord-XXXXXX";
  const std::string folder = mkdtemp(path);
  const std::string line =
      "gst-launch-1.0 -q videotestsrc pattern=snow ! video/x-raw,width=320,height=240,"
      "framerate=30/1 ! jpegenc ! dvrecord recording=true location=" +
      folder;
  gchar** argv = nullptr;
  ck_assert(g_shell_parse_argv(line.c_str(), nullptr, &argv, nullptr));
  GPid child = 0;
  ck_assert(g_spawn_async(nullptr, argv, nullptr,
                          static_cast<GSpawnFlags>(G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD),
                          nullptr, nullptr, &child, nullptr));
  g_strfreev(argv);
  std::string file;
  for (int i = 0; i < 3000 && (file.empty() || fs::file_size(file) < 4 << 20); ++i) {
    g_usleep(10000);
    for (const auto& at : fs::directory_iterator(folder)) file = at.path();
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  g_spawn_close_pid(child);
  ck_assert_msg(file.find(".part.mkv") != std::string::npos, "'%s'", file.c_str());
  const auto packets = video_of(file);
  guint64 bytes = 0;
  for (const Packet& packet : packets) bytes += packet.bytes.size();
  ck_assert_uint_gt(packets.size(), 60);
  // What cannot be played of the file is less than ten frames.
  ck_assert_uint_gt(bytes + 10 * bytes / packets.size(), fs::file_size(file));
  fs::remove_all(folder);
}
#endif

DVNN_TEST(what_a_crash_left_gets_its_name_at_the_next_start) {
  Recording recording("", false);
  const std::string left = recording.folder() + "/cam-20260101T000000.000Z.part.mkv";
  FILE* file = fopen(left.c_str(), "wb");
  ck_assert_int_eq(fputs("what was written", file) >= 0, 1);
  fclose(file);
  recording.start();
  const auto told = recording.told("recovered");
  ck_assert_uint_eq(told.size(), 1);
  ck_assert(fs::exists(told[0].location) && !fs::exists(left));
}

// --- a dead disk -------------------------------------------------------------------------------

// A sink in the place of fdsink that stands still, as one does whose disk is dead.
namespace {

GCond dead_changed;
GMutex dead_lock;
bool dead = true;

struct DeadSink {
  GstBaseSink parent;
  gint fd;
};
struct DeadSinkClass {
  GstBaseSinkClass parent;
};
G_DEFINE_TYPE(DeadSink, dead_sink, GST_TYPE_BASE_SINK)

void dead_sink_init(DeadSink* sink) {
  gst_base_sink_set_sync(GST_BASE_SINK(sink), FALSE);
}

GstFlowReturn render(GstBaseSink*, GstBuffer*) {
  g_mutex_lock(&dead_lock);
  while (dead) g_cond_wait(&dead_changed, &dead_lock);
  g_mutex_unlock(&dead_lock);
  return GST_FLOW_OK;
}

void dead_sink_class_init(DeadSinkClass* klass) {
  G_OBJECT_CLASS(klass)->set_property = [](GObject*, guint, const GValue*, GParamSpec*) {};
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), 1,
      g_param_spec_int("fd", "fd", "fd", 0, G_MAXINT, 0, G_PARAM_WRITABLE));
  static GstStaticPadTemplate pad =
      GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(klass), &pad);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Dead", "Sink", "Dead", "Test");
  GST_BASE_SINK_CLASS(klass)->render = render;
}

}  // namespace

// The last test: the dead sink stays.
DVNN_TEST(a_dead_disk_does_not_stop_the_camera) {
  ck_assert(gst_element_register(nullptr, "fdsink", GST_RANK_NONE, dead_sink_get_type()));
  {
    Recording recording("memory-mib=1 before-ms=0 after-ms=1000000 flush-timeout-ms=50", false);
    recording.start();
    recording.frames(0, 10);
    gboolean taken = FALSE;
    g_signal_emit_by_name(recording.get(), "record", "", &taken);
    // 20 MB, of which nobody takes any.
    for (size_t i = 10; i < 4000; ++i) {
      recording.frame(i, i % 25 == 0, 5000);
      ck_assert_uint_le(recording.count("memory"), 1 << 20);
    }
    // But for what the memory and the pipeline hold.
    ck_assert_uint_gt(recording.count("unwritten"), 3400);
    recording.end();
    recording.stop();
    ck_assert_uint_ge(recording.warnings(), 1);
  }
  g_mutex_lock(&dead_lock);
  dead = false;
  g_cond_broadcast(&dead_changed);
  g_mutex_unlock(&dead_lock);
  g_usleep(300000);  // the thread that was left ends by itself
}

}  // namespace dvnn::test::record_disk_tests
