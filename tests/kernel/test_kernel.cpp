// SPDX-License-Identifier: Apache-2.0
// A small user driver on the emulated kernel.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check_suite.h"
#include "kernel/control.h"
#include "kernel/user_driver.h"

namespace dvnn::test::kernel_tests {

DVNN_SUITE(kernel);

namespace {

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

std::string text_in(const char* path) {
  std::string text;
  FILE* file = fopen(path, "re");
  if (!file) return text;
  for (int c = 0; (c = fgetc(file)) != EOF;) text += static_cast<char>(c);
  fclose(file);
  return text;
}

// Waits for an execution on a thread of its own.
class Waiting {
 public:
  Waiting(int device, uint64_t id)
      : thread_([=] {
          result_ = wait_for(device, id);
          ended_ = true;
        }) {
    while (dvnn_kernel_waiting() == 0 && !ended_) sched_yield();
  }
  ~Waiting() {
    if (thread_.joinable()) thread_.join();
  }
  bool ended() const { return ended_; }
  int join() {
    thread_.join();
    return result_;
  }
  void interrupt() { pthread_kill(thread_.native_handle(), SIGUSR1); }

 private:
  std::atomic<int> result_{-1};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

std::atomic<int> signals{0};

void handle_signals(int flags) {
  struct sigaction action = {};
  action.sa_handler = [](int) { ++signals; };
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, nullptr);
  signals = 0;
}

}  // namespace

DVNN_TEST(memory_comes_from_the_contiguous_heap_in_whole_pages) {
  const Fd ion("/dev/ion");
  const uint32_t mask = contiguous_mask(ion.get());
  ck_assert_uint_ne(mask, 0);
  int fd = -1;
  ck_assert_int_eq(allocate(ion.get(), ~mask, 100, &fd), ENODEV);
  ck_assert_int_eq(allocate(ion.get(), mask, 0, &fd), EINVAL);
  for (const size_t bytes : {1, 4096, 4097}) {
    const Memory memory(bytes);
    ck_assert_uint_eq(memory.size(), (bytes + 4095) / 4096 * 4096);
    ck_assert_uint_eq(memory.data()[0], 0);
  }
  HeapQuery spoilt = {};
  spoilt.reserved0 = 1;
  ck_assert_int_eq(call(ion.get(), kQueryHeaps, &spoilt), EINVAL);
}

DVNN_TEST(contiguous_memory_runs_out_and_comes_back) {
  const Fd ion("/dev/ion");
  const uint32_t mask = contiguous_mask(ion.get());
  constexpr uint64_t kMost = uint64_t{200} << 20;
  int fd = -1, more = -1;
  ck_assert_int_eq(allocate(ion.get(), mask, kMost, &fd), 0);
  ck_assert_int_eq(allocate(ion.get(), mask, kMost, &more), ENOMEM);
  ck_assert(text_in("/proc/meminfo").find("CmaFree: 57344 kB\n") != std::string::npos);
  close(fd);
  ck_assert_int_eq(allocate(ion.get(), mask, kMost, &more), 0);
  close(more);
}

DVNN_TEST(a_convolution_runs_by_ioctls) {
  const Bench bench;
  const uint64_t first = double_numbers(bench, 3);
  ck_assert_uint_eq(double_numbers(bench, 500), first + 1);
}

DVNN_TEST(a_command_with_a_table_of_pixels_runs) {
  const Memory memory(65536);
  auto* bytes = reinterpret_cast<uint8_t*>(memory.data());
  half_t weights[9] = {}, bias[3] = {};
  for (int i = 0; i < 3; ++i) weights[4 * i] = float_to_half(1);
  pack_weights({3, 3, 1, 1, false, false, false}, {nullptr, weights, bias, nullptr},
               bytes + kWeights);
  auto* table = reinterpret_cast<half_t*>(bytes + kTable);
  for (int i = 0; i < 3 * 256; ++i) table[i] = float_to_half(7);
  std::vector<uint8_t> sent(conv_bytes(1) + kConvV1Extra);
  const auto conv = [&] {
    auto command = doubling(memory.fd());
    command.c = 3;
    command.run[0].m = 3;
    return command;
  }();
  const CommandHead head = {static_cast<uint32_t>(sent.size()), 1};
  const dmp_dv_buf table_at = at(memory.fd(), kTable);
  std::memcpy(sent.data(), &head, sizeof head);
  std::memcpy(sent.data() + 8, &table_at, sizeof table_at);
  std::memcpy(sent.data() + 8 + kConvV1Extra, &conv.input_buf, conv_bytes(1) - 8);
  const Fd device("/dev/dv_conv");
  ck_assert_int_eq(append(device.get(), sent.data()), 0);
  ck_assert_int_eq(wait_for(device.get(), run(device.get())), 0);
  memory.begin();
  ck_assert_uint_eq(memory.data()[kOutput / sizeof(half_t)], float_to_half(7));
}

// Until the CPU hands its writes over, the device may have old bytes; and what the device wrote is
// garbage until it is handed back.
DVNN_TEST(what_is_not_synchronised_is_not_seen) {
  const Bench bench;
  double_numbers(bench, 1);
  bool old_seen = false;
  for (int round = 0; round < 40; ++round) {
    bench.memory.begin();
    write_input(bench.memory.data(), 1);
    bench.memory.end();
    write_input(bench.memory.data(), 900);  // and not handed over
    ck_assert_int_eq(wait_for(bench.device.get(), run(bench.device.get())), 0);
    ck_assert(round > 0 || !is_doubled(bench.result(), 900));
    bench.memory.begin();
    old_seen = old_seen || !is_doubled(bench.result(), 900);
    bench.memory.end();
  }
  ck_assert(old_seen);
}

DVNN_TEST(files_do_not_leak) {
  { const Bench warm_up; }
  const size_t before = open_files();
  for (int i = 0; i < 50; ++i) {
    const Bench bench;
    double_numbers(bench, i);
  }
  ck_assert_uint_eq(open_files(), before);
}

DVNN_TEST(ids_are_those_of_the_device_not_of_the_file) {
  const Bench one, other;
  const uint64_t first = double_numbers(one, 1);
  ck_assert_uint_eq(double_numbers(other, 2), first + 1);
  ck_assert_int_eq(wait_for(other.device.get(), first), 0);  // of another file, and long over
}

DVNN_TEST(a_signal_ends_a_wait_unless_its_handler_restarts_it) {
  const Bench bench;
  dvnn_kernel_hold(1);
  const uint64_t id = run(bench.device.get());
  handle_signals(0);
  Waiting interrupted(bench.device.get(), id);
  while (!interrupted.ended()) interrupted.interrupt();
  ck_assert_int_eq(interrupted.join(), EINTR);
  handle_signals(SA_RESTART);
  Waiting restarted(bench.device.get(), id);
  while (signals < 100) {
    restarted.interrupt();
    sched_yield();
  }
  ck_assert(!restarted.ended());
  dvnn_kernel_hold(0);
  ck_assert_int_eq(restarted.join(), 0);
}

// As the kernel module counts interrupts, a lost one leaves all later waits one behind.
DVNN_TEST(a_hung_execution_is_given_up_and_ids_lag) {
  const Bench bench;
  dvnn_kernel_lose_interrupt();
  const uint64_t hung = run(bench.device.get());
  const int given_up = dvnn_kernel_given_up();
  Waiting late(bench.device.get(), hung);
  dvnn_kernel_expire();
  ck_assert_int_eq(late.join(), EBUSY);
  while (dvnn_kernel_given_up() == given_up) dvnn_kernel_expire();
  const uint64_t next = run(bench.device.get());
  ck_assert_int_eq(wait_for(bench.device.get(), hung), 0);  // by the next one's interrupt
  Waiting behind(bench.device.get(), next);
  dvnn_kernel_expire();
  ck_assert_int_eq(behind.join(), EBUSY);
  run(bench.device.get());
  ck_assert_int_eq(wait_for(bench.device.get(), next), 0);
}

DVNN_TEST(the_kernels_own_rules_are_kept) {
  const Bench bench;
  const Fd device("/dev/dv_conv");
  const int fd = bench.memory.fd();
  const auto refused = [&](int error, auto change) {
    auto command = doubling(fd);
    change(&command);
    ck_assert_int_eq(append(device.get(), &command), error);
  };
  refused(0, [](auto*) {});
  refused(EBADF, [](auto* c) { c->input_buf = at(STDERR_FILENO, 0); });
  refused(EINVAL, [&](auto* c) { c->input_buf = at(fd, 1); });
  refused(EINVAL, [&](auto* c) { c->run[0].weight_buf = at(fd, kWeights + 2); });
  refused(EINVAL, [&](auto* c) { c->output_buf = at(fd, 65536 - 16); });
  refused(EINVAL, [](auto* c) { c->topo = 3; });  // two runs, of which one was sent
  const auto pooling = [](auto* c) {
    c->run[0].conv_enable = 0;
    c->run[0].pool_enable = 1;
    c->run[0].pool_size = 0x0202;
    c->run[0].pool_stride = 0x0202;
  };
  refused(0, pooling);
  refused(EINVAL, [&](auto* c) {
    pooling(c);
    c->run[0].p = 0;
  });
  // The newest user driver makes a pooling of nothing of it.
  refused(EINVAL, [](auto* c) {
    c->c = 16;
    c->run[0].m = 16;
    c->run[0].conv_enable = 0;
    c->run[0].lrn = 0x503;
    c->run[0].pool_enable = 2;
    c->run[0].pool_size = c->run[0].pool_stride = 0x0101;
  });
  const CommandHead unknown = {conv_bytes(1), 2};
  ck_assert_int_eq(append(device.get(), &unknown), EINVAL);
  int nothing = 0;
  ck_assert_int_eq(call(device.get(), _IO(0x82, 9), &nothing), 0);
  ck_assert_int_eq(call(Fd("/dev/ion").get(), _IO(0x82, 9), &nothing), ENOTTY);
  ck_assert_int_eq(bench.memory.sync(DMA_BUF_SYNC_START), EINVAL);
}

DVNN_TEST(a_maximizer_takes_one_command_per_file) {
  const Memory memory(65536);
  memory.data()[3] = float_to_half(5);  // of the first pixel
  dmp_dv_cmdraw_maximizer_v0 commands[2];
  std::memset(commands, 0, sizeof commands);
  const CommandHead head = {sizeof *commands, 0};
  std::memcpy(&commands[0], &head, sizeof head);
  commands[0].input_buf = at(memory.fd(), 0);
  commands[0].output_buf = at(memory.fd(), kOutput);
  commands[0].width = commands[0].height = kSide;
  commands[0].nclass = kChannels;
  commands[1] = commands[0];
  const Fd device("/dev/dv_maximizer");
  ck_assert_int_eq(append(device.get(), commands, 2), EBUSY);
  ck_assert_int_eq(append(device.get(), commands), 0);
  ck_assert_int_eq(append(device.get(), commands), EBUSY);
  ck_assert_int_eq(wait_for(device.get(), run(device.get())), 0);
  memory.begin();
  ck_assert_uint_eq(reinterpret_cast<const uint8_t*>(memory.data())[kOutput], 3);
}

DVNN_TEST(the_board_is_seen_in_dev_and_sys) {
  dvnn_assert_text(text_in("/sys/class/dmp_dv/dv_conv/ub_size"), "655360\n");
  dvnn_assert_text(text_in("/sys/class/dmp_dv/dv_fc/fc_freq"), "");
  ck_assert_int_eq(open("/dev/dv_fc", O_RDONLY | O_CLOEXEC), -1);
  ck_assert_int_eq(errno, ENOENT);
  struct stat status;
  ck_assert_int_eq(stat("/dev/dv_ipu", &status), 0);
  ck_assert(S_ISCHR(status.st_mode));
}

namespace {

constexpr int kClientRuns = 20;

// Starts this program's suite kernel_client as another process of the same board. What it prints
// can be read from the result.
FILE* start_client(const std::string& settings) {
  const std::string line = settings + " DVNN_TEST_ONLY= CK_RUN_SUITE=kernel_client exec /proc/" +
                           std::to_string(getpid()) + "/exe kernel_client";
  FILE* output = popen(line.c_str(), "re");
  ck_assert_ptr_nonnull(output);
  return output;
}

// Returns the numbers behind "id" in a process's output, and waits for its end.
std::vector<long> ids_of(FILE* output) {
  std::vector<long> ids;
  char line[256];
  while (fgets(line, sizeof line, output)) {
    if (std::strncmp(line, "id ", 3) == 0) ids.push_back(std::atol(line + 3));
  }
  ck_assert_int_eq(pclose(output), 0);
  return ids;
}

}  // namespace

DVNN_TEST(processes_share_the_device) {
  const std::filesystem::path state =
      std::filesystem::temp_directory_path() / ("dvnn-kernel-" + std::to_string(getpid()));
  const std::string shared = "DVNN_KERNEL_STATE=" + state.string();
  FILE* one = start_client(shared);
  FILE* other = start_client(shared);
  std::vector<long> ids = ids_of(one), more = ids_of(other);
  ck_assert_uint_eq(ids.size(), kClientRuns);
  ids.insert(ids.end(), more.begin(), more.end());
  const std::set<long> all(ids.begin(), ids.end());
  ck_assert_uint_eq(all.size(), 2 * kClientRuns);
  ck_assert_int_eq(*all.rbegin(), 2 * kClientRuns);
  // One that dies with its execution in the queue does not stop the others.
  FILE* killed = start_client(shared + " DVNN_KERNEL_TEST_HANG=1");
  char line[256];
  long process = 0;
  while (process == 0 && fgets(line, sizeof line, killed)) {
    if (std::strncmp(line, "hangs ", 6) == 0) process = std::atol(line + 6);
  }
  kill(static_cast<pid_t>(process), SIGKILL);
  pclose(killed);
  ck_assert_uint_eq(ids_of(start_client(shared)).size(), kClientRuns);
  std::filesystem::remove(state);
}

namespace kernel_client {

DVNN_SUITE(kernel_client);

DVNN_TEST(a_client_runs_beside_others) {
  const Bench bench;
  if (std::getenv("DVNN_KERNEL_TEST_HANG")) {
    dvnn_kernel_hold(1);
    run(bench.device.get());
    std::printf("hangs %d\n", getpid());
    std::fflush(stdout);
    while (true) pause();
  }
  for (int i = 0; i < kClientRuns; ++i) {
    std::printf("id %llu\n", static_cast<unsigned long long>(double_numbers(bench, i)));
  }
}

}  // namespace kernel_client

}  // namespace dvnn::test::kernel_tests
