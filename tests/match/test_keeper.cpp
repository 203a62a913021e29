// SPDX-License-Identifier: Apache-2.0
// The gallery in its file: read again when it is replaced, kept if the new one is bad, and nothing
// left of who was forgotten. And two galleries that share what they know.
#include "match/keeper.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "check_suite.h"
#include "clocks.h"
#include "crowd.h"

namespace dvnn::test::match_keeper_tests {

DVNN_SUITE(match_keeper);

using match::Keeper;
using match::KeeperSettings;
using match::Notice;
using match_crowd::Crowd;
using match_crowd::Vector;

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dvnn-match-XXXXXX").string();
    ck_assert_ptr_nonnull(mkdtemp(name.data()));
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

static std::string contents(const std::string& path) {
  auto text = read_file(path, 1 << 26);
  return text.ok() ? text.value() : "";
}

// What each keeper tells, and with which clock it looks at files.
struct Desk {
  ManualClock clock;
  Count loaded, problems;
  std::string problem;
  int64_t now = 1000000;
  std::vector<std::pair<std::string, std::string>> shared;
  std::unique_ptr<Keeper> keeper;

  Desk() {
    keeper = std::make_unique<Keeper>(
        [this](Notice what, const std::string& text) {
          if (what == Notice::kLoaded) return loaded.add();
          problem = text;
          problems.add();
        },
        [this](const std::string& id, const std::string& line) { shared.emplace_back(id, line); },
        clock, [this] { return now; });
  }
  ~Desk() { keeper->close(); }
  void open(const KeeperSettings& settings) {
    const Status status = keeper->open(settings);
    ck_assert_msg(status.ok(), "%s", status.ok() ? "" : status.error().message.c_str());
  }
  // Lets the keeper's thread look at the files once, and waits until it has.
  void look() {
    clock.until_waiting(1);
    clock.advance(std::chrono::seconds(1));
    clock.until_waiting(1);
  }
};

DVNN_TEST(a_replaced_file_is_read_and_a_bad_one_is_not_taken) {
  const Folder folder;
  const std::string path = folder.file("gallery.jsonl");
  ck_assert(write_file(path, "{\"dvnn-gallery\":1}\n{\"name\":\"Ada\",\"vectors\":[1,0]}\n").ok());
  Desk desk;
  desk.open({path, "", {}, false});
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Ada"));
  const uint64_t before = desk.keeper->changes();
  desk.look();
  ck_assert_int_eq(desk.loaded.value(), 0);  // nothing has changed
  ck_assert(
      replace_file(path, {"{\"dvnn-gallery\":1}\n{\"name\":\"Bob\",\"vectors\":[0,1]}\n"}).ok());
  desk.look();
  ck_assert_int_eq(desk.loaded.value(), 1);
  ck_assert_uint_gt(desk.keeper->changes(), before);
  ck_assert_ptr_null(desk.keeper->gallery()->find("Ada"));
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Bob"));
  // A bad one is told once, with its line, and Bob stays.
  ck_assert(replace_file(path, {"{\"dvnn-gallery\":1}\n{\"name\":\"Eve\"}\n"}).ok());
  desk.look();
  desk.look();
  ck_assert_int_eq(desk.problems.value(), 1);
  ck_assert_ptr_nonnull(strstr(desk.problem.c_str(), "gallery.jsonl', line 2"));
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Bob"));
  // So does it if the file goes, and a new one is taken.
  std::filesystem::remove(path);
  desk.look();
  ck_assert_int_eq(desk.problems.value(), 2);
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Bob"));
  ck_assert(write_file(path, "{\"dvnn-gallery\":1}\n").ok());
  desk.look();
  ck_assert_int_eq(desk.loaded.value(), 2);
  ck_assert_uint_eq(desk.keeper->gallery()->people.size(), 0);
}

DVNN_TEST(another_file_is_taken_while_it_runs) {
  const Folder folder;
  ck_assert(
      write_file(folder.file("a"), "{\"dvnn-gallery\":1}\n{\"name\":\"Ada\",\"vectors\":[1,0]}\n")
          .ok());
  ck_assert(
      write_file(folder.file("b"), "{\"dvnn-gallery\":1}\n{\"name\":\"Bob\",\"vectors\":[1,0]}\n")
          .ok());
  Desk desk;
  desk.open({folder.file("a"), "", {}, false});
  desk.keeper->use_gallery_file(folder.file("b"));
  desk.loaded.until(1);
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Bob"));
  ck_assert(write_file(folder.file("c"), "no gallery").ok());
  desk.keeper->use_gallery_file(folder.file("c"));
  desk.problems.until(1);
  ck_assert_ptr_nonnull(desk.keeper->gallery()->find("Bob"));
}

DVNN_TEST(a_bad_file_is_an_error_at_the_start) {
  const Folder folder;
  const std::string path = folder.file("g");
  Desk desk;
  ck_assert(write_file(path, "{}").ok());
  ck_assert(!desk.keeper->open({path, "", {}, false}).ok());
  ck_assert(!desk.keeper->open({"", path, {}, false}).ok());
  ck_assert(write_file(path, "{\"dvnn-gallery\":1}\n{\"stranger\":1,\"vectors\":[1,0]}\n").ok());
  ck_assert(!desk.keeper->open({path, "", {}, false}).ok());
  ck_assert(desk.keeper->open({"", path, {}, false}).ok());
  ck_assert(write_file(path, "{\"dvnn-gallery\":1}\n{\"name\":\"Ada\",\"vectors\":[1,0]}\n").ok());
  ck_assert(!desk.keeper->open({"", path, {}, false}).ok());
  ck_assert(!desk.keeper->open({folder.file("not-there"), "", {}, false}).ok());
  ck_assert(desk.keeper->open({"", folder.file("not-there"), {}, false}).ok());
  ck_assert(!desk.keeper->open({"", folder.file("no/folder"), {}, false}).ok());
}

// Whether any window of eight bytes of the vector is in the text, as it is or in base64. Base64 of
// bytes depends on where they lie in groups of three, so all three places are looked for.
static bool has_some_of(const std::string& text, const Vector& vector) {
  const std::string bytes(reinterpret_cast<const char*>(vector.data()), 4 * vector.size());
  constexpr size_t kWindow = 9;
  for (size_t at = 0; at + kWindow <= bytes.size(); ++at) {
    const std::string part = bytes.substr(at, kWindow);
    if (text.find(part) != std::string::npos) return true;
    if (text.find(base64(part)) != std::string::npos) return true;
  }
  return false;
}

DVNN_TEST(to_forget_is_final) {
  const Folder folder;
  const std::string path = folder.file("gallery.jsonl"), strangers = folder.file("strangers.jsonl");
  Crowd crowd(4, 512, 1, dvnn_seed(5));
  ck_assert(write_gallery(match::Gallery(), path).ok());
  {
    Desk desk;
    desk.open({path, strangers, {}, false});
    ck_assert(desk.keeper->enrol("Ada", crowd.look(0), 0).ok());
    ck_assert(desk.keeper->enrol("Bob", crowd.look(1), 0).ok());
    const Vector ada = desk.keeper->gallery()->find("Ada")->vectors;
    const Vector bob = desk.keeper->gallery()->find("Bob")->vectors;
    ck_assert(
        has_some_of(contents(path), ada));  // or the search would find nothing, whatever it is
    ck_assert(desk.keeper->forget("Ada").value());
    ck_assert(!has_some_of(contents(path), ada) && has_some_of(contents(path), bob));
    ck_assert_ptr_null(strstr(contents(path).c_str(), "Ada"));
    // Only its owner may read it.
    const auto rights = std::filesystem::status(path).permissions();
    ck_assert_int_eq(static_cast<int>(rights) & 077, 0);

    const Vector one = crowd.look(2), other = crowd.look(3);
    const auto first = desk.keeper->see_stranger(one, 0.5);
    desk.keeper->see_stranger(other, 0.5);
    desk.look();
    ck_assert(has_some_of(contents(strangers), one) && has_some_of(contents(strangers), other));
    ck_assert(desk.keeper->forget_stranger(first->number).value());
    ck_assert(!has_some_of(contents(strangers), one) && has_some_of(contents(strangers), other));
  }
  // Also for the next start; and the other stranger has its number, and no other gets it.
  Desk desk;
  desk.open({path, strangers, {}, false});
  ck_assert_ptr_null(desk.keeper->gallery()->find("Ada"));
  ck_assert(!desk.keeper->has_stranger(1) && desk.keeper->has_stranger(2));
  ck_assert_uint_eq(desk.keeper->see_stranger(crowd.look(0), 0.9)->number, 3);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file(""))) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  ck_assert_uint_eq(files, 2);  // no copy of an older state
}

