// SPDX-License-Identifier: Apache-2.0
// dvnet: converts models to .dvn files, and inspects, runs and benchmarks them.
#include <glib.h>

#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "kernels/instruction_sets.h"
#include "tools/commands.h"
#include "tools/manual.h"
#include "tools/options.h"

namespace {

using namespace dvnn::tools;

// In the order in which users need them.
constexpr const Command* kCommands[] = {
    &kDoctorCommand,
#ifdef DVNN_HAVE_CONVERT
    &kPresetsCommand,       &kGetCommand,      &kConvertCommand,
#endif
#ifdef DVNN_PICTURE_READER
    &kRunCommand,           &kEvaluateCommand, &kEnrolCommand,
#endif
    &kInspectCommand,
#ifdef DVNN_PICTURE_READER
    &kBenchNetworkCommand,
#endif
#ifdef DVNN_HAVE_GST
    &kBenchPipelineCommand,
#endif
#ifdef DVNN_HAVE_OPENCV
    &kBenchConvertCommand,
#endif
    &kBenchDecodeCommand,
};

void print_command(FILE* to, const Command& command) {
  std::fprintf(to, "  %-16s  %s\n", command.name, command.summary);
}

void print_usage(FILE* to) {
  std::fprintf(to, "Usage: dvnet COMMAND ...\n\n");
  for (const Command* command : kCommands) print_command(to, *command);
  std::fprintf(to,
               "\ndvnet COMMAND --help describes a command, dvnet --version tells the version.\n"
               "Status: 0 done, 1 an error that was printed, 2 wrong usage.\n");
}

bool is_help(const char* word) {
  return std::strcmp(word, "--help") == 0 || std::strcmp(word, "-h") == 0 ||
         std::strcmp(word, "help") == 0;
}

// Prints the commands that begin with `first`, a word that is not a command itself, such as
// "bench". Returns whether there are any.
bool print_group(FILE* to, const std::string& first) {
  bool any = false;
  for (const Command* command : kCommands) {
    if (std::string(command->name).rfind(first + " ", 0) != 0) continue;
    if (!any) std::fprintf(to, "Usage: dvnet %s WHAT ...\n\n", first.c_str());
    any = true;
    print_command(to, *command);
  }
  return any;
}

// Runs a command, whose name has `words` words.
int run_command(const Command& command, int words, int argc, char** argv) {
  g_set_prgname((std::string("dvnet ") + command.name).c_str());  // in the usage line of --help
  const auto arguments = Arguments::parse(command, argc - words, argv + words);
  if (!arguments.ok()) return wrong_usage(command, arguments.error().message);
  return command.run(arguments.value());
}

int run(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  if (is_help(argv[1])) {
    print_usage(stdout);
    return 0;
  }
  if (std::strcmp(argv[1], "--version") == 0) {
    std::printf("dvnet %s\n", DVNN_VERSION);
    return 0;
  }
  // For the build, which installs the manual pages.
  if (std::strcmp(argv[1], "--man") == 0) {
    std::fputs(manual_page(kCommands, DVNN_VERSION).c_str(), stdout);
    return 0;
  }
  if (std::strcmp(argv[1], "--completion") == 0) {
    std::fputs(bash_completion(kCommands).c_str(), stdout);
    return 0;
  }
  const std::string one = argv[1], two = argc > 2 ? one + " " + argv[2] : "";
  for (const Command* command : kCommands) {
    if (one == command->name) return run_command(*command, 1, argc, argv);
    if (two == command->name) return run_command(*command, 2, argc, argv);
  }
  const bool asks = argc > 2 && is_help(argv[2]);
  if ((argc == 2 || asks) && print_group(asks ? stdout : stderr, argv[1])) return asks ? 0 : 2;
  std::fprintf(stderr, "dvnet: no command '%s%s%s'; see dvnet --help\n", argv[1],
               argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string unfit = dvnn::kernels::unfit_processor(); !unfit.empty()) {
    std::fprintf(stderr, "dvnet: %s\n", unfit.c_str());
    return 1;
  }
  // Exceptions of libraries are reported in one line like other errors, without a core file.
  const auto status =
      dvnn::guarded("out of the ordinary", [&]() -> dvnn::Result<int> { return run(argc, argv); });
  return status.ok() ? status.value() : dvnn::tools::fail(status.error());
}
