// SPDX-License-Identifier: Apache-2.0
// Frames that dvpublish collects for annotation: which ones, how many, and as which files.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

#include "base/file.h"
#include "publish_harness.h"

namespace dvnn::test::publish_collect_tests {

DVNN_GST_SUITE(gst_publish_collect);

namespace {

namespace fs = std::filesystem;

// An object of a frame; without a track if `track` is 0.
struct Unsure {
  double confidence;
  guint64 track = 0;
  const char* label = "person";
};

void add_unsure(GstBuffer* frame, const Unsure& unsure) {
  GstDvObject* object = add_object(frame);
  object->confidence = static_cast<gfloat>(unsure.confidence);
  object->track_id = unsure.track;
  gst_dv_object_set_label(object, unsure.label);
  gst_dv_object_set_box(object, 50, 20, 90, 70);
}

// A dvpublish that collects frames, twice a second, into a folder of its own.
class CollectHarness {
 public:
  CollectHarness() {
    char path[] = "/tmp/dvnn-collect-XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~CollectHarness() { fs::remove_all(folder_); }
  CollectHarness(const CollectHarness&) = delete;
  CollectHarness& operator=(const CollectHarness&) = delete;

  void begin(const std::string& settings) {
    publish_ =
        std::make_unique<PublishHarness>("mode=events collect-folder=" + folder_ + " " + settings);
  }
  // The number of the frame is its brightness.
  void push(int number, const std::vector<Unsure>& all) {
    GstBuffer* frame = PublishHarness::frame(number);
    for (const Unsure& one : all) add_unsure(frame, one);
    push(frame);
  }
  void push(GstBuffer* frame) {
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(frames_++) * 500 * GST_MSECOND;
    publish_->push(frame);
  }
  // Ends the stream. The number of warnings.
  size_t end() {
    (void)publish_->documents();
    const size_t warnings = publish_->warnings();
    publish_.reset();
    return warnings;
  }
  std::string folder() const { return folder_; }
  std::vector<std::string> files(const char* in) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/" + in))
      names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string labels(size_t number) const { return bytes_of_file(files("labels").at(number)); }
  std::string classes() const { return bytes_of_file(folder_ + "/classes.txt"); }

 private:
  std::string folder_;
  int frames_ = 0;
  std::unique_ptr<PublishHarness> publish_;
};

// An element with these settings posts an error, and does not start.
void expect_refused(const std::string& settings) {
  GstElement* element =
      gst_parse_launch(("dvpublish location=/dev/null " + settings).c_str(), nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  ck_assert_int_eq(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ck_assert_ptr_nonnull(message);
  gst_message_unref(message);
  gst_element_set_bus(element, nullptr);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  gst_object_unref(bus);
}

// Every picture has its file of labels, and shows one of these frames.
void expect_frames(const CollectHarness& harness, const std::vector<int>& wanted) {
  const std::vector<std::string> pictures = harness.files("images"),
                                 labels = harness.files("labels");
  ck_assert_uint_eq(pictures.size(), wanted.size());
  ck_assert_uint_eq(labels.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ck_assert(fs::path(pictures[i]).extension() == ".jpg");
    ck_assert(fs::path(pictures[i]).stem() == fs::path(labels[i]).stem());
    const int middle = middle_of(bytes_of_file(pictures[i]));
    const int brightness = PublishHarness::brightness(wanted[i]);
    ck_assert_msg(middle < 0 || std::abs(middle - brightness) <= 3, "%zu: %d, not %d", i, middle,
                  brightness);
  }
}

}  // namespace

DVNN_TEST(of_each_interval_the_least_sure_frame_is_collected) {
  CollectHarness harness;
  harness.begin("collect-per-hour=1800");  // four frames each
  harness.push(0, {{0.58}});
  harness.push(1, {{0.46}});  // nearest to the middle of 0.3 and 0.6
  harness.push(2, {{0.50}});
  harness.push(3, {{0.90}});
  harness.push(4, {{0.52}});
  harness.push(5, {{0.53}, {0.53}});  // two, each surer than the one before and the one after
  harness.push(6, {{0.40}});
  harness.push(7, {{0.61}, {0.29}, {0.95}});  // beyond the bounds
  harness.push(8, {});
  harness.push(9, {{0.31}});  // better than none, at the end
  ck_assert_uint_eq(harness.end(), 0);
  expect_frames(harness, {1, 5, 9});
}

DVNN_TEST(a_track_is_collected_once) {
  CollectHarness harness;
  harness.begin("collect-per-hour=3600");  // two frames each
  for (int i = 0; i < 6; ++i) harness.push(i, {{i == 1 ? 0.45 : 0.4, 7}});
  harness.push(6, {{0.95, 7}});
  harness.push(7, {{0.45, 7}, {0.35, 8}});  // a new one, and the old one as a label
  harness.push(8, {{0.45, 7}});
  ck_assert_uint_eq(harness.end(), 0);
  expect_frames(harness, {1, 7});
  const std::string last = harness.labels(1);
  ck_assert_int_eq(std::count(last.begin(), last.end(), '\n'), 2);
}

DVNN_TEST(labels_are_what_is_seen_in_fractions_of_the_picture) {
  CollectHarness harness;
  harness.begin("");
  GstBuffer* frame = PublishHarness::frame(0);
  add_unsure(frame, {0.5});
  GstDvObject* cut = add_object(frame);
  gst_dv_object_set_label(cut, "car");
  gst_dv_object_set_box(cut, 180, -50, 1000, 50);
  GstDvObject* outside = add_object(frame);
  gst_dv_object_set_box(outside, 200, 0, 220, 50);
  GstDvObject* predicted = add_object(frame);
  predicted->predicted = TRUE;
  gst_dv_object_set_box(predicted, 0, 0, 10, 10);
  GstDvObject* faint = add_object(frame);
  faint->confidence = 0.2F;
  gst_dv_object_set_box(faint, 0, 0, 10, 10);
  GstDvObject* nowhere = add_object(frame);
  gst_dv_object_set_box(nowhere, 0, NAN, 10, 10);
  GstDvObject* nameless = add_object(frame);
  gst_dv_object_set_label(nameless, "");
  gst_dv_object_set_box(nameless, -30, 0, 200, 130);
  harness.push(frame);
  ck_assert_uint_eq(harness.end(), 0);
  expect_frames(harness, {0});
  dvnn_assert_text(harness.labels(0),
                   "0 0.350000 0.450000 0.200000 0.500000\n"
                   "1 0.950000 0.250000 0.100000 0.500000\n"
                   "2 0.500000 0.500000 1.000000 1.000000\n");
  dvnn_assert_text(harness.classes(), "person\ncar\nclass 1\n");
}

// The classes of a training set, whose last line has no end, keep their numbers.
DVNN_TEST(classes_that_are_there_keep_their_numbers) {
  CollectHarness harness;
  ck_assert(write_file(harness.folder() + "/classes.txt", "dog\ncat").ok());
  harness.begin("");
  harness.push(0, {{0.5, 0, "cat"}, {0.5, 0, "cow"}});
  ck_assert_uint_eq(harness.end(), 0);
  harness.begin("");
  harness.push(1, {{0.5, 0, "cow"}, {0.5, 0, "dog"}});
  ck_assert_uint_eq(harness.end(), 0);
  dvnn_assert_text(harness.classes(), "dog\ncat\ncow\n");
  ck_assert_uint_eq(harness.files("labels").size(), 2);
  std::string first;
  for (size_t i = 0; i < 2; ++i) {
    const std::string text = harness.labels(i);
    first += text.substr(0, 1) + text.substr(text.find(10) + 1, 1);
  }
  ck_assert_msg(first == "1220" || first == "2012", "%s", first.c_str());
}

// As many as fit, one warning, and an error at the next start; documents go on.
DVNN_TEST(a_full_folder_ends_collecting) {
  CollectHarness harness;
  harness.begin("collect-per-hour=3600 collect-pictures=2");
  for (int i = 0; i < 10; ++i) harness.push(i, {{0.45}});
  ck_assert_uint_eq(harness.end(), 1);
  expect_frames(harness, {0, 2});
  expect_refused("collect-pictures=2 collect-folder=" + harness.folder());
}

DVNN_TEST(what_cannot_be_collected_is_refused_before_the_start) {
  CollectHarness harness;
  expect_refused("collect-folder=" + harness.folder() + "/missing");
  expect_refused("collect-from=0.6 collect-folder=" + harness.folder());
  ck_assert(write_file(harness.folder() + "/images", "").ok());
  expect_refused("collect-folder=" + harness.folder());
}

// The bound holds also where the names of new classes are what exceeds it.
DVNN_TEST(names_of_classes_count_as_bytes_of_the_folder) {
  constexpr uintmax_t kMiB = 1 << 20, kLeft = 40;
  CollectHarness harness;
  fs::create_directory(harness.folder() + "/images");
  const std::string other = harness.folder() + "/images/other.jpg";
  ck_assert(write_file(other, "").ok());
  fs::resize_file(other, kMiB - kLeft);
  harness.begin("collect-size-mib=1");
  const std::string label(2 * kLeft, 'x');
  harness.push(0, {{0.5, 0, label.c_str()}});
  ck_assert_uint_eq(harness.end(), 1);
  ck_assert_uint_eq(harness.files("images").size(), 1);
  ck_assert(harness.files("labels").empty());
}

// Labels are whatever a network says: they become lines of one file, and name no other.
DVNN_TEST(labels_are_lines_and_lead_nowhere) {
  CollectHarness harness;
  harness.begin("stream=\"../../a b/etc\"");
  harness.push(0, {{0.5, 0, "../../up"}, {0.5, 0, "/etc/passwd"}, {0.5, 0, "two\nlines\r"}});
  ck_assert_uint_eq(harness.end(), 0);
  ck_assert_uint_eq(harness.files("images").size(), 1);
  ck_assert_uint_eq(harness.files("labels").size(), 1);
  const std::string classes = harness.classes();
  ck_assert_int_eq(std::count(classes.begin(), classes.end(), '\n'), 3);
  ck_assert(classes.find("../../up\n/etc/passwd\n") == 0);
  ck_assert_msg(classes.find('\r') == std::string::npos, "%s", classes.c_str());
}

// A link would lead labels into any file of the user, a pipe would wait for a reader.
DVNN_TEST(classes_are_no_link_and_no_pipe) {
  CollectHarness harness;
  const std::string classes = harness.folder() + "/classes.txt",
                    other = harness.folder() + "/other";
  ck_assert(write_file(other, "mine\n").ok());
  const std::string settings = "collect-folder=" + harness.folder();
  fs::create_symlink(other, classes);
  expect_refused(settings);
  fs::remove(classes);
  fs::create_symlink(harness.folder() + "/missing", classes);
  expect_refused(settings);
  fs::remove(classes);
  fs::create_hard_link(other, classes);
  expect_refused(settings);
  fs::remove(classes);
  ck_assert_int_eq(mkfifo(classes.c_str(), 0600), 0);
  expect_refused(settings);
  fs::remove(classes);
  // It becomes one while the element plays.
  harness.begin("collect-per-hour=3600");
  fs::create_symlink(other, classes);
  for (int i = 0; i < 6; ++i) harness.push(i, {{0.5}});
  ck_assert_uint_eq(harness.end(), 1);
  ck_assert(harness.files("images").empty());
  dvnn_assert_text(bytes_of_file(other), "mine\n");
}

// Files may have no more bytes than labels need, as on a disk that is full.
DVNN_TEST(a_full_disk_ends_collecting_and_keeps_no_parts) {
  CollectHarness harness;
  harness.begin("collect-per-hour=3600");
  rlimit before{};
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 200;
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
  for (int i = 0; i < 6; ++i) harness.push(i, {{0.5}});
  const size_t warnings = harness.end();
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  ck_assert_uint_eq(warnings, 1);
  ck_assert(harness.files("images").empty());
  ck_assert(harness.files("labels").empty());
}

}  // namespace dvnn::test::publish_collect_tests