DVNN_TEST(strangers_are_written_without_haste_and_go_by_age) {
  const Folder folder;
  const std::string path = folder.file("strangers.jsonl");
  Desk desk;
  desk.open({"", path, {10, 5000, false}, false});
  desk.keeper->see_stranger({1, 0}, 0.5);
  desk.look();
  ck_assert_ptr_nonnull(strstr(contents(path).c_str(), "\"stranger\":1"));
  // Nobody comes, and yet it is gone.
  desk.now += 6000;
  desk.look();
  ck_assert_ptr_null(strstr(contents(path).c_str(), "\"stranger\""));
  desk.keeper->see_stranger({1, 0}, 0.5);
  desk.keeper->close();
  ck_assert_ptr_nonnull(strstr(contents(path).c_str(), "\"stranger\":2"));
}

DVNN_TEST(what_cannot_be_written_is_not_enrolled) {
  Desk desk;
  ck_assert(desk.keeper->enrol("", {1, 0}, 0).error().message == "a name must not be empty");
  const Folder folder;
  const std::string path = folder.file("sub/gallery.jsonl");
  std::filesystem::create_directory(folder.file("sub"));
  ck_assert(write_file(path, "{\"dvnn-gallery\":1}").ok());
  desk.open({path, "", {}, false});
  std::filesystem::remove_all(folder.file("sub"));
  const Status status = desk.keeper->enrol("Ada", {1, 0}, 0);
  ck_assert(!status.ok());
  ck_assert_ptr_nonnull(strstr(status.error().message.c_str(), "sub/gallery.jsonl"));
  ck_assert_ptr_null(desk.keeper->gallery()->find("Ada"));
  desk.keeper->use_gallery_file("");
  ck_assert(desk.keeper->enrol("Ada", {1, 0}, 0).ok());
  ck_assert(!desk.keeper->enrol("Bob", {1, 0, 0}, 0).ok());
}

