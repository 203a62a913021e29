// SPDX-License-Identifier: Apache-2.0
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "check_suite.h"
#include "record/clip_folder.h"

namespace dvnn::record::folder_test {
namespace {

DVNN_SUITE(record_clip_folder);

constexpr int64_t kSecondNs = 1000000000, kNow = 1795874257 * kSecondNs;  // 2026-11-28

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/dvnn-record-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    path_ = path;
    auto folder = ClipFolder::open(path_);
    ck_assert(folder.ok());
    folder_ = folder.value();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  ClipFolder* operator->() { return folder_.get(); }
  const std::string& path() const { return path_; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& at : std::filesystem::directory_iterator(path_)) {
      names.insert(at.path().filename());
    }
    return names;
  }
  ClipFile create(int64_t age_seconds, size_t bytes) {
    auto clip = folder_->create("door", kNow - age_seconds * kSecondNs, "mkv");
    ck_assert_msg(clip.ok(), "%s", clip.ok() ? "" : clip.error().message.c_str());
    ck_assert_int_eq(ftruncate(clip.value().file.fd(), static_cast<off_t>(bytes)), 0);
    return std::move(clip.value());
  }
  std::string finish(ClipFile file) {
    auto path = folder_->finish(std::move(file));
    ck_assert(path.ok());
    return std::filesystem::path(path.value()).filename();
  }
  void put(const std::string& name, size_t bytes) const {
    ck_assert(write_file(path_ + "/" + name, std::string(bytes, 'x')).ok());
  }

 private:
  std::string path_;
  std::shared_ptr<ClipFolder> folder_;
};

DVNN_TEST(a_clip_is_named_by_its_stream_and_time) {
  Folder folder;
  ClipFile clip = folder.create(0, 10);
  ck_assert(folder.names() == std::set<std::string>{"door-20261128T135737.000Z.part.mkv"});
  dvnn_assert_text(folder.finish(std::move(clip)), "door-20261128T135737.000Z.mkv");
  ck_assert(folder.names() == std::set<std::string>{"door-20261128T135737.000Z.mkv"});
  dvnn_assert_text(folder.finish(folder.create(0, 10)), "door-20261128T135737.000Z-2.mkv");
}

DVNN_TEST(only_clips_have_clips_names) {
  int64_t utc = 0;
  bool part = false;
  ck_assert(is_clip_name("door-20261128T135737.123Z.mkv", &utc, &part));
  ck_assert(utc == kNow + 123000000 && !part);
  ck_assert(is_clip_name("a-b-20261128T135737.123Z-12.part.mp4", &utc, &part) && part);
  ck_assert(is_clip_name("door-20261128T135737.123Z.jpg", &utc, &part));
  for (const char* name :
       {"door-20261128T135737.123Z.avi", "holiday-2026.mkv", "20261128T135737.123Z.mkv",
        "-20261128T135737.123Z.mkv", "door-20261328T135737.123Z.mkv",
        "door-20261128T135737.123Z-1234.mkv", "door-20261128T135737.123Zx.mkv", "door.mkv", ".mkv",
        "-.mkv", "--.mkv", "door-20261128T135737.123Z-.mkv", "door-+0261128T135737.123Z.mkv",
        "door-00261128T135737.123Z.mkv", "door-99991128T135737.123Z.mkv"}) {
    ck_assert_msg(!is_clip_name(name, &utc, &part), "%s", name);
  }
}

