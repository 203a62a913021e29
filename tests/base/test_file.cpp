// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/environment.h"
#include "check_suite.h"

namespace dvnn::test::file_tests {

DVNN_SUITE(file);

namespace {

class Folder {
 public:
  Folder() { ck_assert_ptr_nonnull(mkdtemp(path_.data())); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/dvnn-file-XXXXXX";
};

void expect_refused(const Error& error, const std::string& path, const char* why) {
  const std::string wanted = "'" + path + "'" + why;
  if (error.message != wanted)
    ck_abort_msg("'%s' is not '%s'", error.message.c_str(), wanted.c_str());
}

}  // namespace

DVNN_TEST(pipes_devices_and_folders_are_refused_at_once) {
  const Folder folder;
  const std::string pipe = folder.file("pipe"), link = folder.file("link");
  ck_assert_int_eq(mkfifo(pipe.c_str(), 0600), 0);
  ck_assert_int_eq(symlink("/dev/zero", link.c_str()), 0);
  for (const std::string& path : {pipe, link, folder.file(""), std::string("/dev/zero")}) {
    const auto read = read_file(path, 100);
    ck_assert(!read.ok());
    expect_refused(read.error(), path, " is not a regular file");
    const Status regular = check_regular(path);
    ck_assert(!regular.ok());
    expect_refused(regular.error(), path, " is not a regular file");
  }
  for (const std::string& path : {link, std::string("/dev/null")}) {
    const Status written = write_file(path, "x");
    ck_assert(!written.ok());
    expect_refused(written.error(), path, " is not a regular file");
  }
  const Status nobody = write_file(pipe, "x");
  ck_assert(!nobody.ok());
  expect_refused(nobody.error(), pipe, ": No such device or address");
  const auto missing = open_file(folder.file("none"), 1);
  ck_assert(!missing.ok() && missing.error().code == ErrorCode::kNotFound);
  ck_assert(check_regular(folder.file("none")).ok());
}

DVNN_TEST(a_file_is_replaced_whole_or_not_at_all) {
  const Folder folder;
  const std::string path = folder.file("net.dvn"), pipe = folder.file("pipe");
  ck_assert(replace_file(path, {"old", "", " text"}).ok());
  ck_assert(read_file(path, 100).value() == "old text");
  ck_assert_int_eq(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(replace_file(pipe, {"x"}).error(), pipe, " is not a regular file");
  expect_refused(replace_file(folder.file("none/a"), {"x"}).error(), folder.file("none/a"),
                 ": No such file or directory");

  // As on a full disk, the second part does not fit.
  struct rlimit before {};
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 6;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = replace_file(path, {"long", " text"});
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ck_assert(!full.ok());
  expect_refused(full.error(), path, ": cannot be written: File too large");
  ck_assert(read_file(path, 100).value() == "old text");
  std::filesystem::remove(pipe);
  const auto files = std::filesystem::directory_iterator(folder.file(""));
  ck_assert_int_eq(std::distance(begin(files), end(files)), 1);

  ck_assert(replace_file(path, {"new"}).ok());
  ck_assert(read_file(path, 100).value() == "new");
}

DVNN_TEST(a_folder_for_files_is_one_that_may_be_written_to) {
  const Folder folder;
  ck_assert(check_folder(folder.file("")).ok());
  const std::string none = folder.file("none"), file = folder.file("file");
  ck_assert(write_file(file, "").ok());
  expect_refused(check_folder(none).error(), none, ": No such file or directory");
  expect_refused(check_folder(file).error(), file, " is not a folder");
  if (geteuid() == 0) return;  // who may write everywhere
  ck_assert_int_eq(chmod(folder.file("").c_str(), 0500), 0);
  expect_refused(check_folder(folder.file("")).error(), folder.file(""), ": Permission denied");
  ck_assert_int_eq(chmod(folder.file("").c_str(), 0700), 0);
}

// Some files of /proc, which have no size, wait for what comes next; dlopen() would read them.
DVNN_TEST(a_library_has_bytes) {
  const Folder folder;
  const std::string empty = folder.file("empty.so"), pipe = folder.file("pipe.so");
  ck_assert(write_file(empty, "").ok());
  ck_assert_int_eq(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {empty, std::string("/proc/self/status")}) {
    const auto library = open_library(path);
    ck_assert(!library.ok());
    expect_refused(library.error(), path, " has no bytes: it is no library");
  }
  const auto waiting = open_library(pipe);
  ck_assert(!waiting.ok());
  expect_refused(waiting.error(), pipe, " is not a regular file");
}

DVNN_TEST(what_is_read_is_bounded) {
  const Folder folder;
  const std::string path = folder.file("file");
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{200000}}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    ck_assert(write_file(path, bytes).ok());
    const auto all = read_file(path, size);
    ck_assert(all.ok() && all.value() == bytes);
    if (size == 0) continue;
    const auto more = read_file(path, size - 1);
    ck_assert(!more.ok() && more.error().code == ErrorCode::kLimit);
    const std::string why = " has more than " + std::to_string(size - 1) + " bytes";
    expect_refused(more.error(), path, why.c_str());
  }
  // A shorter file replaces a longer one whole.
  ck_assert(write_file(path, "short").ok());
  dvnn_assert_text(read_file(path, 100).value(), "short");
  // Files of /proc say that they are empty, and are not.
  const auto status = read_file("/proc/self/status", 1 << 20);
  ck_assert(status.ok() && status.value().find("Name:") != std::string::npos);
  ck_assert(!read_file("/proc/self/status", 100).ok());
}

// On 32-bit systems as well. No block of it is written.
DVNN_TEST(a_file_beyond_four_gibibytes_is_opened_and_read_at_its_end) {
  constexpr uint64_t kBytes = (uint64_t{1} << 32) + 3;
  const Folder folder;
  const std::string path = folder.file("sparse");
  const auto file = create_file(path);
  ck_assert(file.ok());
  ck_assert_int_eq(lseek(file.value().fd(), static_cast<off_t>(kBytes - 1), SEEK_SET),
                   static_cast<off_t>(kBytes - 1));
  ck_assert(write_all(file.value().fd(), "!", 1).ok());
  const auto opened = open_file(path, kBytes);
  ck_assert(opened.ok());
  ck_assert_uint_eq(size_of(opened.value()), kBytes);
  char last = 0;
  ck_assert(read_at(opened.value().fd(), kBytes - 1, &last, 1).ok());
  ck_assert_int_eq(last, '!');
  ck_assert(!open_file(path, kBytes - 1).ok());
}

DVNN_TEST(only_own_regular_files_are_opened_within_a_folder) {
  const Folder folder;
  auto opened = open_folder(folder.file("."));
  ck_assert(opened.ok());
  const File& within = opened.value();
  ck_assert(write_file(folder.file("own"), "own").ok());
  ck_assert(open_own(within, "own", O_RDONLY));
  ck_assert_int_eq(symlink("own", folder.file("link").c_str()), 0);
  ck_assert_int_eq(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  ck_assert(!open_own(within, "link", O_RDONLY));
  ck_assert(!open_own(within, "pipe", O_RDONLY));
  ck_assert(!open_own(within, "link", O_WRONLY | O_CREAT));
  ck_assert_int_eq(link(folder.file("own").c_str(), folder.file("second").c_str()), 0);
  ck_assert(!open_own(within, "own", O_RDONLY));  // by its other name others may have it
  ck_assert_int_eq(symlink(".", folder.file("here").c_str()), 0);
  ck_assert(!open_folder(folder.file("here")).ok());
}

DVNN_TEST(variables_are_numbers_or_as_if_not_set) {
  const struct {
    const char* text;
    std::optional<uint64_t> number;
  } kCases[] = {{"7", 7},   {"0", 0},   {"18446744073709551615", UINT64_MAX}, {"", {}}, {"-1", {}},
                {"8x", {}}, {" 8", {}}, {"18446744073709551616", {}}};
  for (const auto& [text, number] : kCases) {
    setenv("DVNN_OF_A_TEST", text, 1);
    ck_assert_msg(environment_number("DVNN_OF_A_TEST") == number, "'%s'", text);
    ck_assert((environment("DVNN_OF_A_TEST") != nullptr) == (*text != '\0'));
  }
  unsetenv("DVNN_OF_A_TEST");
  ck_assert_ptr_null(environment("DVNN_OF_A_TEST"));
}

}  // namespace dvnn::test::file_tests