DVNN_TEST(enrolling_again_keeps_the_newest_vectors) {
  Desk desk;
  for (int i = 0; i < 40; ++i) {
    const float x = 1 + static_cast<float>(i);
    const Vector unit = match_crowd::unit_of({x, 1});
    ck_assert(desk.keeper->enrol("Ada", unit, 0).ok());
    const Vector& all = desk.keeper->gallery()->find("Ada")->vectors;
    ck_assert_uint_le(all.size(), 2 * match::kMostEnrolled);
    ck_assert_float_eq(all[all.size() - 2], unit[0]);
  }
}

// --- sharing -----------------------------------------------------------------------------------

// Carries what each desk shares to the others, as a topic whose messages are retained does.
struct Topic {
  std::vector<Desk*> desks;
  std::map<std::string, std::string> retained;

  void carry() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Desk* from : desks) {
        for (const auto& [id, line] : std::exchange(from->shared, {})) {
          if (line.empty()) {
            retained.erase(id);
          } else {
            retained[id] = line;
          }
          for (Desk* to : desks) {
            if (!line.empty()) to->keeper->take(id, line);
          }
          moved = true;
        }
      }
      for (Desk* desk : desks) desk->look();
    }
  }
};

DVNN_TEST(galleries_share_names_strangers_and_that_they_are_forgotten) {
  Desk door, yard;
  const match::StrangerBounds bounds{100, 0, true};
  door.open({"", "", bounds, true});
  yard.open({"", "", bounds, true});
  Topic topic{{&door, &yard}, {}};
  ck_assert(door.keeper->enrol("Ada", {1, 0, 0}, 0).ok());
  topic.carry();
  ck_assert_ptr_nonnull(yard.keeper->gallery()->find("Ada"));
  // A stranger has the same number at the other camera.
  const auto at_door = door.keeper->see_stranger({0, 1, 0}, 0.5);
  topic.carry();
  const auto at_yard = yard.keeper->see_stranger({0, 1, 0.1f}, 0.5);
  ck_assert_uint_eq(at_door->number, at_yard->number);
  ck_assert(at_yard->before);
  // One forgets, and both have.
  yard.now += 1000;
  ck_assert(yard.keeper->forget("Ada").value());
  ck_assert(yard.keeper->forget_stranger(at_door->number).value());
  topic.carry();
  ck_assert_ptr_null(door.keeper->gallery()->find("Ada"));
  ck_assert(!door.keeper->has_stranger(at_door->number));
  for (const auto& [id, line] : topic.retained) {
    ck_assert_ptr_null(strstr(line.c_str(), "vectors"));
    ck_assert_ptr_null(strstr(line.c_str(), "Ada"));
  }
  // A camera that was away, and brings old news, brings nobody back, and the broker gets the newer
  // line again.
  for (Desk* desk : {&door, &yard}) {
    desk->keeper->take("99a563ab2f6e21e96998f9fddd2a2bab",
                       "{\"name\":\"Ada\",\"version\":1000001,\"length\":3,\"vectors\":[1,0,0]}");
    desk->keeper->take("stranger-" + std::to_string(at_door->number),
                       "{\"stranger\":" + std::to_string(at_door->number) +
                           ",\"version\":1000000,\"length\":3,\"vectors\":[0,1,0]}");
    desk->look();
    ck_assert_ptr_null(desk->keeper->gallery()->find("Ada"));
    ck_assert(!desk->keeper->has_stranger(at_door->number));
    ck_assert_uint_eq(desk->shared.size(), 2);
    for (const auto& [id, line] : desk->shared) {
      ck_assert_ptr_nonnull(strstr(line.c_str(), "\"forgotten\""));
    }
  }
  // But who is enrolled again is known again.
  ck_assert(door.keeper->enrol("Ada", {0, 0, 1}, 0).ok());
  topic.carry();
  ck_assert_ptr_nonnull(yard.keeper->gallery()->find("Ada"));
}