DVNN_TEST(the_oldest_clips_go_and_nothing_else_does) {
  Folder folder;
  folder.put("holiday.mkv", 5000);
  folder.put("notes.txt", 5000);
  const ClipFile writing = folder.create(1000, 300);  // older than all others
  for (const int age : {500, 400, 300, 200}) folder.finish(folder.create(age, 300));
  folder.put("door-20261128T134917.000Z.jpg", 50);  // of the oldest: 500 s
  ClipFile next = folder.create(0, 0);
  ck_assert(folder->reserve(&next, 200, {1200, 0}, kNow));
  // 300 + 4 * 300 + 50 + 200 are 550 too many: the oldest two and the picture.
  ck_assert_uint_eq(folder->removed(), 2);
  ck_assert(folder.names() ==
            (std::set<std::string>{"holiday.mkv", "notes.txt", "door-20261128T134057.000Z.part.mkv",
                                   "door-20261128T135237.000Z.mkv", "door-20261128T135417.000Z.mkv",
                                   "door-20261128T135737.000Z.part.mkv"}));
  ck_assert(!folder->reserve(&next, 2000, {1200, 0}, kNow));
  ck_assert(folder.names().count("door-20261128T134057.000Z.part.mkv") == 1);
}

DVNN_TEST(old_clips_go_by_age) {
  Folder folder;
  for (const int age : {500, 400, 300, 200}) folder.finish(folder.create(age, 300));
  folder->tidy({0, 350 * kSecondNs}, kNow);
  ck_assert_uint_eq(folder.names().size(), 2);
  folder->tidy({0, 0}, kNow);
  ck_assert_uint_eq(folder.names().size(), 2);
}

DVNN_TEST(what_a_crash_left_is_recovered_and_what_is_written_is_not) {
  Folder folder;
  folder.put("door-20261128T130000.000Z.part.mkv", 100);
  folder.put("door-20261128T120000.000Z.part.mkv", 0);
  const ClipFile writing = folder.create(100, 300);
  const auto found = folder->recover(kNow);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(folder.names() == (std::set<std::string>{"door-20261128T130000.000Z.mkv",
                                                     "door-20261128T135557.000Z.part.mkv"}));
}

DVNN_TEST(cues_go_along_with_their_clip) {
  Folder folder;
  ClipFile clip = folder.create(100, 10);
  ck_assert(folder->create_cues(&clip).ok());
  ck_assert(folder.names() == (std::set<std::string>{"door-20261128T135557.000Z.part.mkv",
                                                     "door-20261128T135557.000Z.part.vtt"}));
  folder.finish(std::move(clip));
  ck_assert(folder.names() == (std::set<std::string>{"door-20261128T135557.000Z.mkv",
                                                     "door-20261128T135557.000Z.vtt"}));
  ClipFile no_clip = folder.create(50, 0);
  ck_assert(folder->create_cues(&no_clip).ok());
  folder->discard(std::move(no_clip));
  ck_assert_uint_eq(folder.names().size(), 2);
  // After a crash both get their names, and one clip is told of; both go in the end.
  folder.put("door-20261128T130000.000Z.part.mkv", 100);
  folder.put("door-20261128T130000.000Z.part.vtt", 100);
  ck_assert_uint_eq(folder->recover(kNow).size(), 1);
  ck_assert_uint_eq(folder.names().count("door-20261128T130000.000Z.vtt"), 1);
  folder->tidy({0, 1000 * kSecondNs}, kNow);
  ck_assert_uint_eq(folder.names().size(), 2);
  ck_assert_uint_eq(folder->removed(), 1);
}

// As a disk is changed.
DVNN_TEST(a_folder_that_was_made_again_is_the_folder) {
  Folder folder;
  folder.finish(folder.create(100, 10));
  std::filesystem::remove_all(folder.path());
  ck_assert(!folder->create("door", kNow, "mkv").ok());
  std::filesystem::create_directory(folder.path());
  folder.finish(folder.create(0, 10));
  ck_assert(folder.names() == std::set<std::string>{"door-20261128T135737.000Z.mkv"});
}

DVNN_TEST(a_folder_is_one_object_however_it_is_named) {
  Folder folder;
  const auto again = ClipFolder::open(folder.path() + "/../" +
                                      std::filesystem::path(folder.path()).filename().string());
  ck_assert(again.ok());
  ck_assert_ptr_eq(again.value().get(), folder.operator->());
  ck_assert(!ClipFolder::open(folder.path() + "/none").ok());
}

}  // namespace
}  // namespace dvnn::record::folder_test
