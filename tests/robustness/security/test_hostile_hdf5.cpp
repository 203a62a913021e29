// SPDX-License-Identifier: Apache-2.0
// HDF5 files that reach for other files or for the machine's memory, and a reader that tries to get
// out of its sandbox.
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <vector>

#include "check_suite.h"
#include "import/keras/files.h"
#include "import/keras/hdf5_reader.h"
#include "import/sandbox.h"

namespace dvnn::test::hostile_hdf5_tests {

DVNN_SUITE(hostile_hdf5);

using import::Hdf5File;

namespace {

struct TemporaryFile {
  TemporaryFile() { close(mkstemp(&path[0])); }
  ~TemporaryFile() { unlink(path.c_str()); }
  std::string path = "/tmp/dvnn-hdf5-XXXXXX";
};

// A file with one data set "x" of `count` floats, of which `shape` says how they are kept.
void write_file(const std::string& path, hsize_t count, bool write,
                const std::function<void(hid_t)>& shape) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, &count, nullptr), list = H5Pcreate(H5P_DATASET_CREATE);
  shape(list);
  const hid_t set = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  ck_assert_int_ge(set, 0);
  if (write) {
    const std::vector<float> values(count, 1.5f);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  H5Dclose(set);
  H5Pclose(list);
  H5Sclose(space);
  H5Fclose(file);
}

void expect_refusal(const std::string& path, const char* word) {
  const auto file = Hdf5File::open(path);
  ck_assert_msg(!file.ok(), "the file was read; expected '%s'", word);
  ck_assert_msg(file.error().message.find(word) != std::string::npos, "%s",
                file.error().message.c_str());
}

// Returns what `attempt` returns in a sandbox: 0 if it got out, else the error number.
int in_sandbox(const std::function<bool()>& attempt, import::SandboxLimits limits = {}) {
  const pid_t child = fork();
  if (child == 0) {
    const int result = memfd_create("result", MFD_CLOEXEC);
    if (!import::enter_sandbox(result, limits)) _exit(100);
    errno = 0;
    _exit(attempt() ? 0 : errno ? errno : 101);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

bool has_seccomp() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

}  // namespace

DVNN_TEST(a_plain_file_is_read) {
  const TemporaryFile file;
  write_file(file.path, 8, true, [](hid_t) {});
  const auto opened = Hdf5File::open(file.path);
  ck_assert_msg(opened.ok(), "%s", opened.ok() ? "" : opened.error().message.c_str());
  const auto array = opened.value()->array("/x");
  ck_assert(array.ok() && array.value().values == std::vector<float>(8, 1.5f));
}

DVNN_TEST(data_of_other_files_are_refused) {
  const TemporaryFile file, secret;
  std::ofstream(secret.path) << "0123456789abcdef0123456789abcdef";
  write_file(file.path, 8, false,
             [&](hid_t list) { H5Pset_external(list, secret.path.c_str(), 0, 32); });
  expect_refusal(file.path, "another file");
}

DVNN_TEST(views_of_other_data_sets_are_refused) {
  const TemporaryFile file, other;
  write_file(other.path, 8, true, [](hid_t) {});
  const hsize_t count = 8;
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  write_file(file.path, count, false,
             [&](hid_t list) { H5Pset_virtual(list, space, other.path.c_str(), "x", space); });
  H5Sclose(space);
  expect_refusal(file.path, "view of other data sets");
}

DVNN_TEST(filtered_data_are_refused) {
  const TemporaryFile file;
  write_file(file.path, 4096, true, [](hid_t list) {
    const hsize_t chunk = 1024;
    H5Pset_chunk(list, 1, &chunk);
    H5Pset_deflate(list, 9);
  });
  expect_refusal(file.path, "compressed");
}

DVNN_TEST(data_that_were_never_written_are_refused) {
  const TemporaryFile file;  // of a kilobyte, for 256 MB of zeros
  write_file(file.path, hsize_t{1} << 26, false, [](hid_t) {});
  expect_refusal(file.path, "more data than the file holds");
}

// Fuzzing leaves damaged bytes to this test: libhdf5 crashes on some, and a process of its own has
// to be started for each.
DVNN_TEST(damaged_files_are_read_or_refused) {
  constexpr int kRounds = 200;
  const TemporaryFile file;
  write_file(file.path, 8, true, [](hid_t) {});
  std::ifstream in(file.path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    for (auto left = 1 + random() % 4; left > 0; --left) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    std::ofstream(file.path, std::ios::binary) << bytes;
    const auto opened = Hdf5File::open(file.path);
    if (!opened.ok()) ck_assert(opened.error().message.find('\n') == std::string::npos);
    refused += !opened.ok();
  }
  ck_assert_int_gt(refused, kRounds / 20);
}

DVNN_TEST(messages_of_a_reader_that_was_taken_over_are_refused) {
  import::Hdf5Contents contents, told;
  contents.arrays["/x"] = {{2, 3}, std::vector<float>(6, 1.5f)};
  contents.attributes["/@a"] = {"one", "two"};
  const std::string good = import::write_message(contents);
  ck_assert(import::read_message(good, &told));
  ck_assert(told.arrays["/x"].dims == std::vector<int64_t>({2, 3}));
  for (size_t size = 0; size < good.size(); ++size) {
    import::Hdf5Contents cut;
    ck_assert(!import::read_message(good.substr(0, size), &cut));
  }
  // The same array twice: six numbers of 36 that its dimensions would say.
  const uint64_t two = 2;
  const size_t count = good.find("/x") - 2 * sizeof(uint64_t);
  std::string twice = good + good.substr(count + sizeof(uint64_t));
  std::memcpy(&twice[count], &two, sizeof two);
  import::Hdf5Contents both;
  ck_assert(!import::read_message(twice, &both));
}

DVNN_TEST(nobody_gets_out_of_the_sandbox) {
  const TemporaryFile file;
  const std::string path = file.path;
  const pid_t parent = getpid();
  struct Attempt {
    const char* name;
    std::function<bool()> attempt;
    bool by_seccomp;  // which emulators do not have
  };
  const Attempt attempts[] = {
      {"read a file", [&] { return open(path.c_str(), O_RDONLY) >= 0; }, false},
      {"make a file", [&] { return open((path + "x").c_str(), O_CREAT | O_WRONLY, 0600) >= 0; },
       false},
      {"reach the network", [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }, false},
      {"reach a local service", [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }, false},
      {"remove a file", [&] { return unlink(path.c_str()) == 0; }, true},
      {"start a process", [] { return fork() >= 0; }, true},
      {"become a program",
       [] {
         char name[] = "/bin/true";
         char* const arguments[] = {name, nullptr};
         return execv(name, arguments) == 0;
       },
       true},
      {"signal its parent", [&] { return kill(parent, 0) == 0; }, true},
      {"make code",
       [] {
         return mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0) != MAP_FAILED;
       },
       true},
      {"lift its limits", [] { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }, true},
  };
  for (const Attempt& one : attempts) {
    if (one.by_seccomp && !has_seccomp()) continue;
    const int error = in_sandbox(one.attempt);
    ck_assert_msg(error == EPERM || error == EMFILE || error == EACCES, "%s: %d", one.name, error);
  }
  ck_assert_int_eq(access(path.c_str(), F_OK), 0);
}

DVNN_TEST(a_reader_keeps_no_descriptor_of_its_parent) {
  const TemporaryFile file;
  const int secret = open(file.path.c_str(), O_RDONLY);
  ck_assert_int_gt(secret, 3);
  char byte = 0;
  ck_assert_int_eq(in_sandbox([&] { return read(secret, &byte, 1) >= 0; }), EBADF);
  close(secret);
}

DVNN_TEST(memory_and_time_of_a_reader_are_bounded) {
  // qemu's emulation of a kernel, which has no seccomp, does not limit memory either; a process
  // that it ends for its time takes the one that waits for it along.
  if (!has_seccomp()) return;
#ifndef __SANITIZE_ADDRESS__
  const int error = in_sandbox([] {
    return mmap(nullptr, size_t{3} << 29, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) != MAP_FAILED;
  });
  ck_assert_int_eq(error, ENOMEM);
#endif
  import::SandboxLimits limits;
  limits.seconds = 1;
  const int ended = in_sandbox(
      [] {
        for (volatile int i = 0;; i = i + 1) continue;
        return true;
      },
      limits);
  ck_assert_int_gt(ended, 200);  // by a signal
}

}  // namespace dvnn::test::hostile_hdf5_tests