DVNN_TEST(the_newer_of_two_lines_wins_in_any_order) {
  const std::string older = "{\"name\":\"Ada\",\"version\":5,\"length\":2,\"vectors\":[1,0]}";
  const std::string newer = "{\"name\":\"Ada\",\"version\":6,\"length\":2,\"vectors\":[0,1]}";
  const std::string id = "99a563ab2f6e21e96998f9fddd2a2bab";
  for (const bool swapped : {false, true}) {
    Desk desk;
    desk.open({"", "", {}, true});
    desk.keeper->take(id, swapped ? newer : older);
    desk.keeper->take(id, swapped ? older : newer);
    desk.look();
    ck_assert_float_eq(desk.keeper->gallery()->find("Ada")->vectors[1], 1);
    ck_assert_uint_eq(desk.keeper->all_shared().size(), 1);
    ck_assert_int_eq(desk.keeper->all_shared()[0].version, 6);
  }
}

// Nobody hears of it, because the broker is away; what the broker tells later is old.
DVNN_TEST(who_was_forgotten_alone_stays_forgotten) {
  Desk desk;
  desk.open({"", "", {}, true});
  ck_assert(desk.keeper->enrol("Ada", {1, 0}, 0).ok());
  const auto stranger = desk.keeper->see_stranger({0, 1}, 0.5);
  const auto known = std::exchange(desk.shared, {});
  ck_assert_uint_eq(known.size(), 2);
  ck_assert(desk.keeper->forget("Ada").value());
  ck_assert(desk.keeper->forget_stranger(stranger->number).value());
  for (const auto& [id, line] : known) desk.keeper->take(id, line);
  desk.look();
  ck_assert_ptr_null(desk.keeper->gallery()->find("Ada"));
  ck_assert(!desk.keeper->has_stranger(stranger->number));
}

DVNN_TEST(hostile_entries_are_dropped) {
  Desk desk;
  desk.open({"", "", {}, true});
  ck_assert(desk.keeper->enrol("Bob", {1, 0}, 0).ok());
  const std::string id = "99a563ab2f6e21e96998f9fddd2a2bab";
  for (const char* line :
       {"", "{", "[]", "{\"name\":\"Ada\"}", "{\"name\":\"Eve\",\"length\":2,\"vectors\":[1,0]}",
        "{\"name\":\"Ada\",\"length\":3,\"version\":9,\"vectors\":[1,0,0]}",
        "{\"forgotten\":\"stranger-1\",\"version\":1}"}) {
    desk.keeper->take(id, line);
    desk.look();
  }
  ck_assert_uint_eq(desk.keeper->gallery()->people.size(), 1);
  ck_assert_int_gt(desk.problems.value(), 0);
}

}  // namespace dvnn::test::match_keeper_tests
