// SPDX-License-Identifier: Apache-2.0
// dvnet doctor's findings on device nodes and memory, from folders and texts that are made for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tools/board/board_report.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::doctor_checks_tests {

DVNN_SUITE(doctor_checks);

using namespace dvnn::tools;

namespace {

// A folder with files in the place of device nodes.
class Dev {
 public:
  Dev() {
    std::string name = "/tmp/dvnn-dev-XXXXXX";
    path = mkdtemp(&name[0]);
    chmod(path.c_str(), 0755);
  }
  ~Dev() { std::filesystem::remove_all(path); }
  void add(const std::string& name, mode_t mode) const {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    close(open((path + "/" + name).c_str(), O_CREAT | O_WRONLY, 0600));
    chmod((path + "/" + name).c_str(), mode);
  }
  std::string path;
};

const Finding* about(const Findings& findings, const std::string& text) {
  for (const Finding& f : findings) {
    if (f.says.find(text) != std::string::npos) return &f;
  }
  return nullptr;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Runs `work` as a user without access to root's files, and returns its result.
bool as_nobody(bool (*work)(const Dev&), const Dev& dev) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(work(dev) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

DVNN_TEST(a_machine_without_a_board_is_in_order) {
  const Dev dev;
  dev.add("ion", 0600);
  const Findings findings = check_device_nodes(dev.path);
  ck_assert_uint_eq(findings.size(), 1);
  ck_assert(findings[0].level == Level::kOk);
}

DVNN_TEST(nodes_that_can_be_opened_are_in_order) {
  const Dev dev;
  dev.add("dv_conv", 0666);
  dev.add("dma_heap/linux,cma", 0666);
  const Findings findings = check_device_nodes(dev.path);
  ck_assert_uint_eq(findings.size(), 2);
  ck_assert(can_run(findings));
  for (const char* name : {"/dv_conv can be opened", "/dma_heap/linux,cma can be opened"}) {
    ck_assert_msg(about(findings, name) && about(findings, name)->level == Level::kOk, "%s", name);
  }
}

DVNN_TEST(a_node_that_cannot_be_opened_has_its_remedy) {
  const Dev dev;
  dev.add("dv_conv", 0);  // shut for its owner too, who is whoever runs this test
  dev.add("ion", 0444);
  ck_assert(as_nobody(
      [](const Dev& at) {
        const Findings findings = check_device_nodes(at.path);
        const Finding* conv = about(findings, "/dv_conv cannot be opened");
        const Finding* ion = about(findings, "/ion can be opened");
        return conv && ion && conv->level == Level::kWarning && ion->level == Level::kOk &&
               has(conv->says, "mode 0000") && has(conv->remedy, "KERNEL==\"dv_conv\"") &&
               ion->remedy.empty();
      },
      dev));
}

DVNN_TEST(a_node_of_a_group_names_the_group) {
  const Dev dev;
  dev.add("dv_conv", 0640);
  if (getuid() != 0) return;  // only root gives files away
  ck_assert_int_eq(chown((dev.path + "/dv_conv").c_str(), 0, 44), 0);
  ck_assert(as_nobody(
      [](const Dev& at) {
        const Findings findings = check_device_nodes(at.path);
        const Finding* conv = about(findings, "/dv_conv cannot be opened");
        return conv && has(conv->remedy, "usermod -aG ");
      },
      dev));
}

DVNN_TEST(a_boards_device_is_described_as_the_kernel_does) {
  const Dev sysfs;
  const auto says = [&] { return to_text(machine_facts(sysfs.path)); };
  ck_assert_msg(has(says(), "; no DV device"), "%s", says().c_str());
  for (const auto& [name, text] : {std::pair("conv_freq", "333\n"),
                                   {"ub_size", "524288\n"},
                                   {"mac_num", "1152\n"},
                                   {"hw_version", "0730\n"}}) {
    std::ofstream(sysfs.path + "/" + name) << text;
  }
  ck_assert_msg(has(says(),
                    "; DV device at 333 MHz, unified buffer 524288 bytes, 1152 multipliers, "
                    "hardware 0730"),
                "%s", says().c_str());
}

DVNN_TEST(a_board_needs_a_place_for_device_memory) {
  const Dev dev;
  dev.add("dv_conv", 0666);
  const Findings findings = check_device_nodes(dev.path);
  const Finding* memory = about(findings, "nothing that device memory could come from");
  ck_assert(memory && memory->level == Level::kWarning && !memory->remedy.empty());
}

DVNN_TEST(contiguous_memory_is_what_a_board_needs) {
  const std::string none = "MemTotal:  1024 kB\n", zero = "CmaTotal:       0 kB\nCmaFree: 0 kB\n",
                    plenty = "MemTotal: 1 kB\nCmaTotal:     262144 kB\nCmaFree:   131072 kB\n",
                    few = "CmaTotal:     262144 kB\nCmaFree:   1024 kB\n";
  for (const std::string& text : {none, zero}) {
    ck_assert(check_contiguous_memory(text, false).level == Level::kOk);
    const Finding board = check_contiguous_memory(text, true);
    ck_assert(board.level == Level::kWarning && has(board.remedy, "cma="));
  }
  const Finding good = check_contiguous_memory(plenty, true);
  ck_assert(good.level == Level::kOk && has(good.says, "128 of 256 MB"));
  const Finding short_of = check_contiguous_memory(few, true);
  ck_assert(short_of.level == Level::kWarning && has(short_of.remedy, "max-in-flight"));
  ck_assert(check_contiguous_memory(few, false).level == Level::kOk);
}

DVNN_TEST(children_are_followed_to_whatever_end) {
  const ChildEnd good = run_child({"sh", "-c", "echo one; echo two >&2"}, 10);
  ck_assert(good.succeeded());
  dvnn_assert_text(good.output, "one\ntwo\n");
  const ChildEnd bad = run_child({"sh", "-c", "exit 3"}, 10);
  ck_assert(bad.started && bad.in_time && !bad.succeeded());
  dvnn_assert_text(bad.how(), "ended with status 3");
  dvnn_assert_text(run_child({"sh", "-c", "kill -SEGV $$"}, 10).how(), "crashed (signal 11)");
  const ChildEnd missing = run_child({"dvnn-no-such-program"}, 10);
  ck_assert(!missing.started);
  ck_assert(has(missing.how(), "cannot be started: No such file"));
  // A process that a child has started ends with it, and does not hold this up.
  const ChildEnd late = run_child({"sh", "-c", "sleep 60 & sleep 60"}, 1);
  ck_assert(late.started && !late.in_time);
  ck_assert(run_child({"sh", "-c", "sleep 60 & echo done"}, 10).succeeded());
}

DVNN_TEST(findings_go_through_json) {
  const Findings all = {{Level::kOk, "a", "b \"c\"\n", ""}, {Level::kFailure, "d", "e", "f"}};
  const Findings back = findings_from_json(json_text(findings_to_json(all)));
  ck_assert_uint_eq(back.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    ck_assert(back[i].level == all[i].level && back[i].topic == all[i].topic &&
              back[i].says == all[i].says && back[i].remedy == all[i].remedy);
  }
  ck_assert(!can_run(back));
  ck_assert(findings_from_json("[1, {").empty() && findings_from_json("[1]").empty());
}

DVNN_TEST(loaders_words_have_remedies) {
  ck_assert(has(remedy_for_library("libx.so: cannot open shared object file: No such file"),
                "install the library"));
  ck_assert(has(remedy_for_library("a.so: undefined symbol: b"), "different versions"));
  ck_assert(has(remedy_for_library("a.so: invalid ELF header"), "install it again"));
  ck_assert(remedy_for_library("no context").empty());
}

}  // namespace dvnn::test::doctor_checks_tests
